package evidence

import (
	"strings"
	"testing"

	"vise/engine/rule"
)

// A pair whose gain is not counted, since the check fired again, is not told as better.
func TestUncountedGainIsNotBetter(t *testing.T) {
	test := Test{RuleID: "r", Threshold: 20, Cap: 30, Cases: []TestCase{{ID: "c", Kind: Failure}}}
	var pairs []Pair
	for n := range 4 {
		p := Pair{Number: n + 1, CaseID: "c", Kind: Failure, Metric: "task_completion", Graded: 1, Credit: 1, Treatment: Arm{Read: true}}
		if n > 0 {
			p.Credit = 0
		}
		pairs = append(pairs, p)
	}
	f := Weigh(test, pairs)
	if f.Better != 1 || f.Same != 3 || !strings.Contains(f.Verdict(test).Reason, "better in 1 of 4 pairs") {
		t.Errorf("better %d, same %d: %s", f.Better, f.Same, f.Verdict(test).Reason)
	}
}

// A test that stops before its cap says why, and what would help.
func TestStoppedBeforeTheCap(t *testing.T) {
	v := Verdict{RuleID: "r", Outcome: PendingStill, PendingReason: Inconclusive, Paired: &Paired{Profile: Full, Counted: 24, Cap: 30, Unreachable: true}}
	if next := v.Card().Next; !strings.Contains(next, "the best 6 pairs left could not have decided") || !strings.Contains(next, "above 30") {
		t.Error(next)
	}
	v.Paired.Profile = Quick
	if next := v.Card().Next; strings.Contains(next, "pairs_cap") || !strings.Contains(next, "--profile full") {
		t.Error(next)
	}
}

// What a verdict on a rule in force means is not what it means for a candidate.
func TestResult(t *testing.T) {
	harm := &Paired{EHarm: 21, Threshold: 20}
	for _, c := range []struct {
		v    Verdict
		want string
	}{
		{Verdict{Outcome: Promote}, ResultPromoted},
		{Verdict{Outcome: Promote, Validator: Retested}, Confirmed},
		{Verdict{Outcome: Retire}, ResultRetired},
		{Verdict{Outcome: Retire, Validator: Retested}, ResultFlagged},
		{Verdict{Outcome: Retire, Validator: Retested, Paired: harm}, ResultRetired},
		{Verdict{Outcome: PendingStill, Validator: Retested}, ResultPending},
	} {
		if got := c.v.Result(); got != c.want {
			t.Errorf("%+v is %s, want %s", c.v, got, c.want)
		}
	}
}

// What to do next is about the rule as it is now, not as the verdict left it.
func TestNextForARuleThatWasMoved(t *testing.T) {
	for _, c := range []struct {
		outcome Outcome
		now     rule.Status
		want    string // "" = as the card says
	}{
		{Promote, rule.Active, ""}, {Promote, rule.Candidate, "promoted then, and is a candidate again"}, {Promote, rule.Retired, "promoted then, and is retired since: vise rules restore r "},
		{Retire, rule.Retired, ""}, {Retire, rule.Candidate, "retired then, and is a candidate again"}, {Retire, rule.Active, "retired then, and is in force since"},
		{PendingStill, rule.Candidate, ""}, {PendingStill, rule.Active, ""}, {PendingStill, rule.Retired, "left open then, and is retired since"},
	} {
		v := Verdict{RuleID: "r", Outcome: c.outcome, PendingReason: TrialInProgress}
		if c.outcome != PendingStill {
			v.PendingReason = ""
		}
		got := v.NextFor(c.now)
		if c.want == "" && got != v.Card().Next || c.want != "" && !strings.Contains(got, c.want) {
			t.Errorf("%s, %s now: %q", c.outcome, c.now, got)
		}
	}
}
