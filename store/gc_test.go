package store

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"vise/engine/trace"
)

// TestCollectingBesideAWriter: a turn whose content was written ahead is put while garbage
// is collected, and keeps it.
func TestCollectingBesideAWriter(t *testing.T) {
	const turns = 40
	s := disk(t, t.TempDir())
	var collector sync.WaitGroup
	stop := make(chan struct{})
	collector.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			if _, err := s.GC(t.Context()); err != nil {
				t.Error(err)
				return
			}
		}
	})
	r := rand.New(rand.NewPCG(1, 1))
	for i := range turns {
		turn := trace.Turn{SessionID: "s", Index: i, TraceID: fmt.Sprint("t", i), Input: "x"}
		for k := range 20 {
			var b strings.Builder
			for b.Len() < 14_000 {
				fmt.Fprintf(&b, "%x", r.Uint64())
			}
			turn.Spans = append(turn.Spans, trace.Span{ID: fmt.Sprint(i, "-", k), Kind: trace.TOOL, Name: "x", Output: b.String()})
		}
		staged := stage(t, s, turn)
		if !staged.marked {
			t.Fatal("the turn was not written ahead")
		}
		if err := s.Bulk(t.Context(), func(tx *Tx) error { return tx.PutTurn(staged) }); err != nil {
			t.Fatal(err)
		}
	}
	close(stop)
	collector.Wait()
	if err := s.View(func(tx *Tx) error {
		for i := range turns {
			if _, ok, err := tx.Turn("s", i); err != nil || !ok {
				return fmt.Errorf("turn %d: %v, %w", i, ok, err)
			}
		}
		return nil
	}); err != nil {
		t.Error(err)
	}
}
