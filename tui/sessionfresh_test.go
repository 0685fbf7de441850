package tui

import (
	"testing"

	"vise/engine/event"
	"vise/engine/score"
	"vise/engine/trace"
	"vise/store"
)

// What one session does reads its own row again, and no other.
func TestOneSessionsNewsReadsOneRow(t *testing.T) {
	d := newDesk(t, false)
	d.size(PaneSessions, 60, 10)
	var turns []store.Staged
	for _, id := range []string{"s-a", "s-b", "s-c"} {
		turn, err := d.store.StageTurn(t.Context(), trace.Turn{SessionID: id, Input: "hello", Start: noon})
		if err != nil {
			t.Fatal(err)
		}
		turns = append(turns, turn)
	}
	d.put(func(tx *store.Tx) error {
		for i, id := range []string{"s-a", "s-b", "s-c"} {
			if err := tx.PutSession(trace.Session{ID: id, Origin: trace.Live, Started: noon}); err != nil {
				return err
			}
			if err := tx.PutTurn(turns[i]); err != nil {
				return err
			}
			if err := tx.Emit(event.Event{Type: event.AgentStarted, SessionID: id}); err != nil {
				return err
			}
		}
		return nil
	})
	p := d.panes[PaneSessions].(*sessionsPane)
	pages := p.first.seq
	scored := func(id string, v float64) {
		d.put(func(tx *store.Tx) error {
			if err := tx.PutReport(score.Report{SessionID: id, Scores: []score.Score{{Metric: score.TaskCompletion, Value: &v, Threshold: 0.5, Tier: 1}}}); err != nil {
				return err
			}
			return tx.Emit(event.Event{Type: event.TurnScored, SessionID: id, TurnIndex: event.Turn(0)})
		})
	}
	scored("s-b", 0.25)
	scored("s-none", 0.75) // not loaded: nothing is read
	worst := map[string]float64{}
	for _, r := range p.list.Items() {
		if r.Worst != nil {
			worst[r.ID] = *r.Worst
		}
	}
	if len(worst) != 1 || worst["s-b"] != 0.25 {
		t.Errorf("worst scores %v", worst)
	}
	if p.first.seq != pages {
		t.Errorf("the page was read %d more times", p.first.seq-pages)
	}
	// While a page is read, what comes is in it only when it is read once more.
	p.reading = true
	d.ctx.Store = d.store
	if cmd := p.freshen(d.ctx, Change{Events: []event.Event{{Type: event.TurnScored, SessionID: "s-c"}}}); cmd == nil || p.first.seq == pages {
		t.Error("the page is not asked for again")
	}
}
