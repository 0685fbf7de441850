package engine

import (
	"fmt"
	"slices"
	"testing"

	"vise/engine/trace"
	"vise/store"
)

// TestPagesOfASessionWithAGap: where a turn is missing, or reads as absent since it is
// damaged, none comes twice and none behind it is left out.
func TestPagesOfASessionWithAGap(t *testing.T) {
	s, err := store.Open(t.Context(), store.Options{InMemory: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var want []int
	for i := range 40 {
		if i == 3 || i == 20 {
			continue
		}
		want = append(want, i)
		staged, err := s.StageTurn(t.Context(), trace.Turn{SessionID: "s", Index: i, Input: fmt.Sprint("in", i), TraceID: fmt.Sprint("t", i)})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Update(t.Context(), func(tx *store.Tx) error { return tx.PutTurn(staged) }); err != nil {
			t.Fatal(err)
		}
	}
	indexes := func(turns []trace.Turn) (list []int) {
		for _, x := range turns {
			list = append(list, x.Index)
		}
		return list
	}
	turns, reports, err := wholeSession(s, trace.Session{ID: "s"})
	if got := indexes(turns); err != nil || !slices.Equal(got, want) || len(reports) != len(got) {
		t.Errorf("%v, %d reports, %v", got, len(reports), err)
	}
	if err := s.View(func(tx *store.Tx) error {
		before, err := tx.TurnsBefore("s", 1, 5)
		if got := indexes(before); !slices.Equal(got, []int{1, 2, 4}) {
			t.Errorf("turns 1 to 4: %v", got)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
}
