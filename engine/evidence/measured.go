package evidence

import (
	"fmt"
	"math"
	"slices"
)

// The bars of a measurement of noise.
const (
	// MaxFlips is the share of repeated evaluations that may land on the other side
	// of the threshold; a metric that flips more often may inform but not decide.
	MaxFlips = 0.20
	// DefaultSD stands for the standard deviation of a metric that nobody measured:
	// the usual scatter of a language model as judge.
	DefaultSD = 0.15
	// minRepeats is how many repeated values a standard deviation needs at least.
	minRepeats = 10
)

// MetricNoise is the measured scatter of one metric.
type MetricNoise struct {
	Metric string `json:"metric"`
	// N counts values, Groups what they repeat: turns, or cases.
	N      int `json:"n"`
	Groups int `json:"groups"`
	// SD is the standard deviation within groups, pooled over them.
	SD float64 `json:"sd"`
	// Flips is the share of pairs within a group that lie on different sides of the
	// threshold.
	Flips float64 `json:"flips"`
	Mean  float64 `json:"mean"`
}

// Enough reports that the deviation rests on enough repeated values to be used.
func (n MetricNoise) Enough() bool { return n.N >= minRepeats && n.N > n.Groups }

// MeasureNoise pools groups of repeated values of one metric. Groups of one value
// count for the mean only.
func MeasureNoise(metric string, groups [][]float64, threshold float64) MetricNoise {
	out := MetricNoise{Metric: metric}
	var squares, sum float64
	freedom, pairs, flips := 0, 0, 0
	for _, g := range groups {
		if len(g) == 0 {
			continue
		}
		out.Groups++
		out.N += len(g)
		mean := 0.0 // from the first value on, so that equal values scatter by nothing
		for _, v := range g {
			mean += v - g[0]
		}
		mean = g[0] + mean/float64(len(g))
		sum += mean * float64(len(g))
		for i, v := range g {
			squares += (v - mean) * (v - mean)
			for _, w := range g[i+1:] {
				pairs++
				if (v < threshold) != (w < threshold) {
					flips++
				}
			}
		}
		freedom += len(g) - 1
	}
	if out.N > 0 {
		out.Mean = sum / float64(out.N)
	}
	if freedom > 0 {
		out.SD = math.Sqrt(squares / float64(freedom))
	}
	if pairs > 0 {
		out.Flips = float64(flips) / float64(pairs)
	}
	return out
}

// Reading is what a measurement says of one metric.
type Reading struct {
	Metric string `json:"metric"`
	// Evaluator is the scatter of repeated evaluations of stored turns; Agent that of
	// repeated runs of the same case, evaluation included. nil = not measured.
	Evaluator *MetricNoise `json:"evaluator,omitempty"`
	Agent     *MetricNoise `json:"agent,omitempty"`
	// Idle is the mean score of an agent that does nothing, on the same inputs.
	Idle *float64 `json:"idle,omitempty"`
	// Decides: the metric may decide about rules; else Why says why it may only inform.
	Decides bool   `json:"decides"`
	Why     string `json:"why,omitempty"`
}

// Measured is one measurement of noise, as it is stored.
type Measured struct {
	At string `json:"at"` // RFC 3339
	// EvaluatedBy and Agent are what was measured; scores of another evaluator or
	// agent scatter differently.
	EvaluatedBy string `json:"evaluated_by"`
	Agent       string `json:"agent,omitempty"`
	Turns       int    `json:"turns"`   // stored turns evaluated again
	Repeats     int    `json:"repeats"` // evaluations of each
	Cases       int    `json:"cases"`   // cases run again
	Runs        int    `json:"runs"`    // runs of each
	// Failed counts runs that said nothing about the agent (infrastructure).
	Failed   int       `json:"failed"`
	Readings []Reading `json:"readings"`
}

// Judge sets Decides and Why of a reading.
func (r Reading) Judge() Reading {
	r.Decides, r.Why = true, ""
	switch {
	case r.Evaluator == nil || r.Evaluator.N == 0:
		r.Decides, r.Why = false, "no stored turn has a value of it"
	case r.Evaluator.Flips > MaxFlips:
		r.Decides, r.Why = false, fmt.Sprintf("two evaluations of the same turn disagree in %.0f %% of pairs, more than %.0f %%", 100*r.Evaluator.Flips, 100*MaxFlips)
	case r.Idle != nil && *r.Idle >= r.Evaluator.Mean:
		r.Decides, r.Why = false, fmt.Sprintf("an agent that does nothing scores %.2f, your turns %.2f: it does not tell them apart", *r.Idle, r.Evaluator.Mean)
	}
	return r
}

// Reading returns what was measured of a metric.
func (m Measured) Reading(metric string) (Reading, bool) {
	i := slices.IndexFunc(m.Readings, func(r Reading) bool { return r.Metric == metric })
	if i < 0 {
		return Reading{}, false
	}
	return m.Readings[i], true
}

// EvaluatorSD is the standard deviation of the evaluator on a metric; false when
// it was not measured on enough values.
func (m Measured) EvaluatorSD(metric string) (float64, bool) {
	r, ok := m.Reading(metric)
	if !ok || r.Evaluator == nil || !r.Evaluator.Enough() {
		return 0, false
	}
	return r.Evaluator.SD, true
}

// AgentSD is the standard deviation of one score of the agent from run to run, the
// evaluator's part included; false when it was not measured on enough values.
func (m Measured) AgentSD(metric string) (float64, bool) {
	r, ok := m.Reading(metric)
	if !ok || r.Agent == nil || !r.Agent.Enough() {
		return 0, false
	}
	return r.Agent.SD, true
}

// GateNoise is the standard deviation by metric that the trajectory gate reckons
// with under a mode; metrics that are not in it are folded by peak and drop. In
// mode auto these are the metrics of which the evaluator was measured to scatter by
// floor or more, in mode noise all, by DefaultSD where nothing was measured, in
// mode seed none.
func GateNoise(mode string, metrics []string, m Measured, floor float64) map[string]float64 {
	out := map[string]float64{}
	for _, metric := range metrics {
		sd, known := m.EvaluatorSD(metric)
		switch {
		case mode == "noise" && known, mode == "auto" && known && sd >= floor:
			out[metric] = sd
		case mode == "noise":
			out[metric] = DefaultSD
		}
	}
	return out
}
