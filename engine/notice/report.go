package notice

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"vise/engine/guard"
	"vise/engine/rule"
	"vise/engine/score"
	"vise/engine/trace"
)

// Caps of what a notice carries, in code points and items.
const (
	maxSummary     = 2000
	maxTaskSummary = 600
	maxReason      = 300
	maxReasons     = 8
	maxHints       = 16
	summaryTraces  = 5
)

// Summary says in one line what alerts: "metric=0.20 [breach+stall, threshold
// 0.50]" per alerting score, then up to five flagged traces.
func Summary(r score.Report) string {
	var parts []string
	for _, s := range r.Alerting() {
		value := "pending"
		if s.Value != nil {
			value = fmt.Sprintf("%.2f", *s.Value)
		}
		conditions := make([]string, 0, 3)
		for _, c := range s.Conditions() {
			conditions = append(conditions, string(c))
		}
		parts = append(parts, fmt.Sprintf("%s=%s [%s, threshold %.2f]", s.Metric, value, strings.Join(conditions, "+"), s.Threshold))
	}
	text := strings.Join(parts, "; ")
	if traces := r.FlaggedTraces(); len(traces) > 0 {
		text += " · traces " + strings.Join(traces[:min(len(traces), summaryTraces)], ", ")
	}
	return guard.Line(text, maxSummary)
}

// FromReport makes the notice of an alerting report about a turn. id and at
// (RFC 3339) come from the caller. Texts of the host and the evaluator are
// sanitised and bounded.
func FromReport(r score.Report, turn trace.Turn, id, at string) Notice {
	hints := CleanHints(turn.ScopeHints)
	n := Notice{
		ID: id, CreatedAt: at, SessionID: r.SessionID, TurnIndex: r.TurnIndex,
		Severity: Severity(r.Severity()), Summary: Summary(r), Metrics: []Metric{},
		Signatures: r.Signatures(), FlaggedTraces: r.FlaggedTraces(), Signals: r.SignalBreakdown(),
		RecommendedScope: RecommendedScope(hints), ScopeHints: hints,
		TaskSummary: guard.Line(turn.TaskSummary, maxTaskSummary), Status: Pending,
	}
	for _, s := range r.Alerting() {
		m := Metric{Name: s.Metric, Value: s.Value, Threshold: s.Threshold, TraceID: s.TraceID}
		for _, c := range s.Conditions() {
			m.Conditions = append(m.Conditions, string(c))
		}
		for _, reason := range s.Reasons[:min(len(s.Reasons), maxReasons)] {
			m.Reasons = append(m.Reasons, guard.Line(reason, maxReason))
		}
		n.Metrics = append(n.Metrics, m)
	}
	return n
}

// AskHuman is the notice that the breaker opened: too many alerts at once for
// repairs to be meaningful. It carries what tripped it and pauses repair until a
// person resumes it.
func AskHuman(tripped Notice, c Config) Notice {
	tripped.Severity = NeedsHuman
	tripped.Summary = guard.Line(fmt.Sprintf("more than %d notices within %s: repair is paused until a person looks and resumes it; last: %s",
		c.MaxNotices, c.Window, tripped.Summary), maxSummary)
	return tripped
}

// CleanHints normalises the keys of scope hints, drops those that name no scope or
// repeat an earlier one, keeps 16, cleans descriptions and fills in applicability
// topical where none is given.
func CleanHints(hints []trace.ScopeHint) []trace.ScopeHint {
	var out []trace.ScopeHint
	seen := map[string]bool{}
	for _, h := range hints {
		key, ok := rule.NormalizeScopeOrNone(h.Key)
		if !ok || seen[key] {
			continue
		}
		seen[key] = true
		h.Key = key
		h.Description, _ = rule.CleanDescription(h.Description)
		switch h.Applicability {
		case rule.Global, rule.Topical, rule.Task:
		default:
			h.Applicability = rule.Topical
		}
		out = append(out, h)
		if len(out) == maxHints {
			break
		}
	}
	return out
}

// RecommendedScope is the first recommended hint with a name of its own, else the
// first recommended one, else "".
func RecommendedScope(hints []trace.ScopeHint) string {
	first := ""
	for _, h := range hints {
		if h.Recommended != nil && !*h.Recommended {
			continue
		}
		if !rule.ReservedScope(h.Key) {
			return h.Key
		}
		if first == "" {
			first = h.Key
		}
	}
	return first
}

// DeriveTags returns the tags a rule inherits from a notice: signatures, metric
// names, the signal names of each trace (traces and names ascending), severity.
func DeriveTags(n Notice) []string {
	tags := slices.Clone(n.Signatures)
	for _, m := range n.Metrics {
		tags = append(tags, m.Name)
	}
	for _, id := range slices.Sorted(maps.Keys(n.Signals)) {
		tags = slices.AppendSeq(tags, slices.Values(slices.Sorted(maps.Keys(n.Signals[id]))))
	}
	return rule.CleanTags(append(tags, string(n.Severity)))
}
