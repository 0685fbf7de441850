package gate

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"vise/engine/score"
)

// Ladder evaluates the new traces of a turn tier by tier. Tier 1 is asked for
// every new trace; tier 2 for one of them once the gate fired (see Follow); tier 3
// for the same one once a tier-2 score breached.
type Ladder struct {
	Tier1, Tier2, Tier3 []string
	EnableTier3         bool
	// Follow asks tier 2 about the last trace on which the gate fired. Otherwise it is
	// asked about the last new trace, which may be one where nothing was wrong
	// (PandaProbe Harness 0.9).
	Follow bool
	Gate   Config
	// Thresholds are local overrides by metric; they beat what an evaluator reports.
	Thresholds map[string]float64
	// Muted metrics are scored and folded, but their gate flags are dropped: they
	// open no tier and make no signature.
	Muted []string
	// Noise is the measured standard deviation by metric of those that the noise
	// gate folds; all others are folded by peak and drop.
	Noise map[string]float64
}

// States are the gate states of one session by metric.
type States map[string]State

// Request asks an evaluator for every metric of every trace. It returns the
// scores in any order; a missing one is pending. Score.Threshold is what the
// evaluator reports, 0 = nothing.
type Request func(traces, metrics []string) ([]score.Score, error)

// Climb evaluates the new traces of one turn, oldest first, and returns the scores
// in report order with tier, threshold and flags set, and the states after them.
// The given states are not changed.
//
// A failing request leaves its scores pending and its error is returned beside
// them, so that the caller can retry the turn with the old states.
func (l Ladder) Climb(states States, traces []string, request Request) ([]score.Score, States, error) {
	after := maps.Clone(states)
	if after == nil {
		after = States{}
	}
	if len(traces) == 0 {
		return nil, after, nil
	}
	scores, err := l.ask(1, l.Tier1, traces, request)
	fired := -1
	for i, trace := range traces {
		if l.fold(after, scores, trace) {
			fired = i
		}
	}
	if fired < 0 {
		return scores, after, err
	}
	if !l.Follow {
		fired = len(traces) - 1
	}
	last := traces[fired : fired+1]
	second, err2 := l.ask(2, l.Tier2, last, request)
	scores = append(scores, second...)
	err = errors.Join(err, err2)
	if l.EnableTier3 && slices.ContainsFunc(second, score.Score.Breached) {
		third, err3 := l.ask(3, l.Tier3, last, request)
		scores = append(scores, third...)
		err = errors.Join(err, err3)
	}
	return scores, after, err
}

// ask sends one request and puts the scores into report order: trace by trace,
// metrics as configured.
func (l Ladder) ask(tier int, metrics, traces []string, request Request) ([]score.Score, error) {
	known := make([]string, 0, len(metrics))
	for _, m := range metrics {
		if score.TraceMetric(m) {
			known = append(known, m)
		}
	}
	if len(known) == 0 {
		return nil, nil
	}
	replies, err := request(slices.Clone(traces), slices.Clone(known))
	if err != nil {
		replies, err = nil, fmt.Errorf("ladder: tier %d of %d traces: %w", tier, len(traces), err)
	}
	type key struct{ trace, metric string }
	by := make(map[key]score.Score, len(replies))
	for _, s := range replies {
		by[key{s.TraceID, s.Metric}] = s
	}
	out := make([]score.Score, 0, len(traces)*len(known))
	for _, trace := range traces {
		for _, m := range known {
			s := by[key{trace, m}]
			s.Metric, s.TraceID, s.Tier = m, trace, tier
			s.Stalled, s.Regressed = false, false
			s.Threshold = l.threshold(m, s.Threshold)
			out = append(out, s)
		}
	}
	return out, err
}

// Threshold is the threshold of a metric when an evaluator reports none of its own.
func (l Ladder) Threshold(metric string) float64 { return l.threshold(metric, 0) }

// threshold is the local override, else what was reported, else the default.
func (l Ladder) threshold(metric string, reported float64) float64 {
	if t, ok := l.Thresholds[metric]; ok {
		return t
	}
	if reported > 0 {
		return reported
	}
	if metric == score.OutcomeCorrect {
		return score.OutcomeThreshold
	}
	return score.DefaultThreshold
}

// fold takes the tier-1 values of one trace into the states and flags its scores.
// A metric that occurs twice is folded once, with its last value. It reports
// whether a metric that is not muted fired.
func (l Ladder) fold(states States, scores []score.Score, trace string) bool {
	last := map[string]*float64{}
	for _, s := range scores {
		if s.TraceID == trace {
			last[s.Metric] = s.Value
		}
	}
	flags := make(map[string]Flags, len(last))
	fired := false
	for m, v := range last {
		next, f := Fold(l.Gate, states[m], v)
		if sd, noisy := l.Noise[m]; noisy {
			next, f = FoldNoisy(l.Gate, states[m], v, sd)
		}
		if v != nil {
			states[m] = next
		}
		if !slices.Contains(l.Muted, m) {
			flags[m] = f
			fired = fired || f.Fired()
		}
	}
	for i := range scores {
		if f, ok := flags[scores[i].Metric]; ok && scores[i].TraceID == trace {
			scores[i].Stalled, scores[i].Regressed = f.Stalled, f.Regressed
		}
	}
	return fired
}

// Outcome returns the verdict of a verifier (its identity in by) as the last score
// of a report: tier 0, no trace. It never opens a tier.
func (l Ladder) Outcome(value float64, by string) score.Score {
	return score.Score{Metric: score.OutcomeCorrect, Value: &value, Threshold: l.threshold(score.OutcomeCorrect, 0), By: by}
}
