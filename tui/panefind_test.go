package tui

import (
	"errors"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
)

// What waits is searched too; validation is searched with what follows from its cases and
// with past verdicts.
func TestSearchWhatWaits(t *testing.T) {
	b := newBench(t, worked(t), 120, 34)
	b.app.ctx.Incidents = append(b.app.ctx.Incidents, Incident{At: noon, What: "replay of x", Err: errors.New("no such zebra")})
	b.run(b.app.apply(Change{Incidents: true}))
	b.press("8", "/")
	for _, k := range "zebra" {
		b.press(string(k))
	}
	b.press("enter")
	if got := b.app.found(); got != "1 of 1 match" {
		t.Errorf("found %q", got)
	}
	screen := strings.Join(b.frame(), "\n")
	if i := strings.Index(screen, "zebra"); i < 0 || !strings.HasSuffix(screen[:i], "m") {
		t.Error("the match is not marked")
	}
	b.press("esc", "E", "7", "/")
	for _, k := range "validated" {
		b.press(string(k))
	}
	if b.app.search == nil || b.app.ctx.Running.Kind != Idle {
		t.Error("what was typed into the search ran")
	}
}

// What is typed after a prompt that did not open runs nothing.
func TestRefusedPromptSwallowsKeys(t *testing.T) {
	b := newBench(t, worked(t), 120, 34)
	b.press("R", "5", "f", "r", "u", "l", "e", "q")
	if b.app.view != repairView || b.app.focus != PaneRepair || b.app.lastAct == "run.replay" {
		t.Errorf("the keys ran: view %s, focus %s, last %s", b.app.view, b.app.focus, b.app.lastAct)
	}
	if !strings.Contains(ansi.Strip(strings.Join(b.frame(), "\n")), "this pane has no filter") {
		t.Error("the reason is gone")
	}
	b.press("esc", "6")
	if b.app.focus != PaneRules {
		t.Error("after esc keys are dead")
	}
}
