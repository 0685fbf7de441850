// Package episode holds the records of repair: what the repair agent was
// assigned, each step it took, and how it ended.
package episode

import (
	"encoding/json"
	"time"

	"vise/engine/link"
	"vise/engine/notice"
	"vise/engine/trace"
)

// Status of an episode.
type Status string

// Open, the eight ends of a run, and Dead: an episode that failed too often.
const (
	Open           Status = "open"
	Running        Status = "running"
	CandidateAdded Status = "candidate_added"
	Duplicate      Status = "duplicate"
	AlreadyCovered Status = "already_covered"
	NoProposal     Status = "no_proposal"
	Unactionable   Status = "unactionable"
	TimedOut       Status = "timed_out"
	Failed         Status = "failed"
	Cancelled      Status = "cancelled"
	Dead           Status = "dead_letter"
)

// Success reports whether the episode resolved its notices.
func (s Status) Success() bool {
	switch s {
	case CandidateAdded, Duplicate, AlreadyCovered, NoProposal, Unactionable:
		return true
	}
	return false
}

// Episode is one underlying failure: one or more related notices of one turn.
type Episode struct {
	ID        string   `json:"id"` // "e-" + 12 hex digits of the notice ids' hash
	SessionID string   `json:"session_id"`
	TurnIndex int      `json:"turn_index"`
	NoticeIDs []string `json:"notice_ids"` // joining order; the first is primary
	// AllowedTraces are the traces the repair agent may inspect.
	AllowedTraces    []string `json:"allowed_traces"`
	RecommendedScope string   `json:"recommended_scope,omitempty"`
	CreatedAt        string   `json:"created_at"`
	// Attempts counts the runs started so far; the steps of a run carry its number.
	Attempts int `json:"attempts"`
	// Failures counts the runs that failed, ran out of time, or ended with the process
	// that ran them. They bring an episode to its dead letter; a run that a person
	// cancelled is none. NotBefore is the earliest next run (back-off).
	Failures  int       `json:"failures,omitempty"`
	NotBefore time.Time `json:"not_before,omitzero"`
	Status    Status    `json:"status"`
	// CandidateID is the one candidate this episode ever created, over all runs and crashes.
	CandidateID string  `json:"candidate_id,omitempty"`
	Result      *Result `json:"result,omitempty"`
	// Fork is set when this is a what-if over another episode. It repairs nothing: what
	// it decides is kept here.
	Fork *Fork `json:"fork,omitempty"`
}

// RepairSession is the name of the repair agent's own session: never task activity.
func (e Episode) RepairSession() string { return "repair-" + e.SessionID + "-" + e.ID }

// Assignment is what the repair agent is given. All of it is untrusted data, sanitised and bounded.
type Assignment struct {
	EpisodeID        string            `json:"episode_id"`
	SessionID        string            `json:"session_id"`
	RepairSessionID  string            `json:"repair_session_id"`
	TurnIndex        int               `json:"turn_index"`
	Notices          []notice.Notice   `json:"notices"`
	AllowedTraces    []string          `json:"allowed_traces"`
	ScopeHints       []trace.ScopeHint `json:"scope_hints,omitempty"`
	RecommendedScope string            `json:"recommended_scope,omitempty"`
	// GenericLabels name where the agent ran (benchmark, integration, host); they never become scopes.
	GenericLabels []string `json:"generic_labels,omitempty"`
	Descriptor    string   `json:"descriptor,omitempty"`
	TaskSummary   string   `json:"task_summary,omitempty"`
	DomainPolicy  string   `json:"domain_policy,omitempty"`
}

// Result is how one run of the repair agent ended.
type Result struct {
	EpisodeID         string      `json:"episode_id"`
	NoticeIDs         []string    `json:"notice_ids"`
	Status            Status      `json:"status"`
	CandidateRuleIDs  []string    `json:"candidate_rule_ids"`
	ExistingRuleID    string      `json:"existing_rule_id,omitempty"`
	SelectedScope     string      `json:"selected_scope,omitempty"`
	ScopeRationale    string      `json:"scope_rationale,omitempty"`
	ConsideredRuleIDs []string    `json:"considered_rule_ids"`
	SuppressionReason string      `json:"suppression_reason,omitempty"`
	ResolutionKind    string      `json:"resolution_kind,omitempty"`
	Turns             int         `json:"turns"`
	ToolCalls         int         `json:"tool_calls"`
	Usage             trace.Usage `json:"usage"`
	// TotalTokens is the provider's own sum, which need not be input plus output.
	TotalTokens   int64     `json:"total_tokens,omitempty"`
	ErrorCategory string    `json:"error_category,omitempty"`
	Error         string    `json:"error,omitempty"`
	Model         string    `json:"model"`
	Started       time.Time `json:"started,omitzero"`
	Ended         time.Time `json:"ended,omitzero"`
}

// Step is one stored repair turn: enough to step back through the episode later.
// It is redacted and bounded; it never enters the journal.
type Step struct {
	EpisodeID string `json:"episode_id"`
	Attempt   int    `json:"attempt"`
	Turn      int    `json:"turn"` // 1-based
	// Messages added to the conversation before this model call (the whole prompt for turn 1).
	Messages  []Message   `json:"messages"`
	Text      string      `json:"text,omitempty"`
	Reasoning string      `json:"reasoning,omitempty"`
	Calls     []Call      `json:"calls,omitempty"`
	Usage     trace.Usage `json:"usage"`
	Finish    string      `json:"finish,omitempty"`
	Started   time.Time   `json:"started,omitzero"`
	Ended     time.Time   `json:"ended,omitzero"`
	Error     string      `json:"error,omitempty"`
	// Kept: the turn is that of the episode which was forked, not one of this run. Its
	// usage is the other's, and left out here.
	Kept bool `json:"kept,omitempty"`
}

// Message is one message of the repair conversation.
type Message struct {
	Role       string `json:"role"` // system, user, assistant, tool
	Content    string `json:"content"`
	ToolCallID string `json:"tool_call_id,omitempty"`
}

// Call is one tool call of a step with its result.
type Call struct {
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Arguments string          `json:"arguments"`
	OK        bool            `json:"ok"`
	Result    json.RawMessage `json:"result,omitempty"`
	// Ran is false when the call was never executed (cut stream, cancelled step, resolved round).
	Ran bool `json:"ran"`
}

// Settlement is what settling a session reports.
type Settlement struct {
	// Repair is nil when no episode was pending and none has ever succeeded.
	Repair *Result `json:"repair"`
	// Cached means that no model was asked: the result is that of an earlier settle.
	Cached bool `json:"cached"`
	// Evaluated is false when the evaluation was not done in time.
	Evaluated bool `json:"evaluated"`
	// Running is the episode whose repair another caller had begun and which was still
	// going on when this settlement ran out of time; it goes on within its own bounds.
	Running string `json:"running,omitempty"`
	// Outage says why a turn could not be evaluated now; it will be, later.
	Outage string `json:"outage,omitempty"`
}

// Link is the address of the repair (package link).
func (e Episode) Link() string { return link.Of("episode", e.ID) }

// Link is the address of the step (package link).
func (s Step) Link() string {
	return link.Link{Kind: "episode", ID: s.EpisodeID, Turn: link.NoTurn, Step: s.Turn}.String()
}
