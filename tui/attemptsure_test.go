package tui

import (
	"strings"
	"testing"

	"vise/engine/patch"
	"vise/engine/patch/risk"
	"vise/engine/patch/run"
	"vise/tui/action"
)

// The second press counts for the reasons that were shown: after a new proof with
// more of them the person is asked again. While one patch is written no other
// press does anything.
func TestSecondPressIsForTheReasonsShown(t *testing.T) {
	p, ctx := newAttempts(), &Context{Patch: &patch.Bench{}, Keys: action.Default()}
	r := run.Run{ID: "20270114T091500Z-5c0ffee5c0de", Proof: &run.Proof{Verdict: run.Proven}, Causes: []risk.Cause{{Code: "command_action", Action: "review", Detail: "sh"}}}
	p.list.Set([]attemptRow{{run: r}}, false, false)
	asks := func() bool {
		say, ok := p.apply(ctx)().(sayMsg)
		return ok && strings.Contains(say.text, "look at it first")
	}
	p.detail.run = r
	if !asks() {
		t.Fatal("the first press does not ask")
	}
	r.Causes = append(r.Causes, risk.Cause{Code: "incomplete", Detail: "x"})
	p.detail.run = r
	if !asks() {
		t.Fatal("a reason that was never shown was taken for seen")
	}
	if why := p.Disabled(ctx, action.PatchApply); why != "" {
		t.Fatalf("a is disabled: %s", why)
	}
	if cmd := p.apply(ctx); cmd == nil {
		t.Fatal("the second press does nothing")
	}
	for _, id := range []action.ID{action.PatchApply, action.PatchUndo} {
		if why := p.Disabled(ctx, id); !strings.Contains(why, "being written") {
			t.Errorf("%s while a patch is written: %q", id, why)
		}
	}
	p.Take(ctx, mended{what: "applied"})
	if why := p.Disabled(ctx, action.PatchApply); why != "" {
		t.Errorf("a stays disabled: %s", why)
	}
}
