package tui

import (
	"strings"
	"testing"
)

func TestLinks(t *testing.T) {
	for text, want := range map[string]Link{
		"vise://session/s-1/turn/7?pane=trace":    {Kind: "session", ID: "s-1", Turn: 7, Pane: PaneTrace},
		"vise://session/s-1":                      {Kind: "session", ID: "s-1", Turn: NoTurn},
		"vise://session/a%2Fb%20c/turn/0/span/x1": {Kind: "session", ID: "a/b c", Turn: 0, Span: "x1"},
		"vise://episode/e-1/step/3?pane=repair":   {Kind: "episode", ID: "e-1", Turn: NoTurn, Step: 3, Pane: PaneRepair},
		"vise://rule/r-1":                         {Kind: "rule", ID: "r-1", Turn: NoTurn},
		"vise://case/c-1":                         {Kind: "case", ID: "c-1", Turn: NoTurn},
	} {
		l, err := ParseLink(text)
		if err != nil || l != want {
			t.Errorf("%s: %+v, %v", text, l, err)
		}
		if l.String() != text {
			t.Errorf("%s writes itself as %s", text, l)
		}
	}
	for _, text := range []string{"", "http://x", "vise://", "vise://session", "vise://session/", "vise://sess/x", "vise://session/x/turn/-1", "vise://session/x/turn/two",
		"vise://session/x/span/y", "vise://rule/r/turn/1", "vise://session/x?pane=kitchen", "vise://session/x?run=rm", "vise://session/%zz", "vise://session/x/turn", "vise://" + strings.Repeat("a", 3000)} {
		if l, err := ParseLink(text); err == nil || !strings.HasPrefix(err.Error(), "link ") {
			t.Errorf("%q: %+v, %v", text, l, err)
		}
	}
}

func FuzzParseLink(f *testing.F) {
	f.Add("vise://session/s-1/turn/7?pane=trace")
	f.Add("vise://episode/e%2F/step/3")
	f.Fuzz(func(t *testing.T, text string) {
		l, err := ParseLink(text)
		if err != nil {
			return
		}
		if again, err := ParseLink(l.String()); err != nil || again != l {
			t.Fatalf("%q reads as %+v, and that as %+v, %v", text, l, again, err)
		}
	})
}

// L copies the place, O goes there from anywhere.
func TestLinkThereAndBack(t *testing.T) {
	b := newBench(t, worked(t), 160, 50)
	b.app.ctx.Scope.Session, b.app.ctx.Scope.Turn = "s-0001", 1
	b.send(nil)
	b.press("3", "down")
	l, ok := b.app.link()
	if !ok || l.Kind != "session" || l.Turn != 1 || l.Span == "" || l.Pane != PaneTrace {
		t.Fatalf("the link is %+v", l)
	}
	b.press("E")
	b.app.ctx.Scope.Session, b.app.ctx.Scope.Turn = b.head.ID, 0
	b.send(nil)
	b.press("O")
	for _, r := range l.String() {
		b.press(string(r))
	}
	b.press("enter")
	if s := b.app.ctx.Scope; s.Session != "s-0001" || s.Turn != 1 || s.Span != l.Span || b.app.focus != PaneTrace || b.app.view != debugView {
		t.Errorf("went to %+v, pane %s", s, b.app.focus)
	}
	b.send(b.app.openLink("vise://session/nobody")())
	if !strings.Contains(b.app.toast.text, "this project has no session/nobody") {
		t.Errorf("of a place that is not there: %q", b.app.toast.text)
	}
	b.press("1", "#", "2", "enter")
	if b.app.ctx.Scope.Turn != 2 || b.app.focus != PaneTurns {
		t.Errorf(":turn 2 went to turn %d, pane %s", b.app.ctx.Scope.Turn, b.app.focus)
	}
	b.press("#", "9", "9", "enter")
	if !strings.Contains(b.app.toast.text, "has no turn 99") {
		t.Errorf("of a turn that is not there: %q", b.app.toast.text)
	}
}
