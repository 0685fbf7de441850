package tui

import (
	"slices"
	"strings"

	"charm.land/bubbles/v2/textinput"
	tea "charm.land/bubbletea/v2"
	"github.com/sahilm/fuzzy"

	"vise/tui/action"
	"vise/tui/style"
)

// palette lists actions: `:` with fuzzy search, `?` grouped by what they are for.
// Enter runs the one under the cursor, what is not possible now says why.
type palette struct {
	title  string
	input  textinput.Model
	all    []action.Action
	shown  []action.Action
	groups bool
	at     int
}

func newPalette(a *App) *palette {
	p := &palette{title: "commands", input: newInput(""), all: slices.Clone(a.reg.All())}
	p.filter()
	return p
}

// newHelpCard is the list of keys: what the pane with the focus adds comes first.
func newHelpCard(a *App) *palette {
	p := &palette{title: "keys", input: newInput(""), groups: true}
	for _, own := range []bool{true, false} {
		for _, act := range a.reg.All() {
			if (len(act.Panes) > 0) == own && act.For(string(a.focus)) {
				p.all = append(p.all, act)
			}
		}
	}
	p.filter()
	return p
}

// filter keeps what matches; the argument after the first space of a title that
// takes one is not part of the search.
func (p *palette) filter() {
	p.at = 0
	q := strings.TrimSpace(p.input.Value())
	if q == "" {
		p.shown = p.all
		return
	}
	if p.withArg(q) {
		return
	}
	names := make([]string, len(p.all))
	for i, a := range p.all {
		names[i] = a.Title + " " + string(a.ID) + " " + strings.Join(a.Keys, " ")
	}
	p.shown = nil
	for _, m := range fuzzy.Find(q, names) {
		p.shown = append(p.shown, p.all[m.Index])
	}
}

// withArg recognises "theme dark": the last part of an id, a space, an argument.
func (p *palette) withArg(q string) bool {
	name, _, ok := strings.Cut(q, " ")
	if !ok {
		return false
	}
	for _, a := range p.all {
		if _, last, _ := strings.Cut(string(a.ID), "."); a.Arg != "" && strings.HasPrefix(last, name) {
			p.shown = []action.Action{a}
			return true
		}
	}
	return false
}

func (p *palette) arg() string {
	_, arg, _ := strings.Cut(strings.TrimSpace(p.input.Value()), " ")
	if len(p.shown) == 1 && p.shown[0].Arg != "" {
		return strings.TrimSpace(arg)
	}
	return ""
}

// Key implements overlay.
func (p *palette) Key(a *App, k tea.KeyPressMsg) tea.Cmd {
	switch k.String() {
	case "esc":
		return a.close()
	case "up", "ctrl+p", "shift+tab":
		p.at = max(0, p.at-1)
		return nil
	case "down", "ctrl+n", "tab":
		p.at = max(0, min(p.at+1, len(p.shown)-1))
		return nil
	case "pgdown":
		p.at = max(0, min(p.at+10, len(p.shown)-1))
		return nil
	case "pgup":
		p.at = max(0, p.at-10)
		return nil
	case "enter":
		if len(p.shown) == 0 {
			return nil
		}
		act, arg := p.shown[p.at], p.arg()
		a.close()
		return a.do(act.ID, arg)
	}
	if p.groups && p.input.Value() == "" && (k.String() == "?" || k.String() == "q") {
		return a.close()
	}
	before := p.input.Value()
	var cmd tea.Cmd
	p.input, cmd = p.input.Update(k)
	if p.input.Value() != before {
		p.filter()
	}
	return cmd
}

// Paste implements paster.
func (p *palette) Paste(a *App, m tea.PasteMsg) tea.Cmd {
	var cmd tea.Cmd
	p.input, cmd = p.input.Update(m)
	p.filter()
	return cmd
}

// Card implements overlay.
func (p *palette) Card(a *App, w, h int) (string, []string, int, int) {
	s := a.ctx.Style
	value := p.input.Value()
	prompt := s.Row(w, style.Panel).Put(style.Key, ": ")
	if value == "" {
		prompt.Put(style.Faint, "type to search, enter runs, esc closes")
	} else {
		prompt.Put(style.Text, value)
	}
	list, cursor := p.lines(value == "")
	// The reason of the one under the cursor is told in full.
	reason := s.Row(w, style.Panel)
	if p.at < len(p.shown) {
		reason.Put(style.Warn, a.disabled(p.shown[p.at].ID))
	}
	rows := []string{prompt.String(), reason.String()}
	room := max(1, h-len(rows))
	top := max(0, min(cursor-room/2, len(list)-room))
	for i := top; i < min(len(list), top+room); i++ {
		l := list[i]
		if l.group != "" {
			rows = append(rows, s.Row(w, style.Panel).Put(style.Heading, l.group).String())
			continue
		}
		ground := style.Panel
		if i == cursor {
			ground = style.Cursor
		}
		role, why := style.Text, ""
		if why = a.disabled(l.act.ID); why != "" {
			role = style.Faint
		}
		keys := make([]string, len(l.act.Keys))
		for j, k := range l.act.Keys {
			keys[j] = action.KeyName(k)
		}
		r := s.Row(w, ground).Space(1)
		if i == cursor {
			r = s.Row(w, ground).Put(style.Accent, s.Glyphs.Pointer)
		}
		r.Cell(style.Key, strings.Join(keys, " "), 15).Put(role, l.act.Title)
		if l.act.Arg != "" {
			r.Put(style.Faint, " "+strings.ToUpper(l.act.Arg))
		}
		if r.Left() >= s.Width(why)+2 {
			r.Put(style.Faint, "  "+why)
		}
		rows = append(rows, r.String())
	}
	if len(list) == 0 {
		rows = append(rows, s.Row(w, style.Panel).Put(style.Dim, "no command matches").String())
	}
	// The box keeps its place while what is typed leaves fewer commands.
	for range min(room, p.height()) + 2 - len(rows) {
		rows = append(rows, s.Row(w, style.Panel).String())
	}
	before := string([]rune(value)[:p.input.Position()])
	return p.title, rows, min(w-1, 2+s.Width(s.Clean(before))), 0
}

type paletteLine struct {
	act   action.Action
	group string
}

// height is how many rows all actions have, with the names of their groups.
func (p *palette) height() int {
	n, last := len(p.all), ""
	for _, act := range p.all {
		if p.groups && act.Group != last {
			last = act.Group
			n++
		}
	}
	return n
}

// lines are the actions with the names of their groups between them; cursor is the
// line that is selected.
func (p *palette) lines(grouped bool) (out []paletteLine, cursor int) {
	last := ""
	for i, act := range p.shown {
		if p.groups && grouped && act.Group != last {
			last = act.Group
			out = append(out, paletteLine{group: last})
		}
		if i == p.at {
			cursor = len(out)
		}
		out = append(out, paletteLine{act: act})
	}
	return out, cursor
}
