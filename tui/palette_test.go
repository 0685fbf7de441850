package tui

import (
	"strings"
	"testing"
)

// The palette takes arguments, remembers what was run with them, and lists that first.
func TestPaletteRemembers(t *testing.T) {
	b := newBench(t, worked(t), 120, 40)
	typed := func(text string) {
		for _, r := range text {
			b.press(string(r))
		}
	}
	b.press("1", ":")
	typed("themes light")
	b.press("enter")
	if b.app.look.chosen != "light" {
		t.Fatalf(":themes light chose %s", b.app.look.chosen)
	}
	b.press(":")
	typed("filter status:fail")
	b.press("enter")
	if f := b.app.panes[PaneSessions].(Filterer).Filtered(); f != "status:fail" {
		t.Fatalf(":filter filters by %q", f)
	}
	b.press("u", "u")
	if b.app.look.chosen != "dark" {
		t.Errorf("uu left the theme %s", b.app.look.chosen)
	}
	b.press(":")
	p := b.app.overlays[0].(*palette)
	if len(p.shown) < 3 || p.shown[0].text() != "filter status:fail" || p.shown[1].text() != "themes light" || !p.shown[0].recent {
		t.Errorf("the first commands are %q, %q", p.shown[0].text(), p.shown[1].text())
	}
	if text := strings.Join(b.frame(), ""); !strings.Contains(text, "recent") {
		t.Error("what is recent does not say so")
	}
	b.press("down", "enter")
	if b.app.look.chosen != "light" {
		t.Errorf("the remembered command chose %s", b.app.look.chosen)
	}
	// An action that needs an argument asks for it.
	b.press("#")
	if p, ok := b.app.overlays[0].(*palette); !ok || p.input.Value() != "turn " {
		t.Error("# does not ask for a turn")
	}
}
