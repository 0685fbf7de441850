// Package score holds the metric registry and what an evaluator returns.
// The evaluators themselves live in score/local, score/judge and score/pandaprobe.
package score

// The nine metrics. The first eight are scored on a trace; OutcomeCorrect comes
// from the developer's verifier. (PandaProbe Harness 0.9, metric registry.)
const (
	TaskCompletion      = "task_completion"
	Coherence           = "coherence"
	ToolCorrectness     = "tool_correctness"
	ArgumentCorrectness = "argument_correctness"
	PlanAdherence       = "plan_adherence"
	PlanQuality         = "plan_quality"
	StepEfficiency      = "step_efficiency"
	Confidence          = "confidence"
	OutcomeCorrect      = "outcome_correct"
)

// TraceMetrics are the metrics an evaluator can be asked for, in registry order.
var TraceMetrics = []string{TaskCompletion, Coherence, ToolCorrectness, ArgumentCorrectness,
	PlanAdherence, PlanQuality, StepEfficiency, Confidence}

// Condition says why a score alerts.
type Condition string

// The three conditions, in the order they are reported.
const (
	Breach     Condition = "breach"
	Stall      Condition = "stall"
	Regression Condition = "regression"
)

// Score is one metric of one trace.
type Score struct {
	Metric string `json:"metric"`
	// Value is in [0,1]; nil means pending: no information, never zero.
	Value     *float64 `json:"value"`
	Threshold float64  `json:"threshold"`
	// Tier: 0 verifier, 1 every turn, 2 after the gate fired, 3 optional.
	Tier      int    `json:"tier"`
	Stalled   bool   `json:"stalled,omitempty"`
	Regressed bool   `json:"regressed,omitempty"`
	TraceID   string `json:"trace_id,omitempty"`
	// Flagged are trace ids the evaluator itself points at.
	Flagged []string `json:"flagged,omitempty"`
	// Reasons are short texts, worst first: "severity: text".
	Reasons []string `json:"reasons,omitempty"`
	// Checks are the check ids that fired (score/local).
	Checks []string `json:"checks,omitempty"`
	// Findings point at spans (score/local).
	Findings []Finding `json:"findings,omitempty"`
	// Votes are the values of a judge that was asked more than once, in order; Value is their median.
	Votes []float64 `json:"votes,omitempty"`
	// By identifies the evaluator: scores of different identities are never compared.
	By string `json:"by,omitempty"`
}

// Finding is one thing an evaluator saw, attached to a span.
type Finding struct {
	Check    string `json:"check"`
	Severity string `json:"severity"` // note, hint, sign, fault
	Reason   string `json:"reason"`
	N        int    `json:"n"`
	SpanID   string `json:"span_id,omitempty"`
}

// Heavy reports a finding of weight: a sign or a fault, not a note or a hint.
func (f Finding) Heavy() bool { return f.Severity == "sign" || f.Severity == "fault" }

// Report is what one evaluated turn yields.
type Report struct {
	SessionID string  `json:"session_id"`
	TurnIndex int     `json:"turn_index"`
	Scores    []Score `json:"scores"`
}
