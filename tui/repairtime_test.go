package tui

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"

	"vise/engine/episode"
	"vise/engine/event"
	"vise/engine/repair"
	"vise/store"
	"vise/tui/action"
)

// malformed is an attempt that ended because a call had no arguments that parse.
func malformed(d *desk) {
	d.put(func(tx *store.Tx) error {
		e := episode.Episode{ID: "e-1", SessionID: "s-1", CreatedAt: "x", Status: episode.Failed, Attempts: 1, NotBefore: noon.Add(time.Minute),
			Result: &episode.Result{Status: episode.Failed, ErrorCategory: "malformed_tool_arguments", Turns: 1, ToolCalls: 1}}
		if err := tx.PutEpisode(e); err != nil {
			return err
		}
		return tx.PutStep(episode.Step{EpisodeID: "e-1", Attempt: 1, Turn: 1, Started: noon, Ended: noon.Add(time.Second),
			Calls: []episode.Call{{ID: "c", Name: "harness_rule_add", Arguments: `{"bogus": tru`, Result: []byte(`{"ok":false,"error":"malformed_tool_arguments"}`)}}})
	})
}

// An attempt that has ended says the same for ever, why it ended, and who tries again.
func TestEndedAttempt(t *testing.T) {
	d := newDesk(t, false)
	d.size(PaneRepair, 120, 20)
	d.ctx.Scope.Session, d.ctx.Scope.Episode = "s-1", "e-1"
	malformed(d)
	d.apply(Change{Reload: true, Scope: true})
	d.sees(PaneRepair, "= failed: malformed tool arguments", "the next turn of the session that ends after", "tries it again by itself")
	row := func() string {
		for _, r := range d.panes[PaneRepair].Rows() {
			if r = ansi.Strip(r); strings.Contains(r, "harness_rule_add") {
				return r
			}
		}
		return ""
	}
	was := row()
	d.put(func(tx *store.Tx) error {
		e, _, err := tx.Episode("e-1")
		if err != nil {
			return err
		}
		e.Status, e.Attempts = episode.Running, 2
		if err := tx.PutEpisode(e); err != nil {
			return err
		}
		return tx.Emit(event.Event{Type: event.RepairStarted, EpisodeID: "e-1", SessionID: "s-1"})
	})
	d.activity(Activity{Kind: Repairing, Episode: "e-1"})
	d.ctx.Now = func() time.Time { return noon.Add(3 * time.Second) }
	d.pump()
	if is := row(); is != was || !strings.Contains(is, "malformed tool arguments") {
		t.Errorf("while attempt 2 runs, attempt 1 is told as\n%s\nit was\n%s", is, was)
	}
	// The clock counts before the first model turn is stored.
	d.sees(PaneRepair, "3 s of 60 s")
}

// Who goes through a repair is told where he is, and at its ends that these are ends.
func TestRepairTravelTells(t *testing.T) {
	d := newDesk(t, false)
	d.size(PaneRepair, 120, 20)
	d.ctx.Scope.Session, d.ctx.Scope.Episode = "s-1", "e-1"
	malformed(d)
	d.apply(Change{Reload: true, Scope: true})
	p := d.panes[PaneRepair]
	for _, c := range []struct {
		id   action.ID
		said string
	}{
		{action.Forward, "there is nothing newer"},
		{action.Back, "this is the first step of the first repair"}, // one step only: it is on the screen already
	} {
		d.said = nil
		cmd, _ := p.Do(d.ctx, c.id)
		d.run(cmd)
		if got := strings.Join(d.said, ";"); got != c.said {
			t.Errorf("%s says %q, want %q", c.id, got, c.said)
		}
	}
}

// A model's answer is read from its beginning while it streams, rendered, and the reader's
// place stays when more of it comes and when it is stored; at the end the view follows.
func TestStreamIsReadInPlace(t *testing.T) {
	d := newDesk(t, false)
	d.size(PaneRepair, 80, 12)
	d.ctx.Scope.Session, d.ctx.Scope.Episode = "s-1", "e-1"
	d.put(func(tx *store.Tx) error {
		if err := tx.PutEpisode(episode.Episode{ID: "e-1", SessionID: "s-1", CreatedAt: "x", Status: episode.Running, Attempts: 1}); err != nil {
			return err
		}
		return tx.Emit(event.Event{Type: event.RepairStarted, EpisodeID: "e-1", SessionID: "s-1"})
	})
	said := ""
	at := noon
	d.ctx.Now = func() time.Time { at = at.Add(time.Second); return at } // a render is due each time
	delta := func(text string) {
		said += text
		d.bus.Publish(event.Event{Type: event.RepairDelta, EpisodeID: "e-1", Data: map[string]any{"attempt": 1, "turn": 1, "text": text}})
		d.pump()
	}
	delta("# First thought\n\n")
	for i := range 40 {
		delta(fmt.Sprintf("**Paragraph %d.** of the answer.\n\n", i))
	}
	d.sees(PaneRepair, "Paragraph 39. of the answer", "answering")
	p := d.panes[PaneRepair]
	screen := func() string { return ansi.Strip(strings.Join(p.Rows()[1:], "\n")) }
	if strings.Contains(screen(), "**") {
		t.Errorf("Markdown is shown raw:\n%s", screen())
	}
	p.Do(d.ctx, action.PageUp)
	p.Do(d.ctx, action.PageUp)
	before := screen()
	if strings.Contains(before, "answering") {
		t.Fatal("the view did not move")
	}
	for i := range 10 {
		delta(fmt.Sprintf("**More %d.**\n\n", i))
	}
	if after := screen(); after != before {
		t.Errorf("the reader's place moved while more came. Before:\n%s\nafter:\n%s", before, after)
	}
	d.sees(PaneRepair, " new")
	d.put(func(tx *store.Tx) error {
		if err := tx.PutStep(episode.Step{EpisodeID: "e-1", Attempt: 1, Turn: 1, Text: said, Calls: []episode.Call{{ID: "c", Name: "harness_notice_read", Arguments: `{}`}}}); err != nil {
			return err
		}
		return tx.Emit(event.Event{Type: event.RepairModelTurn, EpisodeID: "e-1", SessionID: "s-1", Data: map[string]any{"turn": 1}})
	})
	if after := screen(); after != before {
		t.Errorf("the reader's place moved when the turn was stored. Before:\n%s\nafter:\n%s", before, after)
	}
	p.Do(d.ctx, action.End)
	d.sees(PaneRepair, "harness_notice_read")
}

// The transcript is searched as a whole: what was asked and is folded too.
func TestRepairSearch(t *testing.T) {
	d := newDesk(t, false)
	d.size(PaneRepair, 80, 12)
	d.ctx.Scope.Session, d.ctx.Scope.Episode = "s-1", "e-1"
	d.put(func(tx *store.Tx) error {
		if err := tx.PutEpisode(episode.Episode{ID: "e-1", SessionID: "s-1", CreatedAt: "x", Status: episode.CandidateAdded, Attempts: 1}); err != nil {
			return err
		}
		for turn := range 3 {
			if err := tx.PutStep(episode.Step{EpisodeID: "e-1", Attempt: 1, Turn: turn + 1,
				Messages: []episode.Message{{Role: "user", Content: strings.Repeat("a line of the prompt\n", 100) + fmt.Sprintf("needle %d is here", turn)}},
				Calls:    []episode.Call{{ID: "c", Name: "harness_notice_read", Arguments: `{}`}}}); err != nil {
				return err
			}
		}
		return nil
	})
	d.apply(Change{Reload: true, Scope: true})
	p := d.panes[PaneRepair].(*repairPane)
	if n := p.Search(d.ctx, "needle"); n != 3 {
		t.Fatalf("%d matches, want 3", n)
	}
	for i := range 3 {
		d.sees(PaneRepair, fmt.Sprintf("needle %d is here", i))
		if at := p.MatchAt(); at != i+1 {
			t.Errorf("at match %d, want %d", at, i+1)
		}
		p.NextMatch(d.ctx, 1)
	}
	p.Search(d.ctx, "")
	if s := strings.Join(p.Rows(), "\n"); strings.Contains(s, "a line of the prompt") {
		t.Error("the prompts stay open after the search")
	}
}

// The clock of a repair stands still while it is held, also before its first model turn.
func TestRepairClockWithoutHeldTime(t *testing.T) {
	d := newDesk(t, false)
	d.size(PaneRepair, 120, 20)
	d.ctx.Scope.Session, d.ctx.Scope.Episode = "s-1", "e-1"
	at := noon
	d.ctx.Now = func() time.Time { return at }
	d.put(func(tx *store.Tx) error {
		if err := tx.PutEpisode(episode.Episode{ID: "e-1", SessionID: "s-1", CreatedAt: "x", Status: episode.Running, Attempts: 1}); err != nil {
			return err
		}
		return tx.Emit(event.Event{Type: event.RepairStarted, At: noon, EpisodeID: "e-1", SessionID: "s-1"})
	})
	d.activity(Activity{Kind: Repairing, Episode: "e-1"})
	hold := func(h *Held) {
		d.ctx.Held = h
		d.apply(Change{Held: true})
	}
	hold(&Held{Checkpoint: repair.Checkpoint{EpisodeID: "e-1", Attempt: 1, Turn: 1, Point: repair.BeforeModel}})
	at = noon.Add(20 * time.Second)
	hold(nil)
	at = noon.Add(23 * time.Second)
	d.put(func(tx *store.Tx) error {
		if err := tx.PutStep(episode.Step{EpisodeID: "e-1", Attempt: 1, Turn: 1, Started: noon.Add(20 * time.Second), Ended: at, Text: "I look."}); err != nil {
			return err
		}
		return tx.Emit(event.Event{Type: event.RepairModelTurn, EpisodeID: "e-1", SessionID: "s-1", Data: map[string]any{"turn": 1}})
	})
	d.sees(PaneRepair, "3 s of 60 s")
}

// Enter opens the step that was scrolled to, with what its call brought on the screen.
func TestRepairOpensWhatIsInView(t *testing.T) {
	d := newDesk(t, false)
	d.size(PaneRepair, 80, 14)
	d.ctx.Scope.Session, d.ctx.Scope.Episode = "s-1", "e-1"
	d.put(func(tx *store.Tx) error {
		if err := tx.PutEpisode(episode.Episode{ID: "e-1", SessionID: "s-1", CreatedAt: "x", Status: episode.CandidateAdded, Attempts: 1}); err != nil {
			return err
		}
		for turn := range 30 {
			if err := tx.PutStep(episode.Step{EpisodeID: "e-1", Attempt: 1, Turn: turn + 1,
				Messages: []episode.Message{{Role: "user", Content: strings.Repeat("a line of the prompt\n", 50)}},
				Calls:    []episode.Call{{ID: "c", Name: "harness_rules_search", Arguments: `{"query":"x"}`, OK: true, Ran: true, Result: fmt.Appendf(nil, `{"ok":true,"note":"result %d."}`, turn+1)}}}); err != nil {
				return err
			}
		}
		return nil
	})
	d.apply(Change{Reload: true, Scope: true})
	p := d.panes[PaneRepair].(*repairPane)
	p.Do(d.ctx, action.Home)
	for range 10 {
		p.Do(d.ctx, action.Down)
	}
	p.Do(d.ctx, action.Into)
	d.apply(Change{})
	d.sees(PaneRepair, "step 11 of 30", "▸ 11 search", "result 11.")
}
