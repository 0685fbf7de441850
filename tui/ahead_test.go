package tui

import (
	"testing"

	tea "charm.land/bubbletea/v2"
)

// burst presses keys before anything that they ask for is answered, as keys arrive that are
// written at once, and answers then.
func (b *bench) burst(keys ...string) {
	b.t.Helper()
	var cmds []tea.Cmd
	for _, k := range keys {
		_, cmd := b.app.Update(press(k))
		cmds = append(cmds, cmd)
	}
	for _, cmd := range cmds {
		b.run(cmd)
	}
	b.pumpApp()
}

// A key behind a movement means the row that the movement leads to, also where the rows
// there must be read first.
func TestKeysWaitForTheMovementBeforeThem(t *testing.T) {
	b := many(t, 700)
	b.press("1", "g")
	was := b.app.ctx.Scope.Session
	b.burst("G", "*")
	if h, _ := b.headOf("s-0000"); !h.Pinned {
		t.Errorf("the last session is not pinned; the scope is at %s", b.app.ctx.Scope.Session)
	}
	if h, _ := b.headOf(was); h.Pinned {
		t.Error("the session that was left is pinned")
	}
	b.burst("g", "G", "k", "X")
	if _, ok := b.headOf("s-0002"); len(b.app.ahead.keys) != 0 || b.app.ahead.reads != 0 || ok {
		t.Errorf("%d keys wait for %d reads, the row above the last is there: %v", len(b.app.ahead.keys), b.app.ahead.reads, ok)
	}
}

// Every u takes one act back, however fast they come.
func TestQuickUndo(t *testing.T) {
	b := many(t, 3)
	b.step("1", "g", "*", "G", "*")
	if n := b.app.acts.next; n != 2 {
		t.Fatalf("%d acts", n)
	}
	b.burst("u", "u", "u")
	for _, id := range []string{"s-0002", "s-0000"} {
		if h, _ := b.headOf(id); h.Pinned {
			t.Errorf("%s is still pinned", id)
		}
	}
	if b.app.acts.next != 0 || len(b.app.ahead.keys) != 0 {
		t.Errorf("%d acts are left, %d keys wait", b.app.acts.next, len(b.app.ahead.keys))
	}
}
