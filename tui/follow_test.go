package tui

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"vise/engine/event"
)

// What ran is over, and the next thing runs, before the batch with its events is
// read: they are followed as its own all the same, and events of others are not.
func TestEventsOfAShortRunAreFollowed(t *testing.T) {
	b := newBench(t, newDesk(t, false), 118, 34)
	synctest.Test(t, func(t *testing.T) {
		c, out := conducted(t.Context(), func(context.Context, string) error { time.Sleep(time.Millisecond); return nil })
		b.app.conductor, b.app.ctx.During = c, c.During
		started := func(at time.Time) event.Event { return event.Event{At: at, Type: event.PatchStarted, RunID: "run-2"} }
		do := func(kind ActivityKind) (during time.Time) {
			if err := c.start(Activity{Kind: kind, Run: "run-1"}, func(context.Context) error { time.Sleep(time.Millisecond); return nil }); err != nil {
				t.Fatal(err)
			}
			during = time.Now()
			time.Sleep(time.Second)
			<-out
			<-out
			return during
		}
		follows := func(at time.Time) bool {
			b.app.follow, b.app.ctx.Scope.Run = true, "run-1"
			b.app.followEvent(started(at))
			return b.app.ctx.Scope.Run == "run-2"
		}
		before := time.Now()
		time.Sleep(time.Second)
		mended := do(Mending)
		if !follows(mended) {
			t.Error("the run of a loop that is over by now is not followed")
		}
		verified := do(Validating)
		if !follows(mended) {
			t.Error("nor once something else has run")
		}
		for name, at := range map[string]time.Time{"before": before, "after it": mended.Add(500 * time.Millisecond), "during a validation": verified} {
			if follows(at) {
				t.Errorf("a run of somebody else, %s, is followed", name)
			}
		}
		for range 2 * pastMost {
			do(Replaying)
		}
		if len(c.past) != pastMost {
			t.Errorf("%d ended activities are kept, want %d", len(c.past), pastMost)
		}
	})
}

// The header tells of what runs now, in whatever order the word of an end and the events
// of before it come: the two are sent by two goroutines.
func TestLateEventsAreNoProgress(t *testing.T) {
	b := newBench(t, newDesk(t, false), 118, 34)
	synctest.Test(t, func(t *testing.T) {
		c, out := conducted(t.Context(), func(context.Context, string) error { return nil })
		b.app.conductor, b.app.ctx.During = c, c.During
		run := func(kind ActivityKind, d time.Duration) {
			if err := c.start(Activity{Kind: kind}, func(context.Context) error { time.Sleep(d); return nil }); err != nil {
				t.Fatal(err)
			}
		}
		first := []event.Event{{Type: event.RepairStarted, EpisodeID: "e-1"}, {Type: event.AgentStarted, SessionID: "s-1", Data: map[string]any{"turns": 3}}}
		run(Replaying, time.Second)
		time.Sleep(time.Millisecond)
		for i := range first {
			first[i].At = time.Now()
		}
		begun := <-out
		b.app.Update(begun)
		time.Sleep(time.Minute)
		over := <-out
		b.app.Update(over)
		b.app.Update(feedMsg{events: first})
		if p := b.app.progress; p.episode != "" || p.session != "" {
			t.Errorf("what is over is told as going on: %+v", p)
		}

		run(Replaying, time.Hour)
		time.Sleep(time.Millisecond)
		b.app.Update(feedMsg{events: []event.Event{{Type: event.AgentStarted, At: time.Now(), SessionID: "s-2", Data: map[string]any{"turns": 4}}}})
		b.app.Update(over) // the word of the end before is late
		b.app.Update(feedMsg{events: first})
		if p := b.app.progress; p.session != "s-2" || p.turns != 4 || p.episode != "" {
			t.Errorf("the progress of what runs is %+v", p)
		}
		c.Cancel()
		time.Sleep(2 * time.Hour)
		for len(out) > 0 {
			<-out
		}
	})
}
