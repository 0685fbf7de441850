package tui

import (
	"image/color"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"vise/themes"
	"vise/tui/action"
)

// The first frame is not painted before the background is known or the wait is
// over; the environment is believed until the terminal answers.
func TestFirstPaint(t *testing.T) {
	list, err := themes.Builtin()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		fgbg  string
		reply tea.Msg
		theme string
	}{
		{"", paintMsg{}, "dark"},
		{"15;0", paintMsg{}, "dark"},
		{"0;15", paintMsg{}, "light"},
		{"0;default;7", paintMsg{}, "light"},
		{"0;15", tea.BackgroundColorMsg{Color: color.Black}, "dark"},
		{"", tea.BackgroundColorMsg{Color: color.White}, "light"},
	} {
		a := newApp(t.Context(), Config{Theme: autoTheme, Now: time.Now, themes: list, Env: []string{"COLORFGBG=" + c.fgbg}}, action.Default(), &Conductor{})
		a.Init()
		if v := a.View(); v.Content != "" || !v.AltScreen {
			t.Errorf("%q: painted before anything is known", c.fgbg)
		}
		a.Update(c.reply)
		if got := a.ctx.Style.Theme().Name; got != c.theme || !strings.Contains(a.View().Content, "vise") {
			t.Errorf("%q, %T: theme %s, want %s, painted", c.fgbg, c.reply, got, c.theme)
		}
	}
}

// A record cannot put a sequence on the clipboard that the next terminal obeys.
func TestCopyIsVisible(t *testing.T) {
	b := newBench(t, worked(t), 120, 40)
	b.app.panes[PaneRules].(*rulesPane).list.Items()[0].Text = "a\x1b[31mb\nc"
	b.press("6", "y")
	if got := b.app.toast.text; !strings.HasSuffix(got, "a\\x1b[31mb\nc") {
		t.Errorf("sent %q", got)
	}
}
