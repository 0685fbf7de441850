package tui

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"vise/engine/score"
	"vise/engine/trace"
	"vise/store"
)

// crowd fills a store with many sessions and one of many spans.
func crowd(b testing.TB, sessions, turns, spans int) *desk {
	d := newDesk(b, false)
	for from := 0; from < sessions; from += 2000 {
		if err := d.store.Bulk(b.Context(), func(tx *store.Tx) error {
			for i := from; i < min(from+2000, sessions); i++ {
				if err := tx.PutSession(trace.Session{ID: fmt.Sprintf("refund-%06d", i), Origin: trace.Recorded, Title: "a refund", Started: noon.Add(-time.Duration(i) * time.Minute)}); err != nil {
					return err
				}
			}
			return nil
		}); err != nil {
			b.Fatal(err)
		}
	}
	long := "refund-000000"
	for i := range turns {
		t := trace.Turn{SessionID: long, Index: i, TraceID: fmt.Sprintf("%s.%d", long, i), Input: "Please refund order A-1004."}
		for j := range spans {
			t.Spans = append(t.Spans, trace.Span{ID: fmt.Sprintf("s%d-%d", i, j), Kind: trace.TOOL, Name: "issue_refund", Input: `{"order_id":"A-1004"}`, Start: noon, End: noon.Add(time.Second)})
		}
		staged, err := d.store.StageTurn(b.Context(), t)
		if err != nil {
			b.Fatal(err)
		}
		half := 0.5
		if err := d.store.Bulk(b.Context(), func(tx *store.Tx) error {
			if err := tx.PutTurn(staged); err != nil {
				return err
			}
			return tx.PutReport(score.Report{SessionID: long, TurnIndex: i, Scores: []score.Score{{Metric: score.TaskCompletion, Value: &half, Threshold: 0.5, Tier: 1}}})
		}); err != nil {
			b.Fatal(err)
		}
	}
	return d
}

// BenchmarkUpdate is a cursor move among 100,000 sessions: at most 1 ms.
func BenchmarkUpdate(b *testing.B) {
	x := newBench(b, crowd(b, 100_000, 400, 500), 200, 60)
	b.ReportAllocs()
	var took []time.Duration
	for i := 0; b.Loop(); i++ {
		k := "down"
		if i%100 > 50 {
			k = "up"
		}
		began := time.Now()
		x.app.Update(press(k)) // what it asks for runs elsewhere
		took = append(took, time.Since(began))
	}
	report99(b, took)
}

// report99 adds the 99th percentile to the mean that the benchmark reports: a person
// feels the slow one.
func report99(b *testing.B, took []time.Duration) {
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)*99/100].Nanoseconds()), "p99-ns/op")
}

// BenchmarkView is the frame after a cursor move: at most 0.2 ms; and when nothing
// has changed: nothing.
func BenchmarkView(b *testing.B) {
	x := newBench(b, crowd(b, 100_000, 400, 500), 200, 60)
	b.Run("moved", func(b *testing.B) {
		b.ReportAllocs()
		var took []time.Duration
		for i := 0; b.Loop(); i++ {
			b.StopTimer()
			k := "down"
			if i%100 > 50 {
				k = "up"
			}
			x.app.Update(press(k))
			b.StartTimer()
			began := time.Now()
			x.app.View()
			took = append(took, time.Since(began))
		}
		report99(b, took)
	})
	b.Run("same", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			x.app.View()
		}
	})
}
