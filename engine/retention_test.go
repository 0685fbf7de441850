package engine_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"vise/engine"
	"vise/engine/config"
	"vise/engine/event"
	"vise/engine/repair"
	"vise/engine/trace"
	"vise/store"
)

// TestRetention: what is old and needed by nothing goes; the age counts from when a
// session was stored here, not from when it was recorded.
func TestRetention(t *testing.T) {
	p := open(t, func(c *config.Config, o *engine.Options) {
		builtin(t)(c, o)
		c.Store.Retention = 30 * 24 * time.Hour
	})
	record := func(id string, turns ...trace.Turn) {
		im := p.Import(t.Context(), false)
		head := trace.Session{ID: id, Source: "native", File: id, Started: p.now.AddDate(-2, 0, 0)}
		if err := im.Begin(head); err != nil {
			t.Fatal(err)
		}
		for _, x := range turns {
			if err := im.Turn(x); err != nil {
				t.Fatal(err)
			}
		}
		if err := im.End(head); err != nil {
			t.Fatal(err)
		}
	}
	record("plain", good("plain", 0), good("plain", 1))
	record("protected", good("protected", 0))
	if _, err := p.ProtectCase(t.Context(), "protected", -1, false); err != nil {
		t.Fatal(err)
	}
	p.begin("repaired", trace.Live)
	p.end(bad("repaired", 0))                                                             // makes a case, which needs it
	p.fork(engine.ForkSpec{Episode: p.onlyEpisode().ID, Change: repair.Change{Turn: -1}}) // goes with its parent's transcript
	if err := p.EndSession(t.Context(), trace.Session{ID: "repaired", Origin: trace.Live, Source: "acp", Started: p.now},
		event.Event{Type: event.AgentExited, SessionID: "repaired"}); err != nil {
		t.Fatal(err)
	}
	p.forget(p.cases(), "repaired")

	p.now = p.now.Add(29 * 24 * time.Hour)
	record("recorded long ago", good("recorded long ago", 0))
	if gone, err := p.Expire(t.Context(), 0); err != nil || gone.Sessions != 0 {
		t.Fatalf("a day early: %+v, %v", gone, err)
	}
	p.now = p.now.Add(2 * 24 * time.Hour)
	gone, err := p.Expire(t.Context(), 1)
	if err != nil || gone.Sessions != 1 {
		t.Fatalf("one at a time: %+v, %v", gone, err)
	}
	more, err := p.Expire(t.Context(), 0)
	if err != nil || more.Sessions != 1 || gone.Steps+more.Steps == 0 {
		t.Fatalf("the rest: %+v, %v", more, err)
	}
	p.view(func(tx *store.Tx) error {
		left, err := tx.Sessions(store.Window{})
		var ids []string
		for _, s := range left {
			ids = append(ids, s.ID)
		}
		slices.Sort(ids)
		if fmt.Sprint(ids) != "[protected recorded long ago]" {
			t.Errorf("left: %q", ids)
		}
		events, _ := tx.LastEvents(10, event.SessionRemoved)
		for _, e := range events {
			if e.Data["reason"] != "retention" {
				t.Errorf("the journal says %+v", e)
			}
		}
		if len(events) != 2 {
			t.Errorf("%d removals in the journal", len(events))
		}
		episodes, _ := tx.Episodes(store.Window{})
		if len(episodes) != 1 {
			t.Errorf("%d episodes are left", len(episodes))
		}
		for _, e := range episodes {
			if steps, _ := tx.Steps(e.ID); len(steps) != 0 {
				t.Errorf("%d steps are left", len(steps))
			}
		}
		return err
	})
	// A store that opens anew does the same by itself.
	p.now = p.now.Add(60 * 24 * time.Hour)
	p.start(engine.Options{Config: p.cfg, Store: p.store})
	if got := p.count(event.SessionRemoved); got != 3 {
		t.Errorf("%d removals after opening again, want one more", got)
	}
}

// forget removes the cases of a session.
func (p *project) forget(ids []string, session string) {
	p.t.Helper()
	for _, id := range ids {
		p.view(func(tx *store.Tx) error {
			c, _, err := tx.Case(id)
			if c.SessionID != session {
				id = ""
			}
			return err
		})
		if id == "" {
			continue
		}
		if err := p.RemoveCase(p.t.Context(), id); err != nil {
			p.t.Fatal(err)
		}
	}
}

func (p *project) cases() (ids []string) {
	p.t.Helper()
	p.view(func(tx *store.Tx) error {
		list, err := tx.Cases("")
		for _, c := range list {
			ids = append(ids, c.ID)
		}
		return err
	})
	return ids
}
