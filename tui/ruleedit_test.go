package tui

import (
	"strings"
	"testing"

	"vise/engine/rule"
	"vise/store"
)

// e opens the text of the rule, enter makes the other wording a candidate of the person,
// u takes it back.
func TestEditRule(t *testing.T) {
	d := worked(t)
	b := newBench(t, d, 120, 40)
	rules := func() (out []rule.Rule) {
		if err := d.store.View(func(tx *store.Tx) (err error) {
			out, err = tx.Rules()
			return err
		}); err != nil {
			t.Fatal(err)
		}
		return out
	}
	was := rules()[0]
	b.press("6", "e")
	b.screenHas("edit rule "+tag(was.ID), "Always pass the argument reason_code", "by you; evidence decides")
	b.press("enter")
	if len(rules()) != 1 || !strings.Contains(strings.Join(b.said, " ")+b.screen(), "the text is that of rule") {
		t.Fatalf("an unchanged text was taken: %d rules\n%s", len(rules()), b.screen())
	}
	b.press("e")
	for range 400 {
		b.app.overlays[0].Key(b.app, press("left"))
	}
	b.typed("First look up the order. ")
	b.press("enter")
	b.feed()
	list := rules()
	if len(list) != 2 {
		t.Fatalf("%d rules\n%s", len(list), b.screen())
	}
	r := list[1]
	if r.Author != rule.Person || r.EditedFrom != was.ID || r.Status != rule.Candidate || r.Trial == nil || r.EpisodeID != was.EpisodeID ||
		!strings.HasPrefix(r.Text, "First look up the order.") {
		t.Fatalf("the candidate is %+v", r)
	}
	b.screenHas("your wording is candidate " + tag(r.ID))
	b.press("z")
	b.screenHas("by person", "by a person  First look", "from "+tag(was.ID))
	b.press("u")
	if got := rules()[1].Status; got != rule.Retired {
		t.Errorf("undone, it is %s", got)
	}
}
