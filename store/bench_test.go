package store

import (
	"context"
	"fmt"
	"testing"
	"time"

	"vise/engine/event"
	"vise/engine/rule"
	"vise/engine/trace"
)

func BenchmarkUpdateTurn(b *testing.B) {
	s := disk(b, b.TempDir())
	ctx := context.Background()
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		staged, err := s.StageTurn(ctx, turnOf("s", i, 40))
		if err != nil {
			b.Fatal(err)
		}
		err = s.Update(ctx, func(tx *Tx) error {
			if err := tx.PutTurn(staged); err != nil {
				return err
			}
			return tx.Emit(event.Event{Type: event.TurnReplayed, SessionID: "s", TurnIndex: event.Turn(i)})
		})
		if err != nil {
			b.Fatal(err)
		}
	}
}

// fill calls put for 0..n-1 in transactions of batch.
func fill(b *testing.B, s *Store, n, batch int, put func(*Tx, int) error) {
	b.Helper()
	for first := 0; first < n; first += batch {
		err := s.Bulk(context.Background(), func(tx *Tx) error {
			for i := first; i < min(first+batch, n); i++ {
				if err := put(tx, i); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkSessionsWindow(b *testing.B) {
	n := 100_000
	if testing.Short() {
		n = 2_000
	}
	s := disk(b, b.TempDir())
	fill(b, s, n, 1000, func(tx *Tx, i int) error {
		return tx.PutSession(trace.Session{ID: fmt.Sprintf("s%06d", i), Origin: trace.Recorded, Started: time.Unix(int64(i), 0)})
	})
	b.ReportAllocs()
	for b.Loop() {
		err := s.View(func(tx *Tx) error {
			list, err := tx.Sessions(Window{After: fmt.Sprintf("s%06d", n/2), Limit: 50})
			if len(list) != 50 {
				b.Fatalf("%d sessions", len(list))
			}
			return err
		})
		if err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkEventsAfter(b *testing.B) {
	n := 1_000_000
	if testing.Short() {
		n = 10_000
	}
	s := disk(b, b.TempDir())
	fill(b, s, n, 2000, func(tx *Tx, i int) error {
		return tx.Emit(event.Event{Type: event.TurnReplayed, SessionID: fmt.Sprint("s", i%1000), TurnIndex: event.Turn(i)})
	})
	b.ReportAllocs()
	for b.Loop() {
		err := s.View(func(tx *Tx) error {
			list, err := tx.Events(uint64(n/2), 100, EventFilter{})
			if len(list) != 100 {
				b.Fatalf("%d events", len(list))
			}
			return err
		})
		if err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkRulesWithTokens(b *testing.B) {
	n := 100_000
	if testing.Short() {
		n = 2_000
	}
	s := disk(b, b.TempDir())
	fill(b, s, n, 300, func(tx *Tx, i int) error { return tx.PutRule(ruleOf(i)) })
	b.ReportAllocs()
	for b.Loop() {
		err := s.View(func(tx *Tx) error {
			list, err := tx.RulesWithTokens([]string{"word7", "word1234", "nothing"}, rule.Candidate, rule.Active)
			if len(list) != 2 {
				b.Fatalf("%d rules", len(list))
			}
			return err
		})
		if err != nil {
			b.Fatal(err)
		}
	}
}
