package tui

import (
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"pgregory.net/rapid"

	"vise/tui/layout"
)

// Every size of a screen, from one that shows nothing to a wall: the frame is exactly the
// screen, the focus is on it and its mark is seen, in every view, with and without zoom.
func TestSizes(t *testing.T) {
	b := newBench(t, worked(t), 120, 40)
	look := func(w, h int) {
		t.Helper()
		b.send(tea.WindowSizeMsg{Width: w, Height: h})
		rows := b.frame()
		switch layout.FormOf(w, h) {
		case layout.TooSmall:
			if text := strings.Join(rows, ""); w >= 12 && !strings.Contains(text, "too small") {
				t.Errorf("%dx%d does not say that it is too small", w, h)
			}
		default:
			if b.app.placedPane(b.app.focus) == nil {
				t.Errorf("%dx%d: the focus %s is not on the screen", w, h, b.app.focus)
			}
			if !strings.Contains(strings.Join(rows, ""), "▸"+digit(number1(b.app.focus))) {
				t.Errorf("%dx%d: the focus is not marked", w, h)
			}
		}
	}
	for _, size := range [][2]int{{1, 1}, {20, 5}, {39, 40}, {40, 12}, {80, 24}, {99, 60}, {100, 26}, {118, 34}, {200, 60}, {400, 120}} {
		for _, keys := range [][]string{{"D", "1"}, {"z"}, {"z", "3"}, {"R", "5"}, {"6", "Z"}, {"E", "7"}, {"9"}, {">", "+"}} {
			b.send(tea.WindowSizeMsg{Width: 120, Height: 40})
			b.press(keys...)
			look(size[0], size[1])
		}
	}
	rapid.Check(t, func(rt *rapid.T) {
		look(rapid.IntRange(20, 400).Draw(rt, "w"), rapid.IntRange(5, 120).Draw(rt, "h"))
	})
}
