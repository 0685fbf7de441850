package evidence

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"vise/engine/rule"
)

// maxFlagged bounds the cases and runs that a flag names.
const maxFlagged = 10

// ConfirmRuns is how many further runs a case gets that seems to have regressed.
const ConfirmRuns = 2

// Median returns the median by metric over the runs of one case; a metric must be in
// more than half of them. One run that went badly by chance does not make a
// regression, and one that went well does not hide one.
func Median(runs []map[string]float64) map[string]float64 {
	by := map[string][]float64{}
	for _, r := range runs {
		for m, v := range r {
			by[m] = append(by[m], v)
		}
	}
	out := map[string]float64{}
	for m, list := range by {
		if 2*len(list) <= len(runs) {
			continue
		}
		slices.Sort(list)
		if k := len(list) / 2; len(list)%2 == 1 {
			out[m] = list[k]
		} else {
			out[m] = (list[k-1] + list[k]) / 2
		}
	}
	return out
}

// Concerns reports whether a case speaks about a rule in force: a failure the rule
// was written against (they share a target signature), or any case whose run read
// the rule.
func Concerns(r rule.Rule, c Case, read []string) bool {
	if slices.Contains(read, r.ID) {
		return true
	}
	targets := TargetSignatures(r)
	return c.Kind == Failure && slices.ContainsFunc(c.Signature, func(s string) bool { return slices.Contains(targets, s) })
}

// Observed is one case of a regression run as the rules in force see it.
type Observed struct {
	Case   Case
	Result CaseResult
	Read   []string // rules whose text was handed out in its run
}

// FlagRule tells what a regression run means for an active rule: a flag when a case
// of its got worse; clear when cases of its were replayed, none of them got worse and
// every case an earlier flag names was among them. Otherwise the rule stays as it is.
func FlagRule(r rule.Rule, seen []Observed, at string) (flag *rule.Flag, clear bool) {
	var worse []Observed
	fine := map[string]bool{}
	for _, o := range seen {
		if !Concerns(r, o.Case, o.Read) {
			continue
		}
		switch o.Result.Status {
		case StatusRegressed:
			worse = append(worse, o)
		case StatusImproved, StatusUnchanged:
			fine[o.Case.ID] = true
		}
	}
	if len(worse) > 0 {
		f := rule.Flag{At: at}
		for _, o := range worse[:min(len(worse), maxFlagged)] {
			f.Cases, f.Runs = append(f.Cases, o.Case.ID), append(f.Runs, o.Result.RunID)
		}
		f.Why = fmt.Sprintf("%d of its cases got worse while it was in force: %s", len(worse), worstDelta(worse[0].Result))
		return &f, false
	}
	if r.Flag == nil || len(fine) == 0 {
		return nil, false
	}
	return nil, !slices.ContainsFunc(r.Flag.Cases, func(id string) bool { return !fine[id] })
}

// worstDelta names the metric that fell most.
func worstDelta(c CaseResult) string {
	list := slices.SortedFunc(maps.Keys(c.Deltas), func(a, b string) int {
		return cmp.Or(cmp.Compare(c.Deltas[a], c.Deltas[b]), strings.Compare(a, b))
	})
	if len(list) == 0 || c.Deltas[list[0]] >= 0 {
		// The last turn held: the means over the turns fell.
		fell := slices.SortedFunc(slices.Values(c.Means), func(a, b MeanChange) int { return cmp.Compare(a.After-a.Before, b.After-b.Before) })
		if len(fell) > 0 {
			return fmt.Sprintf("%s on %s", fell[0], c.CaseID)
		}
		return c.CaseID
	}
	return fmt.Sprintf("%s %+.2f on %s", list[0], c.Deltas[list[0]], c.CaseID)
}
