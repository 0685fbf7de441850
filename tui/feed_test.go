package tui

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	tea "charm.land/bubbletea/v2"

	"vise/engine/event"
	"vise/engine/trace"
)

// The first event of a burst comes at once, the rest as one message per 33 ms, in
// order; a flood says that it lost something instead of growing.
func TestFeed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		bus := event.NewBus()
		type got struct {
			at time.Duration
			m  feedMsg
		}
		begin := time.Now()
		var all []got
		done := make(chan struct{})
		go func() {
			defer close(done)
			feed(ctx, bus.Subscribe(feedSize), feedEvery, func(m tea.Msg) { all = append(all, got{time.Since(begin), m.(feedMsg)}) })
		}()
		synctest.Wait()
		seq := uint64(0)
		for range 1000 { // a thousand a second
			seq++
			bus.Publish(event.Event{Seq: seq, Type: event.TurnReplayed})
			time.Sleep(time.Millisecond)
		}
		time.Sleep(feedEvery)
		synctest.Wait()
		if len(all) == 0 || all[0].at != 0 || len(all[0].m.events) != 1 {
			t.Fatalf("the first event did not come at once: %+v", all[:min(1, len(all))])
		}
		if len(all) > 1000/33+2 {
			t.Errorf("%d messages in a second", len(all))
		}
		next := uint64(1)
		for _, g := range all {
			for _, e := range g.m.events {
				if e.Seq != next {
					t.Fatalf("event %d came, want %d", e.Seq, next)
				}
				next++
			}
		}
		if next != 1001 {
			t.Errorf("%d of 1000 events came", next-1)
		}
		for range 3 * feedSize {
			seq++
			bus.Publish(event.Event{Seq: seq, Type: event.TurnReplayed})
		}
		time.Sleep(2 * feedEvery)
		synctest.Wait()
		if last := all[len(all)-1].m; !last.lost || len(last.events) > feedSize {
			t.Errorf("after a flood: lost %v with %d events", last.lost, len(last.events))
		}
		stop()
		<-done
	})
}

// BenchmarkFeed is what a 33 ms batch at 1,000 events a second costs on the update
// goroutine, its frame included: 30 of these are a second's work.
func BenchmarkFeed(b *testing.B) {
	x := newBench(b, crowd(b, 1000, 10, 50), 200, 60)
	x.app.ctx.Scope.Session, x.app.ctx.Scope.Turn = "refund-000000", 9
	x.send(nil)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		var m feedMsg
		for j := range 33 {
			e := event.Event{At: noon, Type: event.SpanProgress, SessionID: "refund-000000", TurnIndex: event.Turn(10),
				Data: map[string]any{"span": trace.Span{ID: fmt.Sprint(j), Kind: trace.TOOL, Name: "issue_refund"}}}
			if j%8 == 0 {
				e = event.Event{Seq: uint64(i*100 + j + 1), At: noon, Type: event.RepairToolCall, SessionID: "refund-000000", EpisodeID: "e-1"}
			}
			m.events = append(m.events, e)
		}
		x.app.Update(m)
		x.app.View()
	}
}
