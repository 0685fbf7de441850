package tui

import (
	"strings"
	"testing"

	"vise/engine/event"
	"vise/engine/rule"
	"vise/store"
)

// The audit lists what speaks against the live rules; enter goes to the rule.
func TestAuditOfRules(t *testing.T) {
	b := newBench(t, newDesk(t, false), 120, 40)
	b.run(b.app.goTo(PaneRules))
	b.press("a")
	if !strings.Contains(b.app.toast.text, "no live rules") {
		t.Errorf("it says %q", b.app.toast.text)
	}
	b.put(func(tx *store.Tx) error {
		for _, r := range []rule.Rule{
			{ID: "r-1", CreatedAt: "2026-03-16T11:56:00Z", Text: "Always pass the argument reason_code when calling issue_refund.", Scope: "refunds", Status: rule.Active},
			{ID: "r-2", CreatedAt: "2026-03-16T11:57:00Z", Text: "Always pass the argument reason_code when you are calling issue_refund.", Scope: "refunds", Status: rule.Candidate},
			{ID: "r-3", CreatedAt: "2026-03-16T11:58:00Z", Text: "Look up the order first.", Scope: "orders", Status: rule.Candidate},
		} {
			if err := tx.PutRule(r); err != nil {
				return err
			}
			if err := tx.Emit(event.Event{Type: event.RuleAdd, RuleID: r.ID}); err != nil {
				return err
			}
		}
		return nil
	})
	b.pumpApp()
	// What is typed while the audit is read belongs to what was begun meanwhile.
	found := b.app.audit()()
	b.press("/")
	b.send(found)
	if len(b.app.overlays) != 0 {
		t.Error("the card opened over a search that is being typed")
	}
	b.press("esc")
	b.press("a")
	b.screenHas("audit of 3 live rules", "near duplicate", "r-1 r-2", "vise rules audit")
	b.app.ctx.Scope.Rule = "r-3"
	b.press("enter")
	if len(b.app.overlays) != 0 || b.app.ctx.Scope.Rule != "r-1" && b.app.ctx.Scope.Rule != "r-2" || b.app.focus != PaneRules {
		t.Errorf("it went to %q in %s", b.app.ctx.Scope.Rule, b.app.focus)
	}
}
