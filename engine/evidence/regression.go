package evidence

import (
	"slices"
	"strings"

	"vise/engine/score"
)

// Skipped is the status of a case that a regression run could not judge; the
// reasons say why.
const (
	StatusSkipped   = "skipped"
	SkipNoInput     = "no_input"      // the case cannot be replayed
	SkipNoReplay    = "no_replay"     // no agent is configured
	SkipReplay      = "replay_failed" // the replay failed or took too long
	SkipScoring     = "scoring_failed"
	SkipNoScores    = "no_scores"        // nothing was scored
	SkipNothingBoth = "no_shared_metric" // no metric was scored then and now
	// NotComparable: a metric of the baseline was not scored now, or by another
	// evaluator. What it would have said is unknown, so it did not stay as it was.
	NotComparable = "not_comparable"
)

// Uncompared says for each metric of a case's baseline why the scores of a run (by
// metric, with who gave each) say nothing about it, sorted; nil when all can be compared.
// A run that called no tool has nothing to be judged by on the metrics of calls: these
// are not missed.
func Uncompared(c Case, scores map[string]float64, by map[string]string, called bool) (out []string) {
	for m := range c.Baseline {
		_, scored := scores[m]
		switch {
		case !scored && !called && (m == score.ToolCorrectness || m == score.ArgumentCorrectness):
		case !scored:
			out = append(out, m+" was not scored")
		case !c.Comparable(m, by[m]):
			out = append(out, m+" was scored by another evaluator ("+by[m]+", before by "+c.BaselineBy[m]+")")
		}
	}
	slices.Sort(out)
	return out
}

// Withhold takes back what a result says when metrics of its baseline could not be
// compared: it is skipped, unless others of them show that it got worse.
func (r *CaseResult) Withhold(uncompared []string) {
	if len(uncompared) == 0 {
		return
	}
	r.Uncompared = uncompared
	if r.Status != StatusRegressed {
		r.Status, r.Reason = StatusSkipped, strings.ReplaceAll(NotComparable, "_", " ")+": "+strings.Join(uncompared, ", ")
	}
}

// ClassifyDeltas judges one replayed case of a regression run: regressed when any
// metric fell by the regress margin, else improved when any rose by the promote
// margin, else unchanged.
func ClassifyDeltas(deltas map[string]float64, m Margins) string {
	status := StatusUnchanged
	for _, d := range deltas {
		if d <= -m.Regress {
			return StatusRegressed
		}
		if d >= m.Promote {
			status = StatusImproved
		}
	}
	return status
}

// RegressionCases returns the cases of a regression run in run order: wins newest
// first, then failures newest first. A sample > 0 keeps that many; cases that can be
// replayed are sampled before those that cannot.
func RegressionCases(cases []Case, sample int) []Case {
	all := newestFirst(cases)
	wins := slices.DeleteFunc(slices.Clone(all), func(c Case) bool { return c.Kind != Win })
	out := append(wins, slices.DeleteFunc(all, func(c Case) bool { return c.Kind == Win })...)
	if sample <= 0 || sample >= len(out) {
		return out
	}
	var ready, idle []Case
	for _, c := range out {
		if c.Replayable() {
			ready = append(ready, c)
		} else {
			idle = append(idle, c)
		}
	}
	return append(ready, idle...)[:sample]
}

// RegressionTotals counts the results of a regression run.
type RegressionTotals struct {
	Total     int `json:"total"`
	Replayed  int `json:"replayed"`
	Improved  int `json:"improved"`
	Unchanged int `json:"unchanged"`
	Regressed int `json:"regressed"`
	Skipped   int `json:"skipped"`
	// Uncompared counts cases that were replayed but of which a metric of the baseline
	// could not be compared.
	Uncompared int `json:"uncompared,omitempty"`
}

// Totals counts results by status.
func Totals(results []CaseResult) RegressionTotals {
	t := RegressionTotals{Total: len(results)}
	for _, r := range results {
		switch r.Status {
		case StatusImproved:
			t.Improved++
		case StatusUnchanged:
			t.Unchanged++
		case StatusRegressed:
			t.Regressed++
		default:
			t.Skipped++
		}
		if len(r.Uncompared) > 0 {
			t.Uncompared++
		}
	}
	t.Replayed = t.Total - t.Skipped
	return t
}

// Clean reports a run that shows no regression: nothing regressed, all that was
// replayed could be compared and something was replayed, or there was nothing to replay
// at all. A run in which every case was skipped shows nothing.
func (t RegressionTotals) Clean() bool {
	return t.Regressed == 0 && t.Uncompared == 0 && (t.Replayed > 0 || t.Total == 0)
}

// JudgeRegression gives the result of one replayed case. scores is nil when the
// replay or its scoring failed, empty when nothing was scored; skip names the
// failure.
func JudgeRegression(c Case, scores map[string]float64, skip string, m Margins) CaseResult {
	r := CaseResult{CaseID: c.ID, Kind: c.Kind, Baseline: c.Baseline, Scores: scores, Deltas: Deltas(c.Baseline, scores)}
	switch {
	case !c.Replayable():
		r.Status, r.Reason = StatusSkipped, SkipNoInput
	case skip != "":
		r.Status, r.Reason = StatusSkipped, skip
	case len(scores) == 0:
		r.Status, r.Reason = StatusSkipped, SkipNoScores
	case len(r.Deltas) == 0:
		r.Status, r.Reason = StatusSkipped, SkipNothingBoth
	default:
		r.Status = ClassifyDeltas(r.Deltas, m)
	}
	return r
}
