package tui

import (
	"testing"

	tea "charm.land/bubbletea/v2"

	"vise/tui/layout"
)

func (b *bench) rect(id PaneID) layout.Rect {
	b.t.Helper()
	p := b.app.placedPane(id)
	if p == nil {
		b.t.Fatalf("pane %s is not on the screen", id)
	}
	return p.Rect
}

// Keys and the mouse move dividers; = and u bring the sizes back; Z gives most to one.
func TestResizePanes(t *testing.T) {
	b := newBench(t, worked(t), 160, 50)
	first := b.rect(PaneSessions)
	b.press("1", ">", ">", "+")
	if r := b.rect(PaneSessions); r.W != first.W+8 || r.H != first.H+2 {
		t.Errorf("after >>+: %+v, was %+v", r, first)
	}
	b.frame()
	b.press("u")
	if r := b.rect(PaneSessions); r.W != first.W+8 || r.H != first.H {
		t.Errorf("after u: %+v", r)
	}
	b.press("u", "u")
	if r := b.rect(PaneSessions); r != first {
		t.Errorf("after uuu: %+v, was %+v", r, first)
	}
	b.send(tea.KeyPressMsg{Code: 'r', Mod: tea.ModCtrl})
	if r := b.rect(PaneSessions); r.W != first.W+4 {
		t.Errorf("after ctrl+r: %+v", r)
	}
	b.press("=")
	if r := b.rect(PaneSessions); r != first {
		t.Errorf("after =: %+v", r)
	}
	// The divider between Sessions and Turns, dragged in two steps; one u takes it back.
	x, y := first.X+first.W-1, first.Y+first.H/2
	b.send(tea.MouseClickMsg{X: x, Y: y, Button: tea.MouseLeft})
	b.send(tea.MouseMotionMsg{X: x + 5, Y: y, Button: tea.MouseLeft})
	b.send(tea.MouseMotionMsg{X: x + 9, Y: y, Button: tea.MouseLeft})
	b.send(tea.MouseReleaseMsg{X: x + 9, Y: y, Button: tea.MouseLeft})
	if r := b.rect(PaneSessions); r.W != first.W+9 {
		t.Errorf("dragged: %+v, was %+v", r, first)
	}
	b.frame()
	b.press("u")
	if r := b.rect(PaneSessions); r != first {
		t.Errorf("after the drag is undone: %+v", r)
	}
	b.press("3", "Z")
	if r := b.rect(PaneTrace); r.W < 100 || r.H < 30 {
		t.Errorf("after Z: %+v", r)
	}
	b.frame()
	b.press("esc")
	if r := b.rect(PaneSessions); r != first {
		t.Errorf("after esc: %+v", r)
	}
}

// pumpApp hands the app what has happened since.
func (b *bench) pumpApp() {
	b.t.Helper()
	for {
		batch, ok := b.sub.TryNext()
		if !ok {
			return
		}
		b.send(feedMsg{batch.Events, batch.Lost > 0})
	}
}

// The mouse marks text in one pane: what is copied is what was marked.
func TestMarkText(t *testing.T) {
	b := newBench(t, worked(t), 160, 50)
	r := b.rect(PaneSessions).Inside()
	drag := func(x0, y0, x1, y1 int) string {
		b.send(tea.MouseClickMsg{X: r.X + x0, Y: r.Y + y0, Button: tea.MouseLeft})
		b.send(tea.MouseMotionMsg{X: r.X + x1, Y: r.Y + y1, Button: tea.MouseLeft})
		b.frame()
		b.send(tea.MouseReleaseMsg{X: r.X + x1, Y: r.Y + y1, Button: tea.MouseLeft})
		return b.app.markedText()
	}
	if got := drag(1, 0, 4, 0); got != "torn" {
		t.Errorf("a part of a row: %q", got)
	}
	if got := drag(4, 0, 1, 0); got != "torn" {
		t.Errorf("backwards: %q", got)
	}
	if got := drag(6, 0, 5, 1); got == "" || len(got) > 2*r.W {
		t.Errorf("two rows: %q", got)
	}
	b.send(tea.MouseClickMsg{X: r.X + 3, Y: r.Y, Button: tea.MouseLeft})
	b.send(tea.MouseReleaseMsg{X: r.X + 3, Y: r.Y, Button: tea.MouseLeft})
	b.send(tea.MouseClickMsg{X: r.X + 3, Y: r.Y, Button: tea.MouseLeft})
	if got := b.app.markedText(); got != "torn-blanket" {
		t.Errorf("a double click marks %q", got)
	}
	b.send(tea.MouseReleaseMsg{X: r.X + 3, Y: r.Y, Button: tea.MouseLeft})
	b.send(tea.MouseClickMsg{X: r.X + 3, Y: r.Y, Button: tea.MouseLeft})
	if got := b.app.markedText(); len(got) < 20 {
		t.Errorf("a triple click marks %q", got)
	}
	b.frame()
	if b.press("down"); b.app.marked.on {
		t.Error("a key does not end the marking")
	}
}

func TestClipboardProgram(t *testing.T) {
	look := func(name string) (string, error) {
		if name == "xclip" || name == "pbcopy" {
			return name, nil
		}
		return "", exec404
	}
	env := func(kv map[string]string) func(string) string { return func(k string) string { return kv[k] } }
	if p := clipboardProgram(env(map[string]string{"DISPLAY": ":0", "SSH_TTY": "/dev/pts/1"}), look); p != nil {
		t.Errorf("over SSH: %q", p)
	}
	if p := clipboardProgram(env(map[string]string{"WAYLAND_DISPLAY": "w", "DISPLAY": ":0"}), look); len(p) == 0 {
		t.Error("on a desktop: none")
	}
}

var exec404 = errNotFound{}

type errNotFound struct{}

func (errNotFound) Error() string { return "not found" }
