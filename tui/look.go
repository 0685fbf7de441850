package tui

import (
	"errors"
	"path/filepath"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"vise/themes"
	"vise/tui/style"
)

// ownColours is the theme that is drawn in the terminal's own sixteen colours.
const ownColours = "ansi"

// look is which theme is drawn and how.
type look struct {
	themes  []*themes.Theme
	wrong   error  // why files of one's own are no themes
	chosen  string // a theme's name; "auto" and "auto:NAME" follow the terminal
	options style.Options
	// termDark is the terminal's background, once it has told.
	known, termDark bool
	// sixteen: the terminal has 16 colours. The nearest of them to a theme's own are hard
	// to read on one another, so a theme that follows the terminal gives way to its colours.
	sixteen bool
	// hinted: until it has, the environment tells it, as light.
	hinted, light bool
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
	pick := l.pick(dark)
	// A terminal that does not tell its background may have the other one: a theme that
	// a person chose by name is painted with its own ground there.
	l.options.Fill = pick.Appearance != themes.Any && ((pick.Appearance == themes.Dark) != dark || !l.known && !l.hinted && !l.follows())
	l.options.Epoch++
	a.ctx.Style = style.New(pick, l.options)
}

// pick is the theme to draw: the chosen one, or that of a pair which fits the
// terminal. What is not there (any more) gives way to dark and light.
func (l *look) pick(dark bool) *themes.Theme {
	name, follows := followed(l.chosen)
	if t := themes.Named(l.themes, ownColours); follows && l.sixteen && t != nil {
		return t
	}
	if !follows {
		if t := themes.Named(l.themes, name); t != nil {
			return t
		}
		name = string(themes.Dark)
	}
	fits := func(t *themes.Theme) bool { return t != nil && (t.Appearance == themes.Dark) == dark }
	for _, start := range []string{name, string(themes.Dark)} {
		t := themes.Named(l.themes, start)
		if t == nil {
			continue
		}
		if pair := themes.Named(l.themes, t.Pair); !fits(t) && fits(pair) {
			return pair
		}
		if fits(t) || t.Appearance == themes.Any {
			return t
		}
	}
	for _, t := range l.themes {
		if fits(t) {
			return t
		}
	}
	return l.themes[0]
}

// followed splits "auto:NAME": of NAME and its pair the one that fits the terminal;
// "auto" is that of dark. Any other name is itself.
func followed(chosen string) (name string, follows bool) {
	if chosen == autoTheme {
		return string(themes.Dark), true
	}
	if name, ok := strings.CutPrefix(chosen, autoTheme+":"); ok {
		return name, true
	}
	return chosen, false
}

// ThemeChoices are the values of ui.theme that a list of themes allows: auto, auto:NAME
// for each theme that has a pair (once a pair, by its dark one), and the names.
func ThemeChoices(list []*themes.Theme) []string {
	out := []string{autoTheme}
	for _, t := range list {
		if t.Appearance == themes.Dark && t.Name != string(themes.Dark) && themes.Named(list, t.Pair) != nil {
			out = append(out, autoTheme+":"+t.Name)
		}
	}
	for _, t := range list {
		out = append(out, t.Name)
	}
	return out
}

// KnownTheme reports whether ui.theme may be that: a choice, or auto: before either
// theme of a pair.
func KnownTheme(list []*themes.Theme, chosen string) bool {
	name, follows := followed(chosen)
	return chosen == autoTheme || themes.Named(list, name) != nil && (!follows || themes.Named(list, name).Pair != "")
}

// follows reports whether the terminal decides which theme is drawn.
func (l *look) follows() bool {
	_, ok := followed(l.chosen)
	return ok
}

// reread takes the themes as they are on disk now. Those that cannot be used are told
// in Attention with their file and line, and the look stays as it was.
func (a *App) reread(m themesMsg) tea.Cmd {
	a.look.wrong = nil
	kept := a.ctx.Incidents[:0:0]
	for _, x := range a.ctx.Incidents {
		if x.What != themesIncident {
			kept = append(kept, x)
		}
	}
	a.ctx.Incidents = kept
	if len(m.list) > 0 {
		a.look.themes = m.list
	}
	cmds := []tea.Cmd{a.restyled()}
	if m.err != nil {
		told := errors.New(strings.ReplaceAll(m.err.Error(), a.cfg.ThemeDir+string(filepath.Separator), ""))
		a.look.wrong = told
		a.incident(themesIncident, told)
		cmds = append(cmds, a.say(style.Bad, firstLine(told.Error())))
	} else {
		cmds = append(cmds, a.say(style.Info, "themes read again"))
	}
	if a.ready() {
		cmds = append(cmds, a.apply(Change{Incidents: true}))
	}
	return tea.Batch(cmds...)
}

// restyled is restyle with the panes told.
func (a *App) restyled() tea.Cmd {
	a.restyle()
	if !a.ready() {
		a.touch()
		return nil
	}
	cmd := a.apply(Change{Style: true})
	if a.search != nil { // texts of another look are made anew
		if p, ok := a.panes[a.search.pane].(Searcher); ok {
			a.search.total = p.Search(a.ctx, a.search.input.Value())
		}
	}
	return cmd
}
