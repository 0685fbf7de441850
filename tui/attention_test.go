package tui

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"

	"vise/engine/episode"
	"vise/engine/event"
	"vise/engine/guard"
	"vise/engine/notice"
	"vise/engine/repair"
	"vise/engine/rule"
	"vise/store"
	"vise/tui/action"
)

func (d *desk) put(fn func(tx *store.Tx) error) {
	d.t.Helper()
	if err := d.store.Update(d.t.Context(), fn); err != nil {
		d.t.Fatal(err)
	}
	d.pump()
}

func TestAttentionSaysWhatToDo(t *testing.T) {
	d := newDesk(t, false)
	d.size(PaneAttention, 78, 22)
	d.put(func(tx *store.Tx) error {
		if err := tx.PutState("repair/paused", map[string]string{"notice_id": "n-1", "at": "2026-03-16T11:58:00Z"}); err != nil {
			return err
		}
		if err := tx.PutNotice(notice.Notice{ID: "n-1", CreatedAt: "2026-03-16T11:58:00Z", SessionID: "s-1", TurnIndex: 3, Severity: notice.NeedsHuman,
			Summary: "5 notices in 10 min", Status: notice.Pending}); err != nil {
			return err
		}
		for i, st := range []episode.Status{episode.Dead, episode.Failed, episode.CandidateAdded} {
			if err := tx.PutEpisode(episode.Episode{ID: fmt.Sprintf("e-%d", i), SessionID: "s-1", CreatedAt: "2026-03-16T11:57:00Z", Status: st, Attempts: 3,
				Result: &episode.Result{Error: "the provider answers 503"}}); err != nil {
				return err
			}
		}
		if err := tx.PutRule(rule.Rule{ID: "r-1", CreatedAt: "2026-03-16T11:56:00Z", Text: "x", Scope: "global", Status: rule.Candidate}); err != nil {
			return err
		}
		if err := tx.Emit(event.Event{Type: event.BudgetStopped}); err != nil {
			return err
		}
		return tx.Emit(event.Event{Type: event.Notice, NoticeID: "n-1", SessionID: "s-1"})
	})
	d.ctx.Incidents = append(d.ctx.Incidents,
		Incident{At: noon, What: "replay of torn-blanket", Err: errors.New("agent: start: no such file")},
		Incident{At: noon, What: "validate", Err: fmt.Errorf("store: %w", &store.FullError{Dir: ".vise", Free: 1, Need: 512_000_000})})
	d.ctx.Held = &Held{Checkpoint: repair.Checkpoint{Point: repair.BeforeTool, EpisodeID: "e-9", Turn: 2}}
	d.apply(Change{Incidents: true, Held: true})
	d.goldens("attention-full", PaneAttention)
	items := d.panes[PaneAttention].JSON().([]AttentionItem)
	kinds := map[string]int{}
	for _, x := range items {
		kinds[x.Kind]++
		if x.Do == "" || x.Text == "" {
			t.Errorf("entry %+v does not say what it is or what to do", x)
		}
	}
	for _, k := range []string{"incident", "held", "paused", "needs_human", "dead_letter", "failed", "budget", "candidates"} {
		if kinds[k] == 0 {
			t.Errorf("no entry of kind %s in %v", k, kinds)
		}
	}

	d.ctx.Held = nil
	cmd, ok := d.panes[PaneAttention].Do(d.ctx, action.Resume)
	if !ok {
		t.Fatal("resume means nothing here")
	}
	d.run(cmd)
	d.pump()
	for _, x := range d.panes[PaneAttention].JSON().([]AttentionItem) {
		if x.Kind == "paused" || x.Kind == "needs_human" {
			t.Errorf("%s is left after resume: %s", x.Kind, x.Text)
		}
	}
	if len(d.said) == 0 || !strings.Contains(d.said[len(d.said)-1], "repair goes on") {
		t.Errorf("the footer said %q", d.said)
	}
}

func TestAttentionNeverLosesTheCursor(t *testing.T) {
	d := newDesk(t, false)
	for i := range 30 {
		d.ctx.Incidents = append(d.ctx.Incidents, Incident{At: noon, What: fmt.Sprintf("run %d", i), Err: errors.New("broke")})
	}
	d.size(PaneAttention, 30, 6)
	d.apply(Change{Incidents: true})
	p := d.panes[PaneAttention]
	for range 40 {
		p.Do(d.ctx, action.Down)
		if !strings.Contains(strings.Join(p.Rows(), "\n"), "▸") {
			t.Fatalf("the cursor is not on the screen:\n%s", strings.Join(p.Rows(), "\n"))
		}
	}
	for range 40 {
		p.Do(d.ctx, action.Up)
		if !strings.Contains(strings.Join(p.Rows(), "\n"), "▸") {
			t.Fatalf("the cursor is not on the screen:\n%s", strings.Join(p.Rows(), "\n"))
		}
	}
}

// hostile is what a recording, a model or an agent may try to do to the terminal.
const hostile = "a\x1b]52;c;aGk=\x07b\x1b]0;title\x1b\\c\x1bP+q\x1b\\d\x1b[6ne\x1bcf\u009b2Jg\rh\x08i\u202ej<!-- x -->&#27;[31m"

// No control sequence of a record may reach a cell, whichever pane shows it.
func TestNothingHostileReachesACell(t *testing.T) {
	d := newDesk(t, false)
	for _, id := range paneOrder {
		d.size(id, 90, 30)
	}
	d.ctx.Scope.Session, d.ctx.Scope.Episode, d.ctx.Scope.Rule = "s-1", "e-1", "r-1"
	d.put(func(tx *store.Tx) error {
		if err := tx.PutNotice(notice.Notice{ID: "n-1", SessionID: "s-1", Severity: notice.NeedsHuman, Summary: hostile, Status: notice.Pending, Signatures: []string{hostile}}); err != nil {
			return err
		}
		if err := tx.PutEpisode(episode.Episode{ID: "e-1", SessionID: "s-1", NoticeIDs: []string{"n-1"}, CreatedAt: "x", Status: episode.Failed, Attempts: 1,
			Result: &episode.Result{Error: hostile, Model: hostile, SuppressionReason: hostile}}); err != nil {
			return err
		}
		if err := tx.PutStep(episode.Step{EpisodeID: "e-1", Attempt: 1, Turn: 1, Text: hostile, Reasoning: hostile, Error: hostile,
			Messages: []episode.Message{{Role: "user", Content: hostile}},
			Calls: []episode.Call{{ID: "c", Name: "harness_rule_add", Arguments: fmt.Sprintf(`{"rule":%q,"scope":%q}`, hostile, "s"), OK: true, Ran: true, Result: []byte(`{"ok":true}`)},
				{ID: "d", Name: hostile, Arguments: hostile, Ran: true, Result: []byte(`{"error":"\u001b[2J"}`)}}}); err != nil {
			return err
		}
		if err := tx.PutRule(rule.Rule{ID: "r-1", CreatedAt: "x", Text: hostile, Rationale: hostile, Scope: "s", Author: hostile, Reason: hostile, Metric: hostile, Status: rule.Candidate}); err != nil {
			return err
		}
		return tx.Emit(event.Event{Type: event.RuleAdd, SessionID: "s-1", EpisodeID: "e-1", RuleID: "r-1", Data: map[string]any{"reason": hostile, hostile: hostile}})
	})
	d.bus.Publish(event.Event{Type: event.RepairDelta, EpisodeID: "e-1", Data: map[string]any{"attempt": 1, "turn": 2, "text": hostile, "reasoning": hostile, "call": 0, "name": hostile, "arguments": hostile}})
	d.ctx.Incidents = append(d.ctx.Incidents, Incident{At: noon, What: hostile, Err: errors.New(hostile)})
	d.pump()
	d.apply(Change{Incidents: true})
	shown := 0
	for _, id := range paneOrder {
		p := d.panes[id]
		if r, ok := p.(*repairPane); ok {
			r.step, r.attempt, r.open = 1, 1, true
			r.layout()
		}
		for _, row := range append([]string{p.Title(), p.Badge()}, p.Rows()...) {
			text := ansi.Strip(row)
			if strings.Contains(text, `\x1b`) {
				shown++
			}
			if id == PaneRepair && row == p.Badge() || row == p.Title() {
				continue // the border cleans them
			}
			if text != guard.Visible(text) {
				t.Errorf("pane %s: a row would be obeyed: %q", id, row)
			}
			for _, seq := range []string{"\x1b]", "\x1bP", "\x1bc", "\x1b[6n", "\u009b", "\r", "\a", "\b", "\x1b[2J", "\x1b[31m"} {
				if strings.Contains(row, seq) {
					t.Errorf("pane %s: %q is in a row: %q", id, seq, row)
				}
			}
		}
	}
	if shown < 5 {
		t.Errorf("the hostile texts are on %d rows only: the test has lost its subject", shown)
	}
}

// What a model says is on the screen while it says it, and once only when it is stored.
func TestRepairStreams(t *testing.T) {
	d := newDesk(t, false)
	d.size(PaneRepair, 80, 20)
	at := noon
	d.ctx.Now = func() time.Time { at = at.Add(time.Second); return at }
	e := episode.Episode{ID: "e-1", SessionID: "s-1", CreatedAt: "x", Status: episode.Running, Attempts: 1}
	d.ctx.Scope.Episode = "e-1"
	d.put(func(tx *store.Tx) error {
		if err := tx.PutEpisode(e); err != nil {
			return err
		}
		return tx.Emit(event.Event{Type: event.RepairStarted, EpisodeID: "e-1", SessionID: "s-1"})
	})
	delta := func(data map[string]any) {
		data["attempt"], data["turn"] = 1, 1
		d.bus.Publish(event.Event{Type: event.RepairDelta, EpisodeID: "e-1", Data: data})
		d.pump()
	}
	delta(map[string]any{"reasoning": "The trace "})
	delta(map[string]any{"reasoning": "shows it."})
	delta(map[string]any{"text": "I look."})
	d.sees(PaneRepair, "answering", "The trace shows it.", "I look.")
	delta(map[string]any{"call": 0, "name": "harness_notice_read", "arguments": `{"notice`})
	delta(map[string]any{"call": 0, "arguments": `_id":"n-1"}`})
	d.sees(PaneRepair, "read", `{"notice_id":"n-1"}`)
	d.put(func(tx *store.Tx) error {
		if err := tx.PutStep(episode.Step{EpisodeID: "e-1", Attempt: 1, Turn: 1, Reasoning: "The trace shows it.", Text: "I look.",
			Calls: []episode.Call{{ID: "c", Name: "harness_notice_read", Arguments: `{"notice_id":"n-1"}`}}}); err != nil {
			return err
		}
		return tx.Emit(event.Event{Type: event.RepairModelTurn, EpisodeID: "e-1", SessionID: "s-1", Data: map[string]any{"turn": 1}})
	})
	screen := ansi.Strip(strings.Join(d.panes[PaneRepair].Rows(), "\n"))
	if n := strings.Count(screen, "harness_notice_read"); n != 1 || strings.Contains(screen, "answering") {
		t.Errorf("the stored turn is shown %d times:\n%s", n, screen)
	}
}
