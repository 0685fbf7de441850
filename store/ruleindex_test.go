package store

import (
	"errors"
	"fmt"
	"testing"

	"vise/engine/rule"
)

// TestSearchSeesItsOwnSnapshot: the index in memory is used only by transactions that
// see the very rules that it was made of.
func TestSearchSeesItsOwnSnapshot(t *testing.T) {
	s := memory(t, Options{})
	found := func(tx *Tx) string {
		t.Helper()
		hits, err := rule.Search(tx, "issue_refund", 10)
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint(hitIDs(hits))
	}
	add := func(i int) {
		update(t, s, func(tx *Tx) error { return tx.PutRule(ruleOf(i)) })
	}
	add(1)
	view(t, s, func(tx *Tx) error { found(tx); return nil }) // the first question is answered by reading
	view(t, s, func(old *Tx) error {
		if got := found(old); got != "[r-0001]" || s.ruleIndex.postings == nil {
			t.Errorf("at first: %s, with an index: %v", got, s.ruleIndex.postings != nil)
		}
		add(2)
		if got := found(old); got != "[r-0001]" {
			t.Errorf("the older view sees %s", got)
		}
		view(t, s, func(tx *Tx) error {
			if got := found(tx); got != "[r-0002 r-0001]" {
				t.Errorf("a new view sees %s", got)
			}
			return nil
		})
		return nil
	})
	update(t, s, func(tx *Tx) error {
		if err := tx.PutRule(ruleOf(3)); err != nil {
			return err
		}
		if got := found(tx); got != "[r-0003 r-0002 r-0001]" {
			t.Errorf("what it has written itself: %s", got)
		}
		return nil
	})
	retired := ruleOf(2)
	retired.Status = rule.Retired
	_ = s.Update(t.Context(), func(tx *Tx) error {
		if err := tx.PutRule(retired); err != nil {
			t.Error(err)
		}
		return fmt.Errorf("no")
	})
	view(t, s, func(tx *Tx) error {
		if got := found(tx); got != "[r-0003 r-0002 r-0001]" {
			t.Errorf("after a change that failed: %s", got)
		}
		return nil
	})
	update(t, s, func(tx *Tx) error { return tx.PutRule(retired) })
	view(t, s, func(tx *Tx) error {
		if got := found(tx); got != "[r-0003 r-0001]" {
			t.Errorf("after a retirement: %s", got)
		}
		return nil
	})
}

// TestContradictionIsFoundBehindTheIndex: a rule of another scope says the opposite,
// whether the index in memory is there yet or not.
func TestContradictionIsFoundBehindTheIndex(t *testing.T) {
	s := memory(t, Options{})
	by := rule.Rule{ID: "b", CreatedAt: "2026-01-02T00:00:00.000000000Z", Text: "Never retry the payment call on error 429", Scope: "payments",
		Applicability: rule.Topical, Status: rule.Candidate}
	update(t, s, func(tx *Tx) error {
		return errors.Join(tx.PutRule(by), tx.PutRule(rule.Rule{ID: "a", CreatedAt: "2026-01-01T00:00:00.000000000Z", Text: "Always retry the payment call on error 429",
			Scope: "global", Applicability: rule.Global, Status: rule.Active}))
	})
	for i := range 4 {
		if err := s.View(func(tx *Tx) error {
			_, err := rule.Comparable(tx, by) // makes the index
			if err != nil {
				return err
			}
			other, _, ok, err := rule.Contradicted(tx, by)
			if !ok || other.ID != "a" {
				t.Errorf("question %d: %v, %q", i, ok, other.ID)
			}
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
}
