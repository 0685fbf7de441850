package tui

import (
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
)

// A jump to a turn far outside of what is loaded brings its number, its scores and the
// turns that led to it.
func TestFarTurn(t *testing.T) {
	d := crowd(t, 1, 1100, 0)
	d.size(PaneScores, 60, 20)
	d.size(PaneTurns, 60, 20)
	d.ctx.Scope.Session, d.ctx.Scope.Turn = "refund-000000", 0
	d.apply(Change{})
	d.sees(PaneScores, "0.50", "turns 0-")
	for _, turn := range []int{1090, 700, 3, 1099} {
		d.ctx.Scope.Turn = turn
		d.apply(Change{})
		d.sees(PaneTurns, "▸"+strings.Repeat(" ", max(0, 4-len(itoa(turn))))+itoa(turn))
		d.sees(PaneScores, "0.50")
		if got, want := d.panes[PaneScores].Badge(), "turn "+itoa(turn); got != want {
			t.Errorf("the scores are headed %q, want %q", got, want)
		}
		screen := ansi.Strip(strings.Join(d.panes[PaneScores].Rows(), "\n"))
		if turn > 10 && strings.Contains(screen, "turns "+itoa(turn)+"-") {
			t.Errorf("nothing of what led to turn %d is in view:\n%s", turn, screen)
		}
	}
}
