// Package event is the one stream that panes, headless output, tests and traces
// are projections of.
//
// A journal event is appended by the store in the transaction that changes the
// state it tells of, and published on the Bus after the commit. Ephemeral events
// (token deltas, span progress) go over the bus only and have no sequence number.
package event

import "time"

// Type names what happened. The set is closed: see Journal, and the ephemeral types.
type Type string

// Journal event types.
const (
	Notice                 Type = "notice"
	Recovery               Type = "recovery"
	Health                 Type = "health"
	Skip                   Type = "skip"
	EvalsetCapture         Type = "evalset_capture"
	Regression             Type = "regression"
	NoiseMeasured          Type = "noise_measured"
	RuleAdd                Type = "rule_add"
	RulePromote            Type = "rule_promote"
	RuleRetire             Type = "rule_retire"
	RuleRestore            Type = "rule_restore"
	RetestQueued           Type = "retest_queued"
	RetestDropped          Type = "retest_dropped" // a person took it off the queue
	RuleFlagged            Type = "rule_flagged"
	HoldbackEnded          Type = "holdback_ended"
	RuleCleared            Type = "rule_cleared" // what a flag held against the rule is gone
	ScopeIndexRegenerated  Type = "scope_index_regenerated"
	Validation             Type = "validation"
	ValidationRoundStarted Type = "validation_round_started"
	ValidationCandidate    Type = "validation_candidate_started"
	ValidationReplayCase   Type = "validation_replay_case"
	ValidationPair         Type = "validation_pair"
	ValidationVerdict      Type = "validation_verdict"
	ValidationRoundEnded   Type = "validation_round_finished"
	RepairStarted          Type = "repair_started"
	RepairModelTurn        Type = "repair_model_turn"
	RepairToolCall         Type = "repair_tool_call"
	RepairCandidateAdded   Type = "repair_candidate_added"
	RepairNoticeResolved   Type = "repair_notice_resolved"
	RepairCompleted        Type = "repair_completed"
	RepairDuplicate        Type = "repair_duplicate"
	RepairAlreadyCovered   Type = "repair_already_covered"
	RepairNoProposal       Type = "repair_no_proposal"
	RepairUnactionable     Type = "repair_unactionable"
	RepairTimedOut         Type = "repair_timed_out"
	RepairFailed           Type = "repair_failed"
	EpisodeForked          Type = "episode_forked" // a past repair goes on under other conditions; the run's events have Data["fork_of"]
	ForkAccepted           Type = "fork_accepted"  // its candidate is one of the live rules now
	ForkRemoved            Type = "fork_removed"
	ImportFinished         Type = "import_finished"
	AgentStarted           Type = "agent_started"
	AgentExited            Type = "agent_exited"
	ProcessesReaped        Type = "processes_reaped" // what a killed run of ours had left was ended. Data: command, killed (pid, command)
	ModelCallsKept         Type = "model_calls_kept"
	TurnReplayed           Type = "turn_replayed"
	CaseProtected          Type = "case_protected"
	CaseRemoved            Type = "case_removed"
	CaseShrunk             Type = "case_shrunk"
	WinOffered             Type = "win_offered"
	SessionRemoved         Type = "session_removed"
	SessionRestored        Type = "session_restored"
	SessionRenamed         Type = "session_renamed"
	SessionPinned          Type = "session_pinned" // Data["pinned"]: false when it was unpinned
	NoticeResumed          Type = "notice_resumed"
	NoticeAcknowledged     Type = "notice_acknowledged"
	NoticeReopened         Type = "notice_reopened" // a person took an acknowledgement back
	BudgetStopped          Type = "budget_stopped"
	StoreQuarantined       Type = "store_quarantined"
	PatchStarted           Type = "patch_started"
	PatchProved            Type = "patch_proved"
	PatchPacket            Type = "patch_packet"
	PatchDriven            Type = "patch_driven"
	PatchRouted            Type = "patch_routed"
	PatchFinished          Type = "patch_finished"
	PatchState             Type = "patch_state" // the loop enters a state; stored before its effect
	PatchApplied           Type = "patch_applied"
	PatchUndone            Type = "patch_undone"
	PatchRemoved           Type = "patch_removed"
)

// Journal lists every journal event type, in the order of the loop.
var Journal = []Type{
	Notice, Recovery, Health, Skip, EvalsetCapture, Regression, NoiseMeasured, RuleAdd, RulePromote, RuleRetire, RuleRestore, RetestQueued, RetestDropped, RuleFlagged, RuleCleared, HoldbackEnded,
	ScopeIndexRegenerated, Validation, ValidationRoundStarted, ValidationCandidate, ValidationReplayCase,
	ValidationPair, ValidationVerdict, ValidationRoundEnded, RepairStarted, RepairModelTurn, RepairToolCall, RepairCandidateAdded,
	RepairNoticeResolved, RepairCompleted, RepairDuplicate, RepairAlreadyCovered, RepairNoProposal,
	RepairUnactionable, RepairTimedOut, RepairFailed, EpisodeForked, ForkAccepted, ForkRemoved, ImportFinished, AgentStarted, AgentExited, ProcessesReaped, TurnReplayed, ModelCallsKept,
	CaseProtected, CaseRemoved, CaseShrunk, WinOffered, SessionRemoved, SessionRestored, SessionRenamed, SessionPinned, NoticeResumed, NoticeAcknowledged, NoticeReopened, BudgetStopped,
	StoreQuarantined, PatchStarted, PatchProved, PatchPacket, PatchDriven, PatchRouted, PatchFinished,
	PatchState, PatchApplied, PatchUndone, PatchRemoved,
}

// Ephemeral event types: bus only.
const (
	SpanProgress Type = "span_progress" // Data: a trace.Span, an upsert by id
	RepairDelta  Type = "repair_delta"  // Data: a Delta of streamed text, reasoning or arguments
	StepWaiting  Type = "step_waiting"  // the stepper holds a checkpoint
	TurnScored   Type = "turn_scored"   // a turn's report is stored; most raise no journal event
	// ExportFailed: traces could not be exported. Data: sent, dropped, failed, error;
	// at the first failure, and at the end when anything was lost.
	ExportFailed Type = "export_failed"
	// AgentIdle: the agent has said nothing for half of agent.idle_timeout within a turn.
	// Data: silent_s, limit_s.
	AgentIdle Type = "agent_idle"
	// ValidationProgress: Data["cases"], the ids of the cases that are going to be
	// replayed; or with CaseID what the replay of that case brought (baseline,
	// scores, deltas, read, error). What is decided from it comes in the journal.
	ValidationProgress Type = "validation_progress"
	// PatchProgress: RunID and Data["phase"], with Data["text"], a piece of what the
	// agent or a phase of the proof writes.
	PatchProgress Type = "patch_progress"
)

// Event is one entry of the stream. Journal events carry ids, kinds, counts,
// scopes and reasons; never prompts, credentials, provider bodies or unbounded text.
type Event struct {
	// Seq is the journal sequence number, 1 for the first; 0 for ephemeral events.
	Seq       uint64    `json:"seq,omitempty"`
	At        time.Time `json:"at"`
	Type      Type      `json:"type"`
	SessionID string    `json:"session_id,omitempty"`
	TurnIndex *int      `json:"turn_index,omitempty"`
	NoticeID  string    `json:"notice_id,omitempty"`
	EpisodeID string    `json:"episode_id,omitempty"`
	RuleID    string    `json:"rule_id,omitempty"`
	CaseID    string    `json:"case_id,omitempty"`
	RunID     string    `json:"run_id,omitempty"`
	// Data holds the rest, by name. Values are JSON-encodable.
	Data map[string]any `json:"data,omitempty"`
}

// Turn returns a pointer to i, for Event.TurnIndex.
func Turn(i int) *int { return &i }

// Ephemeral reports whether the event exists on the bus only.
func (e Event) Ephemeral() bool {
	switch e.Type {
	case SpanProgress, RepairDelta, StepWaiting, TurnScored, PatchProgress, ExportFailed, ValidationProgress, AgentIdle:
		return true
	}
	return false
}
