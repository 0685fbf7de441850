package tui

import (
	"strings"
	"testing"

	"vise/engine/rule"
	"vise/store"
)

// A rule that evidence has judged is not validated again: the key says why, and
// nothing waits in Attention for it.
func TestValidateJudgedRule(t *testing.T) {
	b := newBench(t, worked(t), 160, 40)
	p := b.app.panes[PaneRules].(*rulesPane)
	rules := p.list.Items()
	if len(rules) != 1 {
		t.Fatalf("rules %+v, want one", rules)
	}
	judged := rules[0]
	judged.Status = rule.Active
	b.put(func(tx *store.Tx) error { return tx.PutRule(judged) })
	b.run(b.app.apply(Change{Reload: true}))
	b.app.ctx.Scope.Rule = rules[0].ID
	b.send(nil)
	b.press("V")
	if said := b.app.toast.text; !strings.Contains(said, "is active: only candidates are validated") {
		t.Errorf("V says %q", said)
	}
	if n := len(b.app.ctx.Incidents); n > 0 || b.app.conductor.Running().Kind != Idle {
		t.Errorf("%d incidents, running %+v", n, b.app.conductor.Running())
	}
}
