package tui

import (
	"slices"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"vise/engine/event"
	"vise/engine/repair"
	"vise/engine/rule"
	"vise/store"
)

// A rule that evidence has judged is not validated again: the key says why, and
// nothing waits in Attention for it.
func TestValidateJudgedRule(t *testing.T) {
	b := newBench(t, worked(t), 160, 40)
	p := b.app.panes[PaneRules].(*rulesPane)
	rules := p.list.Items()
	if len(rules) != 1 {
		t.Fatalf("rules %+v, want one", rules)
	}
	judged := rules[0]
	judged.Status = rule.Active
	b.put(func(tx *store.Tx) error { return tx.PutRule(judged) })
	b.run(b.app.apply(Change{Reload: true}))
	b.app.ctx.Scope.Rule = rules[0].ID
	b.send(nil)
	b.press("V")
	if said := b.app.toast.text; !strings.Contains(said, "is active: only candidates are validated") {
		t.Errorf("V says %q", said)
	}
	if n := len(b.app.ctx.Incidents); n > 0 || b.app.conductor.Running().Kind != Idle {
		t.Errorf("%d incidents, running %+v", n, b.app.conductor.Running())
	}
}

// While a repair is held nothing else starts, and the keys say what goes on.
func TestHeldRepairKeepsOthersOut(t *testing.T) {
	b := newBench(t, worked(t), 160, 40)
	b.app.ctx.Scope.Session, b.app.ctx.Held = "s-0001", &Held{}
	for _, k := range []string{"r", "v", "V"} {
		b.press(k)
		if said := b.app.toast.text; said != "a repair is held: s steps, c continues, x cancels it" {
			t.Errorf("%s says %q", k, said)
		}
	}
}

// What has ended is counted; only a place is named by its index.
func TestProgressText(t *testing.T) {
	turn := 1
	p := progress{}
	p.take(event.Event{Type: event.AgentStarted, SessionID: "s-1", Data: map[string]any{"turns": 3}})
	p.take(event.Event{Type: event.SpanProgress, SessionID: "s-1", TurnIndex: &turn})
	replay := Activity{Kind: Replaying, Session: "s-1", Since: noon}
	if got, want := p.text(replay, nil, 6, noon), "replaying  s-1 1 of 3 turns done  0 s"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	p.take(event.Event{Type: event.TurnReplayed, SessionID: "s-1", TurnIndex: &turn})
	if got, want := p.text(replay, nil, 6, noon), "replaying  s-1 2 of 3 turns done  0 s"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	p.take(event.Event{Type: event.RepairStarted, EpisodeID: "e-1"})
	if got, want := p.text(replay, nil, 6, noon), "repairing  model turn 1/6  0 s  e-1"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// The box of the commands stays where it is while matches shrink, and the reason of
// the one under the cursor is told in full.
func TestPaletteKeepsItsPlace(t *testing.T) {
	b := newBench(t, worked(t), 120, 40)
	edge := func() int {
		return slices.IndexFunc(b.frame(), func(row string) bool { return strings.Contains(ansi.Strip(row), "─ commands ─") })
	}
	b.press(":")
	want := edge()
	for _, k := range "retire" {
		b.press(string(k))
		if got := edge(); got != want {
			t.Fatalf("after %q the box is at row %d, was at %d", string(k), got, want)
		}
	}
	b.press("esc", ":")
	for _, k := range "continue" {
		b.press(string(k))
	}
	if screen := ansi.Strip(strings.Join(b.frame(), "\n")); !strings.Contains(screen, "no repair is held ") {
		t.Errorf("the reason is not told in full:\n%s", screen)
	}
}

// A repair that is cancelled in its last model turn ended in that one.
func TestCancelledTurn(t *testing.T) {
	d := newDesk(t, true)
	d.size(PaneRepair, 100, 30)
	ended := make(chan error, 1)
	go func() { ended <- d.live(t.Context(), "s-live") }()
	h := d.held()
	for h.Point != repair.BeforeResolve {
		d.hold.Step()
		h = d.held()
	}
	d.hold.Cancel()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	d.pump()
	d.sees(PaneRepair, "cancelled  model turn "+itoa(h.Turn)+"/6")
}

// A patch loop that runs is stopped, and can be taken up; other work is cancelled.
func TestWhatIsSaidOfWorkThatWasEnded(t *testing.T) {
	for kind, want := range map[ActivityKind]string{Mending: "the patch loop was stopped", Replaying: "the replay was cancelled"} {
		a := &App{}
		a.toast.text = cancelling(kind)
		if a.ended(Activity{Kind: kind}); a.toast.text != want {
			t.Errorf("%s: %q, want %q", kind, a.toast.text, want)
		}
	}
}
