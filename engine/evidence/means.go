package evidence

import (
	"fmt"
	"slices"
)

// MeanChange is how the mean of one metric over the turns of a session moved between its
// recording and a replay. All values are in [0,1].
type MeanChange struct {
	Metric string  `json:"metric"`
	Before float64 `json:"before"`
	After  float64 `json:"after"`
	// Worst is the lowest value of the replay and WorstTurn its turn.
	Worst     float64 `json:"worst"`
	WorstTurn int     `json:"worst_turn"`
}

// String is the change in words.
func (c MeanChange) String() string {
	return fmt.Sprintf("mean %s %.2f → %.2f (worst %.2f in turn %d)", c.Metric, c.Before, c.After, c.Worst, c.WorstTurn)
}

// TurnScores are the scores of the turns of one session, by metric; a metric that a turn
// has no value of is missing there.
type TurnScores []map[string]float64

// Mean is the mean of a metric over the turns that have a value of it, and the lowest
// of them with its place; ok is false when there is none.
func (t TurnScores) Mean(metric string) (mean, worst float64, turn int, ok bool) {
	n := 0
	for i, scores := range t {
		v, has := scores[metric]
		if !has {
			continue
		}
		if n == 0 || v < worst {
			worst, turn = v, i
		}
		mean += v
		n++
	}
	if n == 0 {
		return 0, 0, 0, false
	}
	return mean / float64(n), worst, turn, true
}

// CompareMeans lists how these metrics moved between a recording and the runs of its
// case: After is the median of the runs, Worst the lowest value in any of them.
func CompareMeans(before TurnScores, runs []TurnScores, metrics []string) (out []MeanChange) {
	for _, m := range metrics {
		c := MeanChange{Metric: m, Worst: 1}
		var known bool
		if c.Before, _, _, known = before.Mean(m); !known {
			continue
		}
		var means []map[string]float64
		for _, r := range runs {
			mean, worst, turn, ok := r.Mean(m)
			if !ok {
				means = append(means, nil)
				continue
			}
			if worst < c.Worst {
				c.Worst, c.WorstTurn = worst, turn
			}
			means = append(means, map[string]float64{m: mean})
		}
		if after, ok := Median(means)[m]; ok {
			c.After = after
			out = append(out, c)
		}
	}
	return out
}

// WithMeans adds what the means over all turns say to a result of the last turn: a case
// whose last turn held but whose mean fell by the regress margin got worse. A gain of the
// means alone is told, but is no improvement of what the case is about.
func (r *CaseResult) WithMeans(changes []MeanChange, m Margins) {
	r.Means = slices.Clone(changes)
	if r.Status != StatusUnchanged && r.Status != StatusImproved {
		return
	}
	if slices.ContainsFunc(changes, func(c MeanChange) bool { return c.After-c.Before <= -m.Regress }) {
		r.Status = StatusRegressed
	}
}
