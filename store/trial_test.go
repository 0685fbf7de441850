package store

import (
	"fmt"
	"testing"
	"time"

	"vise/engine/evidence"
	"vise/engine/rule"
)

var start = time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)

// A kind byte that two tables share would mix their records.
func TestKindsAreDistinct(t *testing.T) {
	seen := map[byte]string{}
	for _, x := range tables {
		if other, ok := seen[x.kindByte()]; ok {
			t.Errorf("%s and %s share the kind %q", other, x.label(), x.kindByte())
		}
		seen[x.kindByte()] = x.label()
	}
}

func TestPairedTests(t *testing.T) {
	s := memory(t, Options{})
	id := evidence.Identity{Agent: "a", Evaluator: "e", Seed: 1}
	update(t, s, func(tx *Tx) error {
		for i := range 2 {
			if err := tx.PutTest(evidence.Test{ID: fmt.Sprint("t", i), RuleID: "r-1", Started: start.Add(time.Duration(i) * time.Hour), Identity: id}); err != nil {
				return err
			}
		}
		for _, n := range []int{10, 2, 1} {
			if err := tx.PutPair(evidence.Pair{TestID: "t1", RuleID: "r-1", CaseID: "c", Number: n}); err != nil {
				return err
			}
		}
		return tx.PutIdentity(id)
	})
	view(t, s, func(tx *Tx) error {
		list, err := tx.Tests("r-1")
		if err != nil || len(list) != 2 || list[1].ID != "t1" || list[1].Identity != id {
			t.Errorf("tests %+v, %v", list, err)
		}
		pairs, err := tx.Pairs("t1")
		if err != nil || len(pairs) != 3 || pairs[0].Number != 1 || pairs[2].Number != 10 {
			t.Errorf("pairs %+v, %v", pairs, err)
		}
		n, err := tx.CountTests()
		if err != nil || n != 2 {
			t.Errorf("%d tests, %v", n, err)
		}
		return nil
	})
	sound(t, s)
}

// Old banks of control runs go; the newest stay whole.
func TestControlBanks(t *testing.T) {
	s := memory(t, Options{})
	update(t, s, func(tx *Tx) error {
		for b := range maxBanks + 2 {
			for n := range 3 {
				if err := tx.PutControl(evidence.Control{Bank: fmt.Sprint("b", b), CaseID: "c", Number: n + 1}); err != nil {
					return err
				}
			}
		}
		return nil
	})
	view(t, s, func(tx *Tx) error {
		for b := range maxBanks + 2 {
			for n := range 3 {
				_, ok, err := tx.Control(fmt.Sprint("b", b), "c", n+1)
				if err != nil {
					return err
				}
				if want := b >= 2; ok != want {
					t.Errorf("run %d of bank %d is kept: %v", n+1, b, ok)
				}
			}
		}
		return nil
	})
	sound(t, s)
}

// A verdict expires with what it rests on, not with the rule it made active.
func TestExpired(t *testing.T) {
	s := memory(t, Options{})
	id := evidence.Identity{Agent: "a", Evaluator: "e", Seed: 1, Rules: evidence.RulesDigest(nil, "")}
	r := ruleOf(1)
	r.Status, r.VerdictID = rule.Active, "v-1"
	expired := func(want bool) {
		t.Helper()
		view(t, s, func(tx *Tx) error {
			why, err := tx.Expired(r)
			if (why != "") != want {
				t.Errorf("expired %q, want %v", why, want)
			}
			return err
		})
	}
	update(t, s, func(tx *Tx) error {
		if err := tx.PutVerdict(evidence.Verdict{ID: "v-1", RuleID: r.ID, At: start, Outcome: evidence.Promote, Identity: &id}); err != nil {
			return err
		}
		return tx.PutRule(r)
	})
	expired(false) // nothing has run since
	update(t, s, func(tx *Tx) error { return tx.PutIdentity(id) })
	expired(false)
	other := ruleOf(2)
	other.Status = rule.Active
	update(t, s, func(tx *Tx) error { return tx.PutRule(other) })
	expired(true)
	other.Status = rule.Retired
	update(t, s, func(tx *Tx) error { return tx.PutRule(other) })
	expired(false)
	view(t, s, func(tx *Tx) error {
		now := id
		now.Evaluator, now.Seed = "edited", 2
		why, err := tx.ExpiredFor(now, []rule.Rule{r})
		if why[r.ID] != "the evaluator changed, validate.seed changed" {
			t.Errorf("expired for what would run now: %q", why[r.ID])
		}
		return err
	})
	id.Agent = "another"
	update(t, s, func(tx *Tx) error { return tx.PutIdentity(id) })
	expired(true)
}
