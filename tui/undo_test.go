package tui

import (
	"fmt"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"vise/engine/event"
	"vise/engine/evidence"
	"vise/engine/rule"
	"vise/store"
)

func (b *bench) ruleOf(id string) (r rule.Rule) {
	b.t.Helper()
	b.view(func(tx *store.Tx) (err error) {
		r, _, err = tx.Rule(id)
		return err
	})
	return r
}

// u takes back the move of a rule and leaves it exactly what it was; ctrl+r moves it again.
// A rule in force comes back into force, unless another was promoted meanwhile.
func TestUndoRule(t *testing.T) {
	b := newBench(t, worked(t), 160, 50)
	id := b.app.panes[PaneRules].(*rulesPane).list.Key()
	was := b.ruleOf(id)
	b.step("6", "X")
	if s := b.ruleOf(id).Status; s != rule.Retired {
		t.Fatalf("X left it %s", s)
	}
	b.step("u")
	now := b.ruleOf(id)
	if was.Version, now.Version = 0, 0; now.Status != rule.Candidate || fmt.Sprint(now.Trial) != fmt.Sprint(was.Trial) || now.Reason != was.Reason {
		t.Errorf("u left it %+v, it was %+v", now, was)
	}
	if b.redo(); b.ruleOf(id).Status != rule.Retired {
		t.Errorf("ctrl+r left it %s", b.ruleOf(id).Status)
	}
	// A restoration is taken back too, with the reason of the retirement.
	b.step("U")
	if b.step("u"); b.ruleOf(id).Status != rule.Retired || b.ruleOf(id).Reason != "by a person: "+retiredHere {
		t.Errorf("u after U left it %+v", b.ruleOf(id))
	}

	promote := func(id string) {
		b.t.Helper()
		if err := b.store.Update(t.Context(), func(tx *store.Tx) error {
			r, _, err := tx.Rule(id)
			if err != nil {
				return err
			}
			r.Status, r.Reason, r.VerdictID = rule.Active, "replayed failures improved", "v-1"
			if err := tx.PutRule(r); err != nil {
				return err
			}
			return tx.Emit(event.Event{Type: event.RulePromote, RuleID: id})
		}); err != nil {
			t.Fatal(err)
		}
		b.pumpApp()
	}
	promote(id)
	b.step("6", "X")
	b.screenHas("retired", "u takes it back")
	if b.step("u"); b.ruleOf(id).Status != rule.Active || b.ruleOf(id).VerdictID != "v-1" {
		t.Errorf("a rule in force came back as %+v", b.ruleOf(id))
	}
	b.step("X")
	other := b.ruleOf(id)
	other.ID, other.Status = "r-other", rule.Candidate
	if err := b.store.Update(t.Context(), func(tx *store.Tx) error { return tx.PutRule(other) }); err != nil {
		t.Fatal(err)
	}
	promote("r-other")
	n := len(b.app.acts.list)
	b.step("u")
	if b.ruleOf(id).Status != rule.Retired || !strings.Contains(b.app.toast.text, "was promoted since") || len(b.app.acts.list) != n-1 {
		t.Errorf("it is %s, said %q, %d acts of %d", b.ruleOf(id).Status, b.app.toast.text, len(b.app.acts.list), n)
	}
}

// A person's wording is taken back by u and stands again after ctrl+r.
func TestUndoEdit(t *testing.T) {
	b := newBench(t, worked(t), 160, 50)
	b.step("6", "e")
	b.typed(" Then look at the order.")
	b.step("enter")
	x := b.app.ctx.Scope.Rule
	if r := b.ruleOf(x); r.Author != rule.Person {
		t.Fatalf("the rule in scope is %+v", r)
	}
	if b.step("u"); b.ruleOf(x).Status != rule.Retired {
		t.Errorf("u left it %s", b.ruleOf(x).Status)
	}
	if b.redo(); b.ruleOf(x).Status != rule.Candidate {
		t.Errorf("ctrl+r left it %s: %s", b.ruleOf(x).Status, b.app.toast.text)
	}
	if b.step("u"); b.ruleOf(x).Status != rule.Retired {
		t.Errorf("the second u left it %s: %s", b.ruleOf(x).Status, b.app.toast.text)
	}
}

// A protection is taken back and made again; the case has another id then, which u knows.
func TestUndoProtect(t *testing.T) {
	b := newBench(t, worked(t), 160, 50)
	wins := func() (list []evidence.Case) {
		b.view(func(tx *store.Tx) (err error) {
			list, err = tx.Cases(evidence.Win)
			return err
		})
		return list
	}
	b.app.ctx.Scope.Session, b.app.ctx.Scope.Turn = "s-0001", 1
	b.send(nil)
	b.step("2", "p")
	if len(wins()) != 1 {
		t.Fatalf("%d wins; said %q", len(wins()), b.app.toast.text)
	}
	first := wins()[0]
	if b.step("u"); len(wins()) != 0 {
		t.Fatalf("after u %d wins", len(wins()))
	}
	if b.redo(); len(wins()) != 1 || wins()[0].ID == first.ID || wins()[0].TurnIndex != 1 {
		t.Fatalf("after ctrl+r %+v", wins())
	}
	if b.step("u"); len(wins()) != 0 {
		t.Errorf("after the second u %d wins: %s", len(wins()), b.app.toast.text)
	}
}

// Kept filters, and everything else on the screen, come back too, also at another start.
func TestUndoOfTheScreen(t *testing.T) {
	b := newBench(t, worked(t), 160, 50)
	b.step("1", "f")
	b.typed("status:alert")
	b.step("enter", "F")
	b.typed("bad")
	b.step("enter")
	if b.app.saved["bad"] != "status:alert" {
		t.Fatalf("kept %v", b.app.saved)
	}
	b.step("u")
	if _, ok := b.app.saved["bad"]; ok {
		t.Error("u left the filter kept")
	}
	b.redo()
	b.step(">", "u", "u", "u")
	if f := b.app.panes[PaneSessions].(Filterer).Filtered(); f != "" || len(b.app.saved) != 0 || b.app.undoable(false) == "" {
		t.Errorf("after all: filter %q, kept %v, %d acts to undo", f, b.app.saved, b.app.acts.next)
	}
	if err := writePlace(t.Context(), b.store, b.app.place()); err != nil {
		t.Fatal(err)
	}
	p, _, err := ReadPlace(b.store)
	if err != nil {
		t.Fatal(err)
	}
	again := newBench(t, b.desk, 160, 50)
	again.app.settlePlace(p)
	again.redo()
	again.redo()
	if f := again.app.panes[PaneSessions].(Filterer).Filtered(); f != "status:alert" || again.app.saved["bad"] != "status:alert" {
		t.Errorf("done again at another start: filter %q, kept %v", f, again.app.saved)
	}
	width := again.rect(PaneSessions).W
	again.redo()
	if again.rect(PaneSessions).W <= width {
		t.Error("the size was not given again")
	}
	again.send(tea.KeyPressMsg{Code: 'r', Mod: tea.ModCtrl})
	if !strings.Contains(again.app.toast.text, "nothing to do again") {
		t.Errorf("said %q", again.app.toast.text)
	}
}
