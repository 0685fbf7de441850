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

// The help says what the signs mean, and what is a key itself comes first when it is typed.
func TestHelpLegend(t *testing.T) {
	b := newBench(t, worked(t), 80, 24)
	b.press("1", "?")
	p := b.app.overlays[0].(*palette)
	b.press("G")
	if len(p.shown) == 0 || p.shown[0].ID != "move.end" {
		t.Errorf("G finds %+v first", p.shown[0])
	}
	p.input.SetValue("")
	for _, r := range "candidate rule" {
		b.press(string(r))
	}
	if text := strings.Join(b.frame(), "\n"); !strings.Contains(text, "○") || !strings.Contains(text, "a candidate rule, an offer") {
		t.Errorf("the sign of a candidate is not explained:\n%s", text)
	}
	p.input.SetValue("")
	p.filter()
	b.app.touch()
	if !strings.Contains(strings.Join(b.frame(), "\n"), "1 of ") {
		t.Error("the help does not say that there is more of it")
	}
	for range 200 {
		b.press("down")
	}
	if text := strings.Join(b.frame(), "\n"); !strings.Contains(text, legendGroup) {
		t.Errorf("the end of the help has no signs:\n%s", text)
	}
	if b.press("enter"); len(b.app.overlays) != 1 {
		t.Error("enter on a sign closes the help")
	}
	b.press("esc", ":")
	for _, r := range "turn" {
		b.press(string(r))
	}
	if p = b.app.overlays[0].(*palette); p.shown[0].ID != "find.turn" {
		t.Errorf(":turn finds %s first", p.shown[0].ID)
	}
}

// A command that was refused is not remembered.
func TestRefusedIsNotRemembered(t *testing.T) {
	b := newBench(t, worked(t), 80, 24)
	b.press("1", ":")
	for _, r := range "theme nope" {
		b.press(string(r))
	}
	b.press("enter")
	if len(b.app.recent) != 0 {
		t.Errorf("remembered: %q", b.app.recent)
	}
}
