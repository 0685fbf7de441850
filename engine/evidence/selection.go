package evidence

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"vise/engine/rule"
	"vise/engine/score"
)

// How many cases one validation replays.
const (
	MaxFailures = 3
	MaxWins     = 2
)

// Replayable reports whether the case can be run again.
func (c Case) Replayable() bool { return c.Input != nil }

// CaptureKey identifies the scenario a case is about: session, sorted signature
// and kind. A second capture of a key is the same case.
func CaptureKey(session string, signature []string, kind Kind) string {
	return session + "|" + strings.Join(sortedSet(signature), ",") + "|" + string(kind)
}

func sortedSet(list []string) []string {
	return slices.Compact(slices.Sorted(slices.Values(list)))
}

// TargetSignatures are the signatures a rule is about: its tags that contain a
// colon, in order, then breach, stall and regression of its metric.
func TargetSignatures(r rule.Rule) []string {
	out := []string{}
	add := func(s string) {
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	for _, tag := range r.Tags {
		if strings.Contains(tag, ":") {
			add(tag)
		}
	}
	if r.Metric != "" {
		for _, c := range []score.Condition{score.Breach, score.Stall, score.Regression} {
			add(score.Signature(c, r.Metric))
		}
	}
	return out
}

// oldestFirst is the listing order of cases; newestFirst its reverse.
func oldestFirst(cases []Case) []Case {
	out := slices.Clone(cases)
	slices.SortStableFunc(out, func(a, b Case) int {
		return cmp.Or(cmp.Compare(a.CreatedAt, b.CreatedAt), cmp.Compare(a.ID, b.ID))
	})
	return out
}

func newestFirst(cases []Case) []Case {
	out := oldestFirst(cases)
	slices.Reverse(out)
	return out
}

// Matching returns the cases of a kind ("" = any) whose signature shares an exact
// member with the wanted ones, newest first.
func Matching(cases []Case, wanted []string, kind Kind) []Case {
	out := []Case{}
	for _, c := range newestFirst(cases) {
		if (kind == "" || c.Kind == kind) && slices.ContainsFunc(c.Signature, func(s string) bool { return slices.Contains(wanted, s) }) {
			out = append(out, c)
		}
	}
	return out
}

// SelectCases returns what the validation of a rule replays, in the order it
// replays them: the newest replayable failures the rule is about, at most three,
// and the newest replayable wins whatever they are about, at most two.
func SelectCases(r rule.Rule, cases []Case) (failures, wins []Case) {
	for _, c := range Matching(cases, TargetSignatures(r), Failure) {
		if c.Replayable() && len(failures) < MaxFailures {
			failures = append(failures, c)
		}
	}
	for _, c := range newestFirst(cases) {
		if c.Kind == Win && c.Replayable() && len(wins) < MaxWins {
			wins = append(wins, c)
		}
	}
	return failures, wins
}

// RetireOn returns the metrics whose drop on a failure case speaks against the
// rule, sorted: the outcome, the rule's metric, and what its signatures and tags
// name after their first colon. On a win case every metric does.
func RetireOn(r rule.Rule) []string {
	set := map[string]bool{score.OutcomeCorrect: true}
	if r.Metric != "" {
		set[r.Metric] = true
	}
	for _, list := range [][]string{r.FailureSignatures, r.Tags} {
		for _, s := range list {
			if m := signatureMetric(s); m != "" {
				set[m] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(set))
}

// signatureMetric is the part after the first colon, "" without one.
func signatureMetric(signature string) string {
	_, metric, _ := strings.Cut(signature, ":")
	return metric
}

// Preference lists the metrics a failure case is judged by, the most trusted
// first: the outcome, the rule's metric, the metric of the first signature of the
// newest failure.
func Preference(r rule.Rule, failures []Case) []string {
	out := []string{score.OutcomeCorrect}
	add := func(m string) {
		if m != "" && !slices.Contains(out, m) {
			out = append(out, m)
		}
	}
	add(r.Metric)
	if len(failures) > 0 && len(failures[0].Signature) > 0 {
		add(signatureMetric(failures[0].Signature[0]))
	}
	return out
}
