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
	signs  []choice // of the help: what the signs mean
	recent []choice // newest first
	shown  []choice
	groups bool
	at     int
}

// choice is a command of the palette: an action, with an argument or without.
type choice struct {
	action.Action
	arg    string
	recent bool
}

// text is the choice as it is typed and remembered.
func (c choice) text() string {
	_, last, ok := strings.Cut(string(c.ID), ".")
	if !ok {
		last = string(c.ID)
	}
	if c.arg != "" {
		return last + " " + c.arg
	}
	return last
}

// maxRecent bounds the commands that are remembered, shownRecent those that are listed
// before the others.
const (
	maxRecent   = 50
	shownRecent = 5
)

// ask opens the palette at an action that needs an argument.
func (a *App) ask(id action.ID) tea.Cmd {
	p := newPalette(a)
	act, _ := a.reg.Action(id)
	p.input.SetValue(choice{Action: act}.text() + " ")
	p.input.CursorEnd()
	p.filter()
	return a.open(p)
}

// remember takes a command into the palette's history.
func (a *App) remember(c choice) {
	line := string(c.ID) + " " + c.arg
	a.recent = slices.DeleteFunc(slices.Clone(a.recent), func(s string) bool { return s == line })
	a.recent = append([]string{line}, a.recent...)
	a.recent = a.recent[:min(len(a.recent), maxRecent)]
	a.unsaved = true
}

func newPalette(a *App) *palette {
	p := &palette{title: "commands", input: newInput(""), all: slices.Clone(a.reg.All())}
	for _, line := range a.recent {
		id, arg, _ := strings.Cut(line, " ")
		if act, ok := a.reg.Action(action.ID(id)); ok {
			p.recent = append(p.recent, choice{act, arg, true})
		}
	}
	p.filter()
	return p
}

// newHelpCard is the list of keys: what the pane with the focus adds comes first.
func newHelpCard(a *App) *palette {
	p := &palette{title: "keys", input: newInput(""), groups: true, signs: legend(a.ctx.Style.Glyphs)}
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
		p.shown = append([]choice(nil), p.recent[:min(len(p.recent), shownRecent)]...)
		for _, act := range p.all {
			p.shown = append(p.shown, choice{Action: act})
		}
		p.shown = append(p.shown, p.signs...)
		return
	}
	if !p.groups && p.withArg(q) {
		return
	}
	var list []choice
	for _, c := range p.recent {
		if c.arg != "" {
			list = append(list, c)
		}
	}
	for _, act := range p.all {
		list = append(list, choice{Action: act})
	}
	list = append(list, p.signs...)
	names := make([]string, len(list))
	for i, c := range list {
		names[i] = c.Title + " " + string(c.ID) + " " + c.arg + " " + strings.Join(c.Keys, " ")
	}
	p.shown = nil
	var rest []choice
	low := strings.ToLower(q)
	for _, m := range fuzzy.Find(q, names) {
		// What begins with what is typed, or has a word that does, comes before the rest.
		if strings.Contains(" "+strings.NewReplacer(".", " ", "_", " ", ":", " ").Replace(strings.ToLower(names[m.Index])), " "+low) {
			p.shown = append(p.shown, list[m.Index])
		} else {
			rest = append(rest, list[m.Index])
		}
	}
	p.shown = append(p.shown, rest...)
	// What is a key itself comes first, since who presses one in the help asks what it
	// does; then what is a command's whole name.
	exact := func(c choice) int {
		switch {
		case slices.Contains(c.Keys, q):
			return 0
		case c.arg == "" && c.ID != "" && c.text() == low:
			return 1
		}
		return 2
	}
	slices.SortStableFunc(p.shown, func(x, y choice) int { return exact(x) - exact(y) })
}

// withArg recognises "theme dark": the last part of an id, a space, an argument.
func (p *palette) withArg(q string) bool {
	name, arg, ok := strings.Cut(strings.TrimLeft(p.input.Value(), " "), " ")
	if !ok {
		return false
	}
	arg = strings.TrimSpace(arg)
	for _, exact := range []bool{true, false} {
		for _, a := range p.all {
			last := choice{Action: a}.text()
			if a.Arg == "" || last != name && (exact || !strings.HasPrefix(last, name)) {
				continue
			}
			p.shown = []choice{{Action: a, arg: arg}}
			for _, c := range p.recent { // what it was given before
				if c.ID == a.ID && c.arg != "" && c.arg != arg && strings.HasPrefix(c.arg, arg) {
					p.shown = append(p.shown, c)
				}
			}
			return true
		}
	}
	return false
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
		return p.run(a, p.shown[p.at])
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

// run closes the palette and runs a command, or asks for the text that it needs.
func (p *palette) run(a *App, c choice) tea.Cmd {
	if c.ID == "" {
		return nil // a sign
	}
	a.close()
	if needsText(c.Action) && c.arg == "" {
		return a.ask(c.ID)
	}
	said := a.toast.id
	cmd := a.do(c.ID, c.arg)
	if refused := a.toast.id != said && (a.toast.role == style.Warn || a.toast.role == style.Bad); !p.groups && !refused {
		a.remember(c)
	}
	return cmd
}

// needsText reports whether an action can do nothing without its argument; the others ask
// for it by themselves or have a default.
func needsText(act action.Action) bool {
	switch act.ID {
	case action.Themes, action.Filter, action.Search, action.Breakpoint, action.Edit, action.Diff, action.Fork, action.Log, action.Pick:
		return false
	}
	return act.Arg != ""
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
	place := ""
	if room := h - 2; len(list) > room {
		place = thousands(p.at+1) + " of " + thousands(len(p.shown))
	}
	if p.at < len(p.shown) {
		reason.Cell(style.Warn, a.disabled(p.shown[p.at].ID), max(0, w-s.Width(place)))
	}
	reason.Fill(s.Width(place)).Put(style.Faint, place)
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
		switch {
		case l.act.arg != "":
			r.Put(style.Accent, " "+l.act.arg)
		case l.act.Arg != "":
			r.Put(style.Faint, " "+strings.ToUpper(l.act.Arg))
		}
		if l.act.recent {
			r.Put(style.Faint, "  recent")
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
	act   choice
	group string
}

// height is how many rows all actions have, with the names of their groups.
func (p *palette) height() int {
	n, last := len(p.all)+min(len(p.recent), shownRecent)+len(p.signs), ""
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
