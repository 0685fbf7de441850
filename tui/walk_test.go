package tui

import "testing"

// From a rule to everything it is founded on and back, with i and o alone.
func TestWalk(t *testing.T) {
	d := worked(t)
	b := newBench(t, d, 160, 50)
	at := func(want PaneID) {
		t.Helper()
		if b.app.focus != want {
			t.Fatalf("the focus is on %s, want %s\n%s", b.app.focus, want, b.screen())
		}
	}
	b.press("6", "i")
	b.screenHas("why rule r-0003", "▸notice   n-0001", "episode  e-", "trace    s-0001/2", "case     c-", "tool_correctness=0.26")
	b.press("j", "j", "j")
	b.screenHas("not replayed yet")
	b.press("k", "k", "i")
	at(PaneRepair)
	b.press("i") // unfolds
	at(PaneRepair)
	b.press("i") // the candidate of the repair
	at(PaneRules)
	b.press("o")
	at(PaneRepair)
	b.press("o") // folds
	b.press("o")
	at(PaneRules)
	b.press("i", "j", "j", "enter")
	at(PaneTrace)
	if s := b.app.ctx.Scope; s.Session != "s-0001" || s.Turn != 2 {
		t.Errorf("the trace is %s/%d", s.Session, s.Turn)
	}
	b.press("o")
	at(PaneRules)
	b.press("8", "i") // Attention names the candidate
	at(PaneRules)
	b.press("o")
	at(PaneAttention)
	b.press("D", "4", "i") // the notice of the turn leads to its repair
	b.press("9", "G", "i")
	if b.app.focus == PaneJournal {
		t.Errorf("an event of the journal leads nowhere\n%s", b.screen())
	}
	b.press("o")
	at(PaneJournal)
}

// Whoever has gone elsewhere by another way does not jump back with o.
func TestWalkForgets(t *testing.T) {
	b := newBench(t, worked(t), 160, 50)
	b.press("6", "i", "j", "i", "D", "3", "o")
	if b.app.focus != PaneTurns {
		t.Errorf("o in Trace went to %s, want Turns", b.app.focus)
	}
	for range 3 * maxSteps {
		b.press("6", "i", "j", "i")
	}
	if n := len(b.app.steps); n > maxSteps {
		t.Errorf("%d places are remembered, at most %d should be", n, maxSteps)
	}
}
