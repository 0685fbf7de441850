package validate

import (
	"math/rand/v2"
	"testing"

	"vise/engine/evidence"
	"vise/engine/rule"
	"vise/store"
)

// An agent that does not start is asked once in a round, not once for every case of every
// rule; all rules stay as they are, no attempt is used up, and the round says why.
func TestAnAgentThatDoesNotStartEndsTheRound(t *testing.T) {
	const said = "the agent did not start: opencode not found"
	for _, mode := range []string{"seed", "paired", "auto"} {
		t.Run(mode, func(t *testing.T) {
			b := newBench(t, mode, func(evidence.Job, rule.Set, *rand.Rand) evidence.Run {
				return evidence.Run{Error: said, Infrastructure: "start_failed"}
			})
			for _, id := range []string{"r-2", "r-3"} {
				b.update(func(tx *store.Tx) error { return tx.PutRule(candidateOf(id)) })
			}
			rounds, err := b.v.UntilIdle(t.Context(), Options{})
			if err != nil || len(rounds) != 1 || len(b.runs) != 1 {
				t.Fatalf("%d rounds, %d starts of the agent, %v; want one of each", len(rounds), len(b.runs), err)
			}
			if told, stopped := Told(rounds); !stopped || told != "0 promoted, 3 pending: "+said {
				t.Errorf("it is told as %q, stopped %v", told, stopped)
			}
			if v := rounds[0].Verdicts; len(v) != 1 || v[0].PendingReason != evidence.Infrastructure || v[0].Reason != said {
				t.Errorf("verdicts %+v", v)
			}
			if err := b.store.View(func(tx *store.Tx) error {
				r, _, err := tx.Rule("r-1")
				if r.Status != rule.Candidate || r.Trial.ReplayAttempts != 0 {
					t.Errorf("%s after %d attempts", r.Status, r.Trial.ReplayAttempts)
				}
				return err
			}); err != nil {
				t.Fatal(err)
			}
		})
	}
	t.Run("rules in force", func(t *testing.T) {
		b := newBench(t, "paired", func(evidence.Job, rule.Set, *rand.Rand) evidence.Run {
			return evidence.Run{Error: said, Infrastructure: "start_failed"}
		})
		for _, id := range []string{"r-2", "r-3"} {
			r := candidateOf(id)
			r.Status = rule.Active
			b.update(func(tx *store.Tx) error { return tx.PutRule(r) })
		}
		round, err := b.v.Retest(t.Context(), Options{})
		if err != nil || len(b.runs) != 1 || round.Stopped != said || round.Pending != 2 || len(round.Verdicts) != 0 {
			t.Errorf("%d starts, round %+v, %v", len(b.runs), round, err)
		}
	})
}

// Told adds up what rounds did; what the last one left open is pending.
func TestToldAddsUpRounds(t *testing.T) {
	for want, rounds := range map[string][]Round{
		"no candidate is pending":            nil,
		"2 promoted, 1 retired, 1 pending":   {{Promoted: 1, Pending: 3}, {Promoted: 1, Retired: 1, Pending: 1}},
		"1 promoted, 1 confirmed, 3 pending": {{Promoted: 1, Pending: 1}, {Actives: true, Confirmed: 1, Pending: 2}},
	} {
		if said, stopped := Told(rounds); said != want || stopped {
			t.Errorf("%q, stopped %v; want %q", said, stopped, want)
		}
	}
}
