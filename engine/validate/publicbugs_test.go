package validate

import (
	"math/rand/v2"
	"strings"
	"testing"

	"vise/engine/evidence"
	"vise/engine/rule"
	"vise/engine/score"
	"vise/store"
)

// The tests of this file are named after rows of testdata/publicbugs.txt: faults that
// users of other programs reported, made anew on ours.

// Runs that a timeout ended before the agent was up, or whose provider said 429, are no
// failures of the agent: their pairs are left out of both arms and told, and when they are
// too many nothing is decided, least of all against the rule.
func TestB34InfrastructureIsNoFailure(t *testing.T) {
	lost := func(every int) func(evidence.Job, rule.Set, *rand.Rand) evidence.Run {
		treated := 0
		return func(j evidence.Job, s rule.Set, _ *rand.Rand) evidence.Run {
			if j.Arm == "treatment" {
				switch treated++; {
				case every == 1 || treated == 2 || treated == 5:
					return evidence.Run{Error: "killed by its timeout", Infrastructure: "timeout"}
				case treated == 4:
					return evidence.Run{Error: "status 429", Infrastructure: "provider"}
				}
			}
			if sees(s, "r-1") {
				return outcomeOf(1)
			}
			return outcomeOf(0)
		}
	}
	v := newBench(t, "paired", lost(0)).round(Options{})["r-1"]
	if v.Outcome != evidence.Promote || v.Excluded != 3 || v.Paired.ExcludedTreatment != 3 || v.Paired.ExcludedControl != 0 {
		t.Fatalf("%s %q, %d left out: %s", v.Outcome, v.PendingReason, v.Excluded, v.Reason)
	}
	for _, p := range v.Paired.Pairs {
		if (p.Excluded != "") != (p.Treatment.Infrastructure != "") || p.Excluded != "" && (p.Graded != 0 || p.Difference != 0) {
			t.Errorf("pair %d: excluded %q, graded %v", p.Number, p.Excluded, p.Graded)
		}
	}
	v = newBench(t, "paired", lost(1)).round(Options{})["r-1"]
	if v.Outcome != evidence.PendingStill || v.PendingReason != evidence.Infrastructure {
		t.Errorf("all runs lost: %s %q", v.Outcome, v.PendingReason)
	}
}

// A rule that helps on two cases and harms a protected one is not promoted, however well
// the mean looks; the verdict names that case with its differences.
func TestB37MeanHidesALoss(t *testing.T) {
	for _, mode := range []string{"paired", "auto", "seed"} {
		t.Run(mode, func(t *testing.T) {
			b := newBench(t, mode, func(j evidence.Job, s rule.Set, _ *rand.Rand) evidence.Run {
				with := sees(s, "r-1")
				switch {
				case j.CaseID == "c-win" && with:
					return outcomeOf(0.6)
				case j.CaseID == "c-win":
					return outcomeOf(0.9)
				case with:
					return outcomeOf(0.6)
				}
				return outcomeOf(0.2)
			})
			win := failing("c-win", "s-win")
			win.Kind, win.Signature, win.Baseline = evidence.Win, nil, map[string]float64{score.OutcomeCorrect: 0.9}
			more := failing("c-other", "s-other")
			b.update(func(tx *store.Tx) error {
				if err := tx.PutCase(more); err != nil {
					return err
				}
				return tx.PutCase(win)
			})
			v := b.round(Options{})["r-1"]
			if v.Outcome == evidence.Promote {
				t.Fatalf("promoted: %s", v.Reason)
			}
			named := strings.Contains(v.Reason+v.Card().Found+v.Card().Sure, "c-win")
			for _, c := range v.Cases {
				if c.CaseID == "c-win" && c.Deltas[score.OutcomeCorrect] > -0.29 {
					t.Errorf("deltas of the win: %+v", c)
				}
			}
			if v.Paired != nil {
				sum, n := 0.0, 0
				for _, p := range v.Paired.Pairs {
					if p.CaseID == "c-win" {
						n++
						sum += p.Treatment.Scores[score.OutcomeCorrect] - p.Control.Scores[score.OutcomeCorrect]
					}
				}
				if n == 0 || sum/float64(n) > -0.29 {
					t.Errorf("%d pairs on the win, mean %v", n, sum/float64(n))
				}
			}
			if !named {
				t.Errorf("the win is not named: %s | %+v", v.Reason, v.Card())
			}
		})
	}
}

// A rule that says the opposite of an active one is no duplicate of it and is told beside
// it; both stay until a verdict, and the winner is not put in force beside the other. The
// same words again are a duplicate. Nothing is deleted.
func TestB44ContradictingRules(t *testing.T) {
	active, against := candidateOf("r-0"), candidateOf("r-1")
	active.Text, active.Status = "Always retry once on 429.", rule.Active
	against.Text = "Never retry on 429."
	b := newBench(t, "paired", randomly(0.1, 0.95))
	b.update(func(tx *store.Tx) error {
		if err := tx.PutRule(active); err != nil {
			return err
		}
		return tx.PutRule(against)
	})
	if c := rule.Covering([]rule.Rule{active}, against); len(c) != 0 {
		t.Errorf("the opposite passes for a duplicate: %+v", c)
	}
	if pairs, _ := rule.Pairs([]rule.Rule{active, against}, 10); len(pairs) != 1 || pairs[0].Reason != rule.Contradiction {
		t.Errorf("pairs %+v", pairs)
	}
	again := active
	again.ID, again.Status = "r-2", rule.Candidate
	if c := rule.Covering([]rule.Rule{active, against}, again); len(c) != 1 || c[0].RuleID != "r-0" || c[0].Reason != rule.ExactText {
		t.Errorf("the same words again: %+v", c)
	}
	states := func() map[string]rule.Status {
		out := map[string]rule.Status{}
		if err := b.store.View(func(tx *store.Tx) error {
			rules, err := tx.Rules()
			for _, r := range rules {
				out[r.ID] = r.Status
			}
			return err
		}); err != nil {
			t.Fatal(err)
		}
		return out
	}
	v := b.round(Options{})["r-1"]
	if s := states(); v.Outcome != evidence.PendingStill || v.PendingReason != evidence.ContradictsActive || !strings.Contains(v.Reason, "r-0") ||
		s["r-0"] != rule.Active || s["r-1"] != rule.Candidate {
		t.Fatalf("%s %q: %s; %v", v.Outcome, v.PendingReason, v.Reason, s)
	}
	// A person retires the other one: now it may be in force.
	active.Status = rule.Retired
	b.update(func(tx *store.Tx) error { return tx.PutRule(active) })
	if v = b.round(Options{})["r-1"]; v.Outcome != evidence.Promote {
		t.Errorf("%s %q: %s", v.Outcome, v.PendingReason, v.Reason)
	}
	if s := states(); s["r-0"] != rule.Retired || s["r-1"] != rule.Active {
		t.Errorf("%v", s)
	}
}
