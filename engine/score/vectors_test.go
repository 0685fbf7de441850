package score_test

import (
	"math"
	"slices"
	"testing"

	"vise/engine/internal/vectors"
	"vise/engine/score"
)

func TestVectorsScoreConditions(t *testing.T) {
	type input struct {
		Scores []struct {
			Metric    string   `json:"metric"`
			Value     *float64 `json:"value"`
			Threshold float64  `json:"threshold"`
			Tier      int      `json:"tier"`
			Stalled   bool     `json:"stalled"`
			Regressed bool     `json:"regressed"`
			TraceID   *string  `json:"trace_id"`
			Flagged   []string `json:"metadata_flagged"`
		} `json:"scores"`
	}
	names := func(scores []score.Score) []string {
		out := []string{}
		for _, s := range scores {
			out = append(out, s.Metric)
		}
		return out
	}
	vectors.Run(t, "score_conditions", func(t *testing.T, in input) any {
		var report score.Report
		scores := []any{}
		for _, x := range in.Scores {
			s := score.Score{Metric: x.Metric, Value: x.Value, Threshold: x.Threshold, Tier: x.Tier, Stalled: x.Stalled, Regressed: x.Regressed, Flagged: x.Flagged}
			if x.TraceID != nil {
				s.TraceID = *x.TraceID
			}
			report.Scores = append(report.Scores, s)
			scores = append(scores, map[string]any{"below_threshold": s.BelowThreshold(), "breached": s.Breached(), "gate_breached": s.GateBreached(),
				"pending": s.Value == nil, "alerting": s.Alerting(), "conditions": s.Conditions()})
		}
		out := map[string]any{"any_breach": report.AnyBreach(), "any_alert": report.Alerts(), "gate_breached": slices.ContainsFunc(report.Scores, score.Score.GateBreached),
			"signatures": append([]string{}, report.Signatures()...), "flagged_traces": report.FlaggedTraces(), "severity": nil,
			"breached_metrics": names(slices.DeleteFunc(slices.Clone(report.Scores), func(s score.Score) bool { return !s.Breached() })), "alerting_metrics": names(report.Alerting()),
			"signal_breakdown": report.SignalBreakdown(), "baseline_scores": report.Baseline()}
		if s := report.Severity(); s != "" {
			out["severity"] = s
		}
		return map[string]any{"scores": scores, "report": out}
	})
}

func TestVectorsVerifier(t *testing.T) {
	type input struct {
		Verifier *struct {
			Returns any    `json:"returns"`
			Special string `json:"returns_special"`
			Raises  bool   `json:"raises"`
		} `json:"verifier"`
	}
	special := map[string]float64{"nan": math.NaN(), "inf": math.Inf(1), "-inf": math.Inf(-1)}
	vectors.Run(t, "verifier", func(t *testing.T, in input) any {
		var v any
		if in.Verifier != nil {
			v = in.Verifier.Returns
			if f, ok := special[in.Verifier.Special]; ok {
				v = f
			}
		}
		return map[string]any{"score": score.Outcome(v)}
	})
}

func TestEmptyReportIsNoInformation(t *testing.T) {
	v := 0.0
	for name, c := range map[string]struct {
		scores []score.Score
		empty  bool
	}{
		"nothing scored":        {nil, true},
		"all pending":           {[]score.Score{{Metric: score.Coherence}}, true},
		"zero is a value":       {[]score.Score{{Metric: score.Coherence, Value: &v}}, false},
		"pending but regressed": {[]score.Score{{Metric: score.Coherence, Regressed: true}}, false},
	} {
		if got := (score.Report{Scores: c.scores}).Empty(); got != c.empty {
			t.Errorf("%s: Empty() = %v, want %v", name, got, c.empty)
		}
	}
}
