package tui

import (
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
)

// No key does nothing without saying why.
func TestKeysSayWhy(t *testing.T) {
	for _, x := range []struct {
		w, h int
		keys []string
		want string
	}{
		{140, 40, []string{"1", "a"}, "a is for 8 Attention (resume)"},
		{140, 40, []string{"1", "A"}, "A is for 8 Attention (acknowledge)"},
		{140, 40, []string{"1", "X"}, "no session is selected"},
		{140, 40, []string{"2", "X"}, "6 Rules (retire), 1 Sessions (remove)"},
		{140, 40, []string{"9", "U"}, "U is for 6 Rules (restore)"},
		{140, 40, []string{"1", "h"}, "nothing to fold in 1 Sessions"},
		{140, 40, []string{"1", "l"}, "nothing to fold in 1 Sessions"},
		{140, 40, []string{"1", "o"}, "nothing to go out to from 1 Sessions"},
		{80, 24, []string{"1", "z"}, "this pane fills the screen"},
		{140, 40, []string{"D", "["}, "no turns to go through"},
		{140, 40, []string{"R", "["}, "no repair to go through"},
	} {
		b := newBench(t, newDesk(t, false), x.w, x.h)
		b.press(x.keys...)
		if got := b.app.toast.text; !strings.Contains(got, x.want) {
			t.Errorf("%v at %dx%d says %q, want %q", x.keys, x.w, x.h, got, x.want)
		}
		b.press("k")
		if strings.Contains(b.app.toast.text, x.want) {
			t.Errorf("the answer to %v stays after the next key", x.keys)
		}
	}
}

// Where nothing can be seen nothing is done.
func TestTooSmallTakesNoKeys(t *testing.T) {
	b := newBench(t, newDesk(t, false), 140, 40)
	b.send(tea.WindowSizeMsg{Width: 20, Height: 5})
	view, focus := b.app.view, b.app.focus
	for _, k := range []string{"R", "r", "5", "/", ":", "?", "v"} {
		b.press(k)
	}
	if b.app.view != view || b.app.focus != focus || b.app.search != nil || len(b.app.overlays) > 0 || b.app.conductor.Running().Kind != Idle {
		t.Error("a key was taken unseen")
	}
	if cmd := b.app.key(press("q")); cmd == nil {
		t.Error("q must quit")
	}
}
