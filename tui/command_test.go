package tui

import (
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"vise/tui/style"
)

// answer runs a command as Bubble Tea does and waits for its message. Commands that
// only let time pass have none: the tests move the clock by hand.
func answer(t testing.TB, cmd tea.Cmd) tea.Msg {
	t.Helper()
	if cmd == nil || isTimer(cmd) {
		return nil
	}
	reply := make(chan tea.Msg, 1)
	go func() { reply <- cmd() }()
	select {
	case m := <-reply:
		return m
	case <-time.After(time.Minute):
		t.Fatalf("the command %s did not answer within a minute", commandName(cmd))
		return nil
	}
}

// A timer is told from a command by its name, however the compiler inlines it.
func TestTicks(t *testing.T) {
	a, b := &App{ctx: &Context{}}, func() tea.Msg { return nil }
	for name, c := range map[string]struct {
		cmd  tea.Cmd
		tick bool
	}{
		"of tea":    {tea.Tick(time.Hour, func(time.Time) tea.Msg { return nil }), true},
		"of a pane": {later(PaneRepair, "render", time.Hour), true},
		"a toast":   {a.say(style.Dim, "word"), true},
		"a reading": {func() tea.Msg { return nil }, false},
		"a batch":   {tea.Batch(b, b), false},
	} {
		if got := isTimer(c.cmd); got != c.tick {
			t.Errorf("%s: %s is a tick: %v", name, commandName(c.cmd), got)
		}
	}
}
