package engine_test

import (
	"context"
	"testing"

	"vise/engine"
	"vise/engine/event"
	"vise/engine/evidence"
	"vise/engine/trace"
	"vise/store"
)

// A session is offered as a win when it ends quietly after it, or an earlier run of
// the same inputs, had alerted; not while it alerts, not when nothing ever went wrong.
func TestWinsAreOffered(t *testing.T) {
	p := open(t, nil)
	n := 0
	play := func(id, of string, turns ...trace.Turn) {
		t.Helper()
		n++
		s := trace.Session{ID: id, Origin: trace.Live, Source: "acp", ReplayOf: of, Started: p.now}
		if err := p.BeginSession(t.Context(), s, event.Event{Type: event.AgentStarted, SessionID: id}); err != nil {
			t.Fatal(err)
		}
		for i, turn := range turns {
			turn.SessionID, turn.Index = id, i
			p.end(turn)
		}
		if err := p.EndSession(t.Context(), s, event.Event{Type: event.AgentExited, SessionID: id}); err != nil {
			t.Fatal(err)
		}
	}
	offered := func() (ids []string) {
		t.Helper()
		p.view(func(tx *store.Tx) error {
			list, err := engine.Offers(tx)
			for _, o := range list {
				ids = append(ids, o.SessionID)
			}
			return err
		})
		return ids
	}
	expect := func(want ...string) {
		t.Helper()
		got := offered()
		if len(got) != len(want) {
			t.Fatalf("offers %v, want %v", got, want)
		}
		for i := range got {
			if got[i] != want[i] {
				t.Fatalf("offers %v, want %v", got, want)
			}
		}
	}
	play("calm", "a", good("q", 0), good("q", 1))
	expect()
	play("fails", "b", good("b", 0), bad("b", 1))
	expect()
	play("mended", "b", good("b", 0), good("b", 1))
	expect("mended")
	play("again", "b", good("b", 0), good("b", 1)) // the same inputs: the newest run is offered
	expect("again")
	refused, unknown := good("r", 1), good("r", 1)
	refused.StopReason, unknown.StopReason = "refusal", "banana"
	play("alerts", "r", good("r", 0), bad("r", 1))
	play("refused", "r", good("r", 0), refused) // quiet, but it did not do what it was asked
	play("unknown", "r", good("r", 0), unknown)
	expect("again")
	play("recovers", "", good("c", 0), bad("c", 1), good("c", 4))
	expect("recovers", "again")

	// Protecting accepts the offer for all runs of the inputs, dismissing declines this one.
	if _, err := p.ProtectCase(context.Background(), "again", -1, false); err != nil {
		t.Fatal(err)
	}
	expect("recovers")
	play("third", "b", good("b", 0), good("b", 1))
	expect("recovers")
	if err := p.DismissOffer(t.Context(), "recovers"); err != nil {
		t.Fatal(err)
	}
	if err := p.DismissOffer(t.Context(), "recovers"); err == nil {
		t.Error("an offer is dismissed twice")
	}
	expect()
	p.view(func(tx *store.Tx) error {
		wins, err := tx.Cases(evidence.Win)
		last, _ := tx.LastEvents(10, event.WinOffered)
		if len(wins) != 1 || len(last) != 3 {
			t.Errorf("%d wins, %d offers journalled", len(wins), len(last))
		}
		return err
	})
}
