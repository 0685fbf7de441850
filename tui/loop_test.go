package tui

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"

	"vise/engine/episode"
	"vise/engine/event"
	"vise/engine/evidence"
	"vise/engine/repair"
	"vise/engine/rule"
	scoring "vise/engine/score"
	"vise/store"
	"vise/tui/action"
)

// The sizes of the goldens: what a pane gets of a terminal of 80x24 and of 200x60.
var sizes = []struct {
	name string
	w, h int
}{{"80x24", 78, 19}, {"200x60", 130, 36}}

func (d *desk) goldens(name string, id PaneID) {
	d.t.Helper()
	for _, s := range sizes {
		rows := d.size(id, s.w, s.h)
		if len(rows) != s.h {
			d.t.Errorf("%s %s: %d rows, want %d", name, s.name, len(rows), s.h)
		}
		for i, r := range rows {
			if w := ansi.StringWidth(r); w != s.w {
				d.t.Errorf("%s %s: row %d is %d cells wide, want %d: %q", name, s.name, i, w, s.w, r)
			}
		}
		golden(d.t, "panes/"+name+"-"+s.name, append([]string{d.panes[id].Title() + " | " + d.panes[id].Badge(), ""}, rows...))
	}
}

// One failing session from the first turn to the promoted rule, with every pane
// looked at where something happens in it.
func TestLoop(t *testing.T) {
	d := newDesk(t, true)
	for _, s := range sizes {
		for _, id := range paneOrder {
			d.size(id, s.w, s.h)
		}
	}
	d.goldens("attention-empty", PaneAttention)
	d.goldens("repair-empty", PaneRepair)
	d.goldens("rules-empty", PaneRules)
	d.goldens("validation-empty", PaneValidation)
	d.goldens("journal-empty", PaneJournal)
	d.goldens("scores-empty", PaneScores)

	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- d.live(ctx, "s-live") }()

	first := d.held()
	if first.Point != repair.BeforeModel {
		t.Fatalf("held at %s first, want before the model", first.Point)
	}
	d.sees(PaneRepair, "not sent yet", "held before model")
	d.goldens("repair-prompt", PaneRepair)
	d.goldens("scores", PaneScores)

	for h := first; h.Call == nil || h.Call.Name != "harness_rule_add"; h = d.held() {
		d.hold.Step()
	}
	d.sees(PaneRepair, "not executed yet", "+ 4 add", "reason_code", "scope    refunds")
	d.goldens("repair-held", PaneRepair)
	if rules := d.panes[PaneRules].JSON().([]rule.Rule); len(rules) != 0 {
		t.Fatalf("a held call has run: %d rules", len(rules))
	}

	d.hold.Continue()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	d.pump()
	d.sees(PaneRepair, "+2 new", "+ 4 add", "+ 5 ack", "new  resolved: candidate", "   3 search", "candidate added", "fixed rules, no language model")
	d.goldens("repair-ended", PaneRepair)
	d.goldens("rules-candidate", PaneRules)
	d.goldens("attention-candidate", PaneAttention)

	d.activity(Activity{Kind: Validating})
	done := make(chan error, 1)
	go func() { _, err := d.harness.ValidateUntilIdle(ctx); done <- err }()
	<-d.started
	d.pump()
	d.sees(PaneValidation, "2 of 3 turns done", "not yet: 0 of 1")
	d.goldens("validation-running", PaneValidation)
	close(d.gate)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	d.pump()
	d.activity(Activity{})
	d.pump()
	d.sees(PaneValidation, "improved", "promoted by replay")
	d.goldens("validation-promoted", PaneValidation)
	d.goldens("rules-active", PaneRules)
	d.goldens("journal", PaneJournal)
	d.sees(PaneAttention, "Nothing waits for you")

	t.Run("back in time", func(t *testing.T) { backInTime(t, d) })
	t.Run("JSON", func(t *testing.T) { sameAsHeadless(t, d) })
	t.Run("versions", func(t *testing.T) { versions(t, d) })
}

func backInTime(t *testing.T, d *desk) {
	p := d.panes[PaneRepair]
	for want := 4; want >= 1; want-- {
		p.Do(d.ctx, action.Back)
		d.apply(Change{})
		if d.ctx.Scope.Step != want {
			t.Fatalf("step %d after going back, want %d", d.ctx.Scope.Step, want)
		}
		// What the step before this one had done is not done yet here.
		d.sees(PaneRepair, fmt.Sprintf("step %d of 5", want), "-1 not yet", fmt.Sprintf(" - %d %s", want+1, []string{"inspect", "search", "add", "ack"}[want-1]), "not yet  ")
	}
	d.sees(PaneRepair, "thinks", "harness_notice_read")
	p.Do(d.ctx, action.Into)
	d.sees(PaneRepair, "▸  1 read", "result    notice:") // what it brought; what was asked is above it
	for range 9 {
		p.Do(d.ctx, action.PageUp)
	}
	d.sees(PaneRepair, "system", "You repair how an agent works")
	p.Do(d.ctx, action.Out)
	p.Do(d.ctx, action.Forward)
	d.apply(Change{})
	d.sees(PaneRepair, "+1 new", "+ 2 inspect", "new  3 calls")
	if d.ctx.Scope.Step != 2 {
		t.Errorf("step %d after going forward, want 2", d.ctx.Scope.Step)
	}
	p.Do(d.ctx, action.End)
	if d.ctx.Scope.Step != 0 {
		t.Errorf("step %d at the end, want 0: following", d.ctx.Scope.Step)
	}
	d.apply(Change{})
}

// What a pane shows as data is what the headless twin prints.
func sameAsHeadless(t *testing.T, d *desk) {
	var want struct {
		reports  []scoring.Report
		rules    []rule.Rule
		episode  episode.Episode
		steps    []episode.Step
		verdicts []evidence.Verdict
		events   []event.Event
	}
	if err := d.store.View(func(tx *store.Tx) (err error) {
		var list []episode.Episode
		if list, err = tx.Episodes(store.Window{}); err != nil {
			return err
		}
		want.episode = list[0]
		if want.steps, err = tx.Steps(list[0].ID); err != nil {
			return err
		}
		if want.rules, err = tx.Rules(); err != nil {
			return err
		}
		if want.verdicts, err = tx.Verdicts(want.rules[0].ID); err != nil {
			return err
		}
		if want.reports, err = tx.Reports("s-live", 0, 0); err != nil {
			return err
		}
		want.events, err = tx.Events(0, 0, store.EventFilter{})
		return err
	}); err != nil {
		t.Fatal(err)
	}
	for id, v := range map[PaneID]any{
		PaneScores: want.reports, PaneRepair: RepairJSON{want.episode, want.steps}, PaneRules: want.rules,
		PaneValidation: want.verdicts[len(want.verdicts)-1], PaneJournal: want.events,
	} {
		if diff := cmp.Diff(asJSON(t, v), asJSON(t, d.panes[id].JSON())); diff != "" {
			t.Errorf("pane %s (-headless +pane):\n%s", id, diff)
		}
	}
}

func asJSON(t *testing.T, v any) any {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var out any
	if err := json.Unmarshal(raw, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// A change that is seen must raise the version, or the screen keeps the old rows.
func versions(t *testing.T, d *desk) {
	mine := []PaneID{PaneScores, PaneRepair, PaneRules, PaneValidation, PaneAttention, PaneJournal}
	actions := []action.ID{action.Up, action.Down, action.Home, action.End, action.PageUp, action.PageDown, action.Into, action.Out, action.Toggle, action.Filter,
		action.Back, action.Forward, action.Left, action.Right}
	for _, id := range mine {
		p := d.panes[id]
		p.SetSize(70, 12)
		check := func(what string, do func()) {
			before, rows := p.Version(), strings.Join(p.Rows(), "\n")+p.Badge()
			do()
			if after := strings.Join(p.Rows(), "\n") + p.Badge(); after != rows && p.Version() == before {
				t.Errorf("pane %s: %s changed what is shown and not the version", id, what)
			}
		}
		for _, a := range actions {
			check(string(a), func() { cmd, _ := p.Do(d.ctx, a); d.run(cmd); d.apply(Change{}) })
		}
		check("SetSize", func() { p.SetSize(60, 14) })
		check("SetFocus", func() { p.SetFocus(true) })
		check("wheel", func() { p.Mouse(d.ctx, 1, 5, Wheel{N: -3}) })
		check("Incidents", func() {
			d.ctx.Incidents = append(d.ctx.Incidents, Incident{At: noon, What: "replay of x", Err: errors.New("no agent")})
			d.apply(Change{Incidents: true})
		})
		if s, ok := p.(Searcher); ok {
			check("Search", func() { s.Search(d.ctx, "refund"); d.apply(Change{}) })
			check("NextMatch", func() { d.run(s.NextMatch(d.ctx, 1)) })
			check("end of search", func() { s.Search(d.ctx, "") })
		}
	}
}
