package tui

import (
	"errors"
	"strings"
	"testing"
)

// An error that was read is dismissed, that one only, and the head says no more of it.
func TestErrorsAreDismissed(t *testing.T) {
	b := newBench(t, worked(t), 160, 50)
	b.app.incident("replay of x", errors.New("older zebra"))
	b.app.incident("replay of y", errors.New("newer zebra"))
	b.run(b.app.apply(Change{Incidents: true}))
	b.run(b.app.goTo(PaneAttention))
	b.screenHas("2 errors", "older zebra", "newer zebra")
	b.press("g", "A")
	if screen := b.screen(); strings.Contains(screen, "newer zebra") || !strings.Contains(screen, "older zebra") || !strings.Contains(screen, "idle, 1 error:") {
		t.Errorf("after the first:\n%s", screen)
	}
	b.press("A")
	if screen := b.screen(); strings.Contains(screen, "zebra") || strings.Contains(screen, "idle, 1 error") {
		t.Errorf("after the second:\n%s", screen)
	}
}
