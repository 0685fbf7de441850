package tui

import (
	"fmt"
	"strings"
	"testing"

	"vise/engine"
	"vise/engine/event"
	"vise/engine/trace"
	"vise/store"
	"vise/tui/action"
)

// Offers beyond the first are a row of their own that Enter opens; what Y copies prints
// what the row shows.
func TestOffersAreOpened(t *testing.T) {
	b := newBench(t, newDesk(t, false), 160, 50)
	b.write(func(tx *store.Tx) error {
		var list []engine.Offer
		for i := range 40 {
			id := fmt.Sprintf("s-%04d", i)
			if err := tx.PutSession(trace.Session{ID: id, Origin: trace.Live, Started: noon}); err != nil {
				return err
			}
			list = append(list, engine.Offer{SessionID: id, At: "2026-03-16T11:58:00Z"})
		}
		if err := tx.PutState("offers", list); err != nil {
			return err
		}
		return tx.Emit(event.Event{Type: event.WinOffered, SessionID: "s-0000"})
	})
	b.pumpApp()
	p := b.app.panes[PaneAttention].(*attentionPane)
	b.step("8", "g")
	b.screenHas("session s-0000 ended well", "session s-0002 ended well", "37 more sessions ended", "enter names them")
	if strings.Contains(b.screen(), "s-0003") {
		t.Error("the fourth is named")
	}
	if p.Headless() != "vise cases offers" {
		t.Errorf("Y on an offer copies %q", p.Headless())
	}
	b.step("G")
	if !p.counts() || !b.app.live(action.Into) {
		t.Fatalf("the last row is %+v", p.items[p.cursor])
	}
	b.step("enter")
	if n := len(p.items); n != 24 || p.items[22].SessionID != "s-0022" || !strings.HasPrefix(p.items[23].Text, "17 more sessions") {
		t.Errorf("%d rows, the last %+v", n, p.items[n-1])
	}
	if b.step("G", "enter"); len(p.items) != 40 || p.counts() {
		t.Errorf("%d rows, the last %+v", len(p.items), p.items[len(p.items)-1])
	}
}

// Every kind of row has a command that prints it.
func TestAttentionRowsHaveTheirCommand(t *testing.T) {
	for want, x := range map[string]AttentionItem{
		"vise logs --level error":                     {Kind: "incident"},
		"vise episodes show e-1":                      {Kind: "failed", EpisodeID: "e-1", NoticeID: "n-1"},
		"vise notices show n-1":                       {Kind: "needs_human", NoticeID: "n-1"},
		"vise notices ls --pending":                   {Kind: "needs_human"},
		"vise store verify":                           {Kind: "quarantine"},
		"vise journal --type budget_stopped --last 1": {Kind: "budget"},
		"vise rules show r-1":                         {Kind: "candidates", RuleID: "r-1"},
		"vise patch show run-1":                       {Kind: "patch", RunID: "run-1"},
		"vise attention":                              {Kind: "paused"},
	} {
		if got := x.command(); got != want {
			t.Errorf("%s: %q, want %q", x.Kind, got, want)
		}
	}
}

// Y and L on a row of the journal are about that event, and the link comes back to it,
// also when it is not loaded and the journal shows something else.
func TestJournalRowsAreAddressed(t *testing.T) {
	b := newBench(t, newDesk(t, false), 160, 50)
	b.write(func(tx *store.Tx) error {
		for range 1200 {
			if err := tx.Emit(event.Event{Type: event.Health, Data: map[string]any{"what": "x"}}); err != nil {
				return err
			}
		}
		return nil
	})
	b.pumpApp()
	p := b.app.journal()
	b.step("9", "G", "k")
	seq := p.list.Key()
	if got := p.Headless(); got != "vise journal --event "+seq {
		t.Errorf("Y copies %q", got)
	}
	l, ok := b.app.link()
	if !ok || l.String() != "vise://event/"+seq+"?pane=journal" {
		t.Errorf("the link is %s", l)
	}
	b.step(" ", "D", "1")
	if p.topic == 0 {
		t.Fatal("the journal shows all kinds of events")
	}
	for _, to := range []string{seq, "3", "500", "1200"} {
		b.run(b.app.openLink("vise://event/" + to))
		if b.pumpApp(); p.list.Key() != to || b.app.focus != PaneJournal {
			t.Errorf("the link to %s went to %s in %s", to, p.list.Key(), b.app.focus)
		}
	}
	b.step("k", "k")
	if p.list.Key() != "1198" {
		t.Errorf("two rows above 1200 is %s", p.list.Key())
	}
	b.run(b.app.openLink("vise://event/9999"))
	b.screenHas("this project has no event/9999")
}

// write changes the store and lets the app see it.
func (b *bench) write(fn func(*store.Tx) error) {
	b.t.Helper()
	if err := b.store.Update(b.t.Context(), fn); err != nil {
		b.t.Fatal(err)
	}
	b.pumpApp()
}
