package tui

import (
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"vise/themes"
	"vise/tui/style"
	"vise/tui/vtext"
)

// autoTheme follows the terminal's background with dark and light; autoTheme:NAME does
// with NAME and its pair.
const autoTheme = "auto"

// themePicker shows the themes; the screen wears the one under the cursor while
// one moves, esc brings the old one back.
type themePicker struct {
	names []string
	at    int
	was   string
}

func newThemePicker(a *App) *themePicker {
	p := &themePicker{names: ThemeChoices(a.look.themes), was: a.look.chosen}
	p.at = max(0, slices.Index(p.names, a.look.chosen))
	return p
}

// chooseTheme sets a theme by name.
func (a *App) chooseTheme(name string) tea.Cmd {
	if !KnownTheme(a.look.themes, name) {
		return a.say(style.Warn, "no theme "+name+"; known are "+strings.Join(ThemeChoices(a.look.themes), ", "))
	}
	a.look.chosen = name
	return a.restyled()
}

// Key implements overlay.
func (p *themePicker) Key(a *App, k tea.KeyPressMsg) tea.Cmd {
	switch k.String() {
	case "esc", "q", "T":
		a.close()
		return a.chooseTheme(p.was)
	case "enter":
		a.close()
		if name := p.names[p.at]; name != p.was {
			a.did(act{Kind: actTheme, Before: said(p.was), After: said(name)})
		}
		return a.say(style.Info, "theme "+p.names[p.at]+" for this session; ui.theme in vise.toml keeps it")
	case "up", "k", "shift+tab":
		p.at = max(0, p.at-1)
	case "down", "j", "tab":
		p.at = min(p.at+1, len(p.names)-1)
	default:
		return nil
	}
	return a.chooseTheme(p.names[p.at])
}

// Card implements overlay.
func (p *themePicker) Card(a *App, w, h int) (string, []string, int, int) {
	s := a.ctx.Style
	// Files that are no theme are not among the names; why, stands below them.
	var wrong []string
	if a.look.wrong != nil {
		for _, line := range strings.Split(a.look.wrong.Error(), "\n") {
			for _, row := range vtext.Wrap(s.Clean(line), w, 2, s.Width) {
				wrong = append(wrong, s.Row(w, style.Panel).Put(style.Warn, row).String())
			}
		}
		wrong = append(wrong[:min(len(wrong), max(1, h/3))], s.Row(w, style.Panel).String())
	}
	room := max(1, h-3-len(wrong))
	top := max(0, min(p.at-room/2, len(p.names)-room))
	var rows []string
	for i := top; i < min(len(p.names), top+room); i++ {
		name := p.names[i]
		ground, mark := style.Panel, " "
		if i == p.at {
			ground, mark = style.Cursor, s.Glyphs.Pointer
		}
		r := s.Row(w, ground).Put(style.Accent, mark+" ").Cell(style.Text, name, 20)
		if t := themes.Named(a.look.themes, name); t != nil {
			r.Cell(style.Dim, string(t.Appearance), 7).Put(style.Dim, t.About)
			if t.File != "" {
				r.Put(style.Faint, " (yours)")
			}
			if len(t.Poor) > 0 {
				r.Put(style.Warn, " hard to read in "+count(len(t.Poor), "place"))
			}
		} else {
			base, _ := followed(name)
			r.Put(style.Dim, "follows the terminal: "+base)
			if t := themes.Named(a.look.themes, base); t != nil && t.Pair != "" {
				r.Put(style.Dim, " or "+t.Pair)
			}
		}
		rows = append(rows, r.String())
	}
	rows = append(append(rows, s.Row(w, style.Panel).String()), wrong...)
	rows = append(rows,
		s.Row(w, style.Panel).Put(style.Bad, s.Glyphs.Fail+" wrong  ").Put(style.Good, s.Glyphs.Pass+" better  ").
			Put(style.Warn, s.Glyphs.Held+" waits  ").Put(style.Info, s.Glyphs.Busy+" runs  ").Put(style.Dim, "dim  ").Put(style.Faint, "faint").String(),
		s.Row(w, style.Panel).Put(style.Dim, "enter uses it for this session, esc brings the old one back").String())
	return "themes", rows, -1, -1
}
