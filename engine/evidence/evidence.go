// Package evidence holds cases, their replays and verdicts, and the pure rules
// that decide a candidate.
package evidence

import (
	"encoding/json"
	"time"

	"vise/engine/link"
	"vise/engine/rule"
	"vise/engine/trace"
)

// Kind of a case.
type Kind string

// A failure is a captured breach; a win is protected against collateral damage.
const (
	Failure Kind = "failure"
	Win     Kind = "win"
)

// Case is a scenario that can be run again: the user inputs of a session up to
// and including the turn it is about.
type Case struct {
	ID        string             `json:"id"`
	CreatedAt string             `json:"created_at"` // RFC 3339, compared as text
	SessionID string             `json:"session_id"`
	TurnIndex int                `json:"turn_index"`
	Kind      Kind               `json:"kind"`
	Signature []string           `json:"signature"` // sorted signatures
	Baseline  map[string]float64 `json:"baseline_scores"`
	// BaselineBy is who gave each score of the baseline (score.Score.By); a metric
	// that is missing here may be compared with any.
	BaselineBy map[string]string `json:"baseline_by,omitempty"`
	// Input is nil when the case cannot be replayed.
	Input *Input `json:"replay_input,omitempty"`
	Notes string `json:"notes,omitempty"`
	// ShrunkFrom is the case that this one was made from by leaving out inputs.
	ShrunkFrom string `json:"shrunk_from,omitempty"`
}

// Comparable reports whether a replay's score on a metric, given by an evaluator of
// identity by, may be compared with the case's baseline: scores of different
// evaluators, judges, prompts or verifiers never are.
func (c Case) Comparable(metric, by string) bool {
	was, known := c.BaselineBy[metric]
	return !known || was == by
}

// Input is what a replay feeds the agent.
type Input struct {
	Turns       []string          `json:"turns"`
	TaskSummary string            `json:"task_summary,omitempty"`
	ScopeHints  []trace.ScopeHint `json:"scope_hints,omitempty"`
	// Digest of Turns: two cases with equal digests are one case.
	Digest string `json:"digest"`
	// Raw is set instead of Turns by hosts that keep their own payload.
	Raw json.RawMessage `json:"raw,omitempty"`
}

// Job is one self-contained replay: bytes in, bytes out; a worker never opens the store.
type Job struct {
	RunID  string `json:"run_id"`
	CaseID string `json:"case_id"`
	// RuleID is the candidate that becomes visible; "" = control arm.
	RuleID string `json:"rule_id,omitempty"`
	Arm    string `json:"arm"` // control | treatment
	Input  Input  `json:"input"`
	// Subject is the rule on trial in either arm.
	Subject string `json:"subject,omitempty"`
	// Rules are what the run can read: the active rules as they were when the test
	// began, and the candidate in the treatment arm. nil = the project's rules as they are.
	Rules []rule.Rule `json:"rules,omitempty"`
	// Scopes are the descriptions of their scopes, by name.
	Scopes  map[string]string `json:"scopes,omitempty"`
	Seed    string            `json:"seed"` // VISE_RUN_SEED
	Timeout time.Duration     `json:"timeout"`
	EnvWait time.Duration     `json:"env_wait"`
}

// Run is the result of a Job.
type Run struct {
	RunID   string        `json:"run_id"`
	Session trace.Session `json:"session"`
	Turns   []trace.Turn  `json:"turns"`
	// Read lists the rule ids whose text the agent was handed in this run, sorted.
	Read []string `json:"read"`
	// Offered reports that the agent asked our rule server for its tools.
	Offered bool `json:"offered"`
	// Started reports that the agent signalled that execution began.
	Started bool          `json:"started"`
	Usage   trace.Usage   `json:"usage"`
	Elapsed time.Duration `json:"elapsed"`
	// Infrastructure names why the run says nothing about the agent: timeout,
	// agent_exited, start_failed, provider, cancelled. "" = it counts.
	Infrastructure string `json:"infrastructure,omitempty"`
	Error          string `json:"error,omitempty"`
}

// NotStarted reports that the agent's program could not be started at all: the next run
// could not start it either.
func (r Run) NotStarted() bool { return r.Infrastructure == "start_failed" && len(r.Turns) == 0 }

// CaseResult is one replayed case inside a verdict.
type CaseResult struct {
	CaseID string `json:"case_id"`
	RunID  string `json:"run_id"`
	Kind   Kind   `json:"kind"`
	// Status: improved, no_gain, regressed, unchanged, inconclusive, candidate_not_exercised, env_wait_timeout.
	Status   string             `json:"status"`
	Reason   string             `json:"reason,omitempty"`
	Baseline map[string]float64 `json:"baseline"`
	Scores   map[string]float64 `json:"scores"`
	Deltas   map[string]float64 `json:"deltas"`
	// Uncompared says which metrics of the baseline could not be compared, and why.
	Uncompared []string `json:"uncompared,omitempty"`
	// Means compares the means over all turns of a regression run with those of the
	// recording, where the offline evaluator scores; what is above speaks of the last turn.
	Means          []MeanChange `json:"means,omitempty"`
	Target         string       `json:"target,omitempty"`
	Read           bool         `json:"read"`
	Infrastructure string       `json:"infrastructure,omitempty"`
	Usage          trace.Usage  `json:"usage"`
	ElapsedMS      int64        `json:"elapsed_ms"`
}

// Outcome of a verdict.
type Outcome string

// The outcomes. Pending verdicts carry a PendingReason.
const (
	Promote      Outcome = "promote"
	Retire       Outcome = "retire"
	PendingStill Outcome = "pending"
)

// Retested is the validator of verdicts on rules in force.
const Retested = "retest"

// What a verdict means for its rule, as Verdict.Result names it.
const (
	ResultPromoted = "promoted"
	Confirmed      = "confirmed" // a rule in force that was tested again
	ResultRetired  = "retired"
	ResultFlagged  = "flagged" // it stays in force, and a person is asked
	ResultPending  = "pending"
)

// Result names what the verdict means for its rule: a rule in force is confirmed, never
// promoted again, and it is retired only where pairs show harm.
func (v Verdict) Result() string {
	again := v.Validator == Retested
	switch {
	case v.Outcome == Promote && again:
		return Confirmed
	case v.Outcome == Promote:
		return ResultPromoted
	case v.Outcome == Retire && again && (v.Paired == nil || v.Paired.EHarm < v.Paired.Threshold):
		return ResultFlagged
	case v.Outcome == Retire:
		return ResultRetired
	}
	return ResultPending
}

// Verdict says what evidence decided about a rule, and how it was reached.
type Verdict struct {
	ID        string    `json:"id"`
	RuleID    string    `json:"rule_id"`
	At        time.Time `json:"at"`
	Outcome   Outcome   `json:"outcome"`
	Validator string    `json:"validator"` // replay | forward_trial
	Evidence  string    `json:"evidence"`  // seed | deterministic | paired | weak
	Reason    string    `json:"reason"`
	// PendingReason: trial_in_progress, no_matching_replayable_case, replay_inconclusive,
	// candidate_not_exercised, env_wait_timeout, round_budget_exhausted.
	PendingReason string       `json:"pending_reason,omitempty"`
	Cases         []CaseResult `json:"cases"`
	TrialRate     *float64     `json:"trial_rate,omitempty"`
	BaselineRate  *float64     `json:"baseline_rate,omitempty"`
	Attempt       int          `json:"attempt"`
	Excluded      int          `json:"excluded"` // infrastructure results
	Usage         trace.Usage  `json:"usage"`
	Agent         string       `json:"agent,omitempty"`
	EvaluatedBy   string       `json:"evaluated_by,omitempty"`
	Applied       bool         `json:"applied"`
	// Identity is what the verdict holds for; nil in verdicts of older versions.
	Identity *Identity `json:"identity,omitempty"`
	// OwnCaseOnly: no failure took part but the one the rule was written from.
	OwnCaseOnly bool `json:"own_case_only,omitempty"`
	// Paired holds the numbers and pairs of a paired test.
	Paired *Paired `json:"paired,omitempty"`
}

// Expired says why a verdict does not hold any more for what runs now, "" when it does.
// A verdict that names no identity says nothing about it.
func (v Verdict) Expired(now Identity) string {
	if v.Identity == nil {
		return ""
	}
	return v.Identity.Changed(now)
}

// Link is the address of the case (package link).
func (c Case) Link() string { return link.Of("case", c.ID) }

// Link is the address of the verdict (package link).
func (v Verdict) Link() string { return link.Of("verdict", v.ID) }
