package engine_test

import (
	"testing"
	"time"

	"vise/engine"
	"vise/engine/event"
	"vise/engine/trace"
	"vise/store"
)

// A live session that a killed process left gets its end at the next start, once, with
// what is known of when it was last heard of. What has an end, or is a recording, does not.
func TestAKilledSessionIsEndedAtTheNextStart(t *testing.T) {
	p := open(t, nil)
	p.begin("unheard", trace.Live)
	p.begin("heard", trace.Live)
	last := good("heard", 0)
	last.End = p.now.Add(3 * time.Minute)
	p.end(last)
	p.begin("recording", trace.Recorded)
	p.begin("whole", trace.Live)
	if err := p.EndSession(t.Context(), trace.Session{ID: "whole", Origin: trace.Live, Started: p.now, Ended: p.now.Add(time.Minute)},
		event.Event{Type: event.AgentExited, SessionID: "whole"}); err != nil {
		t.Fatal(err)
	}
	p.now = p.now.Add(time.Hour)
	for range 2 {
		p.start(engine.Options{Config: p.cfg, Store: p.store})
	}
	p.view(func(tx *store.Tx) error {
		for id, want := range map[string]struct {
			killed bool
			lasted time.Duration
		}{"unheard": {true, 0}, "heard": {true, 3 * time.Minute}, "whole": {false, time.Minute}} {
			s, _, err := tx.Session(id)
			if err != nil {
				return err
			}
			if s.Killed() != want.killed || s.Ended.Sub(s.Started) != want.lasted {
				t.Errorf("%s: killed %v, lasted %v; want %+v", id, s.Killed(), s.Ended.Sub(s.Started), want)
			}
		}
		if s, _, _ := tx.Session("recording"); s.Killed() || !s.Ended.IsZero() {
			t.Errorf("a recording was ended: %+v", s)
		}
		ends, err := tx.LastEvents(10, event.AgentExited)
		var told []string
		for _, e := range ends {
			if e.Data["exit"] == "killed" {
				told = append(told, e.SessionID)
			}
		}
		if len(told) != 2 {
			t.Errorf("told the end of %v", told)
		}
		return err
	})
}
