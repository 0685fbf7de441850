// Package notice decides when a turn's report becomes a notice and which
// notices form one repair episode. It is a set of pure folds: state in, state out.
package notice

import "vise/engine/link"

import "vise/engine/trace"

// Severity of a notice: trend < breach < needs_human.
type Severity string

// The three severities.
const (
	Trend      Severity = "trend"
	Breach     Severity = "breach"
	NeedsHuman Severity = "needs_human"
)

// Status of a notice.
type Status string

// The two states.
const (
	Pending      Status = "pending"
	Acknowledged Status = "acknowledged"
)

// Notice tells that a session's trajectory stalled, regressed or breached.
type Notice struct {
	ID        string   `json:"id"`
	CreatedAt string   `json:"created_at"` // RFC 3339, compared as text
	SessionID string   `json:"session_id"`
	TurnIndex int      `json:"turn_index"`
	Severity  Severity `json:"severity"`
	Summary   string   `json:"summary"`
	// Metrics alerting, in score order.
	Metrics []Metric `json:"metrics"`
	// Signatures are "condition:metric", sorted.
	Signatures    []string `json:"signatures"`
	FlaggedTraces []string `json:"flagged_traces"`
	// Signals: trace id → metric → value of every resolved score.
	Signals          map[string]map[string]float64 `json:"signals,omitempty"`
	RecommendedScope string                        `json:"recommended_scope,omitempty"`
	ScopeHints       []trace.ScopeHint             `json:"scope_hints,omitempty"`
	TaskSummary      string                        `json:"task_summary,omitempty"`
	Status           Status                        `json:"status"`
	Resolution       *Resolution                   `json:"resolution,omitempty"`
}

// Metric is one alerting score of a notice.
type Metric struct {
	Name       string   `json:"name"`
	Value      *float64 `json:"value"`
	Threshold  float64  `json:"threshold,omitempty"`
	Conditions []string `json:"conditions"`
	Reasons    []string `json:"reasons,omitempty"`
	TraceID    string   `json:"trace_id,omitempty"`
}

// Resolution says how a notice ended.
type Resolution struct {
	// Kind: candidate, duplicate, already_covered, no_proposal, unactionable, person.
	Kind   string `json:"kind"`
	RuleID string `json:"rule_id,omitempty"`
	Note   string `json:"note,omitempty"`
	By     string `json:"by,omitempty"` // episode id, or "person"
	At     string `json:"at"`
}

// Link is the address of the notice (package link).
func (n Notice) Link() string { return link.Of("notice", n.ID) }
