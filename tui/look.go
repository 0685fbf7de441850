package tui

import (
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"vise/themes"
	"vise/tui/style"
)

// look is which theme is drawn and how.
type look struct {
	themes  []*themes.Theme
	chosen  string // a theme's name; "auto" follows the terminal
	options style.Options
	// termDark is the terminal's background, once it has told.
	known, termDark bool
	// light: until it has, the environment says that the background is light.
	light bool
	// waits: nothing is painted yet, so that a light terminal does not flash dark.
	waits bool
}

// paintAfter is how long the first frame waits for the terminal to tell its
// background: longer than a local terminal needs, shorter than a person notices.
const paintAfter = 40 * time.Millisecond

// paint lets frames be drawn.
func (a *App) paint() {
	if a.look.waits {
		a.look.waits = false
		a.touch()
	}
}

// lightBackground reads COLORFGBG, which rxvt, Konsole and others set to
// "foreground;background" in colours of the palette: 7 and 15 are the white ones.
func lightBackground(value string) bool {
	last := value[strings.LastIndexByte(value, ';')+1:]
	return last == "7" || last == "15"
}

// restyle makes the style anew from what is known.
func (a *App) restyle() {
	l := &a.look
	dark := l.termDark
	if !l.known {
		dark = !l.light
	}
	var pick *themes.Theme
	for _, t := range l.themes {
		if t.Name == l.chosen {
			pick = t
		}
	}
	if pick == nil {
		for _, t := range l.themes {
			if (t.Appearance == themes.Dark) == dark {
				pick = t
				break
			}
		}
	}
	if pick == nil {
		pick = l.themes[0]
	}
	l.options.Fill = l.known && (pick.Appearance == themes.Dark) != l.termDark
	l.options.Epoch++
	a.ctx.Style = style.New(pick, l.options)
}

// restyled is restyle with the panes told.
func (a *App) restyled() tea.Cmd {
	a.restyle()
	if !a.ready() {
		a.touch()
		return nil
	}
	return a.apply(Change{Style: true})
}
