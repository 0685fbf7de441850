package validate

import (
	"context"
	"slices"
	"testing"

	"vise/engine/evidence"
	"vise/engine/rule"
	"vise/store"
)

// Each round begins one candidate later, also when the head of the last one was decided
// in it: the next one begins behind that head, not at the oldest again.
func TestRotationGoesOnAfterADecidedHead(t *testing.T) {
	b := newBench(t, "seed", nil)
	for _, id := range []string{"r-2", "r-3", "r-4"} {
		b.update(func(tx *store.Tx) error { return tx.PutRule(candidateOf(id)) })
	}
	var asked []string
	b.v.replay = func(_ context.Context, r rule.Rule) (evidence.Verdict, error) {
		asked = append(asked, r.ID)
		v := evidence.Verdict{Outcome: evidence.PendingStill, Validator: "replay", Evidence: "seed"}
		if len(asked) > 4 && r.ID == "r-2" { // the head of the second round
			v.Outcome = evidence.Retire
		}
		return v, nil
	}
	for range 3 {
		b.round(Options{})
	}
	if want := []string{"r-1", "r-2", "r-3", "r-4", "r-2", "r-3", "r-4", "r-1", "r-3", "r-4", "r-1"}; !slices.Equal(asked, want) {
		t.Errorf("asked %v, want %v", asked, want)
	}
}

// UntilIdle goes on as long as a replay may end otherwise and attempts are left, although
// no round decided anything; then it stops.
func TestUntilIdleUsesTheAttemptsThatAreLeft(t *testing.T) {
	for name, c := range map[string]struct {
		decideAt int // the replay that decides; 0 = none
		cases    int
		asked    int
		status   rule.Status
	}{
		"the last attempt decides":             {MaxAttempts, 1, MaxAttempts, rule.Active},
		"no attempt decides":                   {0, 1, MaxAttempts, rule.Candidate},
		"without a case none could be another": {0, 0, 1, rule.Candidate},
	} {
		b := newBench(t, "seed", nil)
		asked := 0
		b.v.replay = func(context.Context, rule.Rule) (evidence.Verdict, error) {
			asked++
			v := evidence.Verdict{Outcome: evidence.PendingStill, Validator: "replay", Evidence: "seed"}
			for range c.cases {
				v.Cases = append(v.Cases, evidence.CaseResult{CaseID: "c-held", Status: "scored"})
			}
			if asked == c.decideAt {
				v.Outcome = evidence.Promote
			}
			return v, nil
		}
		if _, err := b.v.UntilIdle(t.Context(), Options{}); err != nil {
			t.Fatal(err)
		}
		var r rule.Rule
		if err := b.store.View(func(tx *store.Tx) (err error) { r, _, err = tx.Rule("r-1"); return err }); err != nil {
			t.Fatal(err)
		}
		if asked != c.asked || r.Status != c.status {
			t.Errorf("%s: %d replays, %s; want %d, %s", name, asked, r.Status, c.asked, c.status)
		}
	}
}
