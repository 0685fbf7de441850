package tui

import (
	"fmt"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"vise/engine/event"
	"vise/engine/trace"
	"vise/store"
)

// step is what an agent tells of its nth step.
func step(session string, n int) event.Event {
	return event.Event{Type: event.SpanProgress, At: noon, SessionID: session, TurnIndex: event.Turn(0),
		Data: map[string]any{"span": trace.Span{ID: fmt.Sprint("sp-", n), Kind: trace.TOOL, Name: fmt.Sprintf("step%d.", n), Output: "ok"}}}
}

// A turn that is at work is seen from its first step on, whenever a person comes to look:
// also one who looked at another session meanwhile.
func TestLiveTraceIsKept(t *testing.T) {
	b := newBench(t, worked(t), 120, 40)
	screen := func() string { return ansi.Strip(strings.Join(b.frame(), "\n")) }
	sees := func(want ...string) {
		t.Helper()
		for _, x := range want {
			if s := screen(); !strings.Contains(s, x) {
				t.Fatalf("no %q on the screen:\n%s", x, s)
			}
		}
	}
	live := "s-run"
	b.app.ctx.Scope.Session, b.app.ctx.Scope.Turn = live, NoTurn
	b.send(feedMsg{events: []event.Event{{Type: event.AgentStarted, At: noon, SessionID: live}}})
	sees("Its steps appear as it makes them.", "Its turns appear as it works on them.")
	b.send(feedMsg{events: []event.Event{step(live, 0), step(live, 1)}})
	sees("step0.", "step1.", "2 calls")

	b.app.ctx.Scope.Session, b.app.ctx.Scope.Turn = "s-0001", NoTurn
	b.send(feedMsg{events: []event.Event{step(live, 2)}})
	b.send(feedMsg{events: []event.Event{step(live, 3)}})
	b.app.ctx.Scope.Session, b.app.ctx.Scope.Turn = live, NoTurn
	b.send(feedMsg{events: []event.Event{step(live, 4)}})
	sees("step0.", "step1.", "step2.", "step3.", "step4.", "5 calls", "running")

	b.press("3", "home")
	b.send(feedMsg{events: []event.Event{step(live, 5), step(live, 6), step(live, 5)}})
	sees("step6.", "▼ 2 new  7 calls")
	b.press("end")
	sees("7 calls")
	if strings.Contains(screen(), "new  7 calls") {
		t.Error("what was gone to is still told as new")
	}
	b.send(feedMsg{events: []event.Event{{Type: event.AgentExited, At: noon, SessionID: live}}})
	if n := len(b.app.ctx.Live.turns) + len(b.app.ctx.Live.sessions); n > 0 {
		t.Errorf("%d things of a run that has ended are kept", n)
	}
}

// A batch of many spans lays the tree out once.
func BenchmarkLiveTrace(b *testing.B) {
	x := newBench(b, worked(b), 120, 40)
	x.app.ctx.Scope.Session, x.app.ctx.Scope.Turn = "s-run", 0
	var m feedMsg
	for n := range 4096 {
		m.events = append(m.events, step("s-run", n))
	}
	x.send(m)
	b.ReportAllocs()
	for b.Loop() {
		x.app.Update(m)
		x.app.View()
	}
}

// A filter asks each state of a span once, however often rows are laid out; one whose text
// has grown is asked again.
func TestTraceFilterFollowsLiveSpans(t *testing.T) {
	b := newBench(t, worked(t), 120, 40)
	b.app.ctx.Scope.Session, b.app.ctx.Scope.Turn = "s-run", 0
	b.send(feedMsg{events: []event.Event{step("s-run", 0), step("s-run", 1)}})
	p := b.app.panes[PaneTrace].(*tracePane)
	p.Filter(b.app.ctx, "zebra")
	if p.list.Len() != 0 || len(p.passed) != 2 {
		t.Fatalf("%d rows pass, %d were asked", p.list.Len(), len(p.passed))
	}
	grown := step("s-run", 1)
	s := grown.Data["span"].(trace.Span)
	s.Output = "a zebra"
	grown.Data["span"] = s
	b.send(feedMsg{events: []event.Event{grown}})
	if p.list.Len() != 1 || len(p.passed) != 3 {
		t.Errorf("%d rows pass, %d were asked", p.list.Len(), len(p.passed))
	}
}

// A call that is shown while it runs is shown from its start once the turn is stored: on a
// slow machine the detail had followed the end of what came.
func TestStoredSpanIsShownFromItsStart(t *testing.T) {
	d := newDesk(t, false)
	d.size(PaneTrace, 80, 24)
	d.ctx.Scope.Session, d.ctx.Scope.Turn = "s-run", 0
	d.apply(Change{})
	call := trace.Span{ID: "sp-1", Kind: trace.TOOL, Name: "search", Input: `{"query":"first"}`}
	tell := func() {
		d.bus.Publish(event.Event{Type: event.SpanProgress, At: noon, SessionID: "s-run", TurnIndex: event.Turn(0), Data: map[string]any{"span": call}})
		d.pump()
	}
	tell()
	d.sees(PaneTrace, `"query": "first"`)
	call.Output, call.Error = strings.Repeat("a line of the answer\n", 200), "it failed"
	tell()
	turn := trace.Turn{SessionID: "s-run", TraceID: "s-run.0", Input: "go", Spans: []trace.Span{call}}
	staged, err := d.store.StageTurn(t.Context(), turn)
	if err != nil {
		t.Fatal(err)
	}
	d.put(func(tx *store.Tx) error {
		if err := tx.PutSession(trace.Session{ID: "s-run", Origin: trace.Recorded, Started: noon}); err != nil {
			return err
		}
		if err := tx.PutTurn(staged); err != nil {
			return err
		}
		return tx.Emit(event.Event{Type: event.TurnReplayed, At: noon, SessionID: "s-run", TurnIndex: event.Turn(0)})
	})
	d.pump()
	d.sees(PaneTrace, `"query": "first"`)
}
