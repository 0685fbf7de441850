package score

import (
	"maps"
	"slices"
)

// BelowThreshold reports a value under the threshold.
func (s Score) BelowThreshold() bool { return s.Value != nil && *s.Value < s.Threshold }

// Breached reports a value under the threshold on a tier that judges single
// turns: the verifier (0) and tier 2. Tier 1 is cheap and noisy, so it alerts by
// its trend only; tier 3 never alerts by value.
func (s Score) Breached() bool { return s.BelowThreshold() && (s.Tier == 0 || s.Tier == 2) }

// GateBreached reports that the trajectory gate fired for the score.
func (s Score) GateBreached() bool { return s.Stalled || s.Regressed }

// Alerting reports that the score has at least one condition.
func (s Score) Alerting() bool { return s.Breached() || s.GateBreached() }

// Conditions returns why the score alerts: breach, stall, regression in this order.
func (s Score) Conditions() []Condition {
	out := []Condition{}
	if s.Breached() {
		out = append(out, Breach)
	}
	if s.Stalled {
		out = append(out, Stall)
	}
	if s.Regressed {
		out = append(out, Regression)
	}
	return out
}

// Signature names a condition of a metric: "condition:metric".
func Signature(c Condition, metric string) string { return string(c) + ":" + metric }

// Empty reports that no score is resolved: the report is no information. It must
// neither recover a session nor close the breaker nor count in a trial. A score
// that alerts without a value is information.
func (r Report) Empty() bool {
	return !slices.ContainsFunc(r.Scores, func(s Score) bool { return s.Value != nil || s.Alerting() })
}

// AnyBreach reports that a score breached.
func (r Report) AnyBreach() bool { return slices.ContainsFunc(r.Scores, Score.Breached) }

// Alerts reports that a score alerts.
func (r Report) Alerts() bool { return slices.ContainsFunc(r.Scores, Score.Alerting) }

// Alerting returns the alerting scores in order.
func (r Report) Alerting() []Score {
	out := []Score{}
	for _, s := range r.Scores {
		if s.Alerting() {
			out = append(out, s)
		}
	}
	return out
}

// Signatures returns the distinct signatures of the report, sorted.
func (r Report) Signatures() []string {
	set := map[string]bool{}
	for _, s := range r.Scores {
		for _, c := range s.Conditions() {
			set[Signature(c, s.Metric)] = true
		}
	}
	return slices.Sorted(maps.Keys(set))
}

// FlaggedTraces returns the traces worth inspecting, each once: for each score
// the traces its evaluator points at, then its own trace if it alerts.
func (r Report) FlaggedTraces() []string {
	out := []string{}
	add := func(id string) {
		if id != "" && !slices.Contains(out, id) {
			out = append(out, id)
		}
	}
	for _, s := range r.Scores {
		for _, id := range s.Flagged {
			add(id)
		}
		if s.Alerting() {
			add(s.TraceID)
		}
	}
	return out
}

// Severity is "breach" when a score breached, "trend" when only the gate fired,
// "" when nothing alerts.
func (r Report) Severity() string {
	switch {
	case r.AnyBreach():
		return "breach"
	case r.Alerts():
		return "trend"
	}
	return ""
}

// SignalBreakdown returns trace → metric → value of the resolved scores that
// name a trace; the last value wins.
func (r Report) SignalBreakdown() map[string]map[string]float64 {
	out := map[string]map[string]float64{}
	for _, s := range r.Scores {
		if s.TraceID == "" || s.Value == nil {
			continue
		}
		if out[s.TraceID] == nil {
			out[s.TraceID] = map[string]float64{}
		}
		out[s.TraceID][s.Metric] = *s.Value
	}
	return out
}

// Baseline returns metric → value of the resolved scores; the last value wins,
// so with several traces the newest trace is the baseline.
func (r Report) Baseline() map[string]float64 {
	out := map[string]float64{}
	for _, s := range r.Scores {
		if s.Value != nil {
			out[s.Metric] = *s.Value
		}
	}
	return out
}

// BaselineBy returns metric → identity of the evaluator for the values of Baseline.
func (r Report) BaselineBy() map[string]string {
	out := map[string]string{}
	for _, s := range r.Scores {
		if s.Value != nil && s.By != "" {
			out[s.Metric] = s.By
		}
	}
	return out
}
