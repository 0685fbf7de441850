package tui

import (
	"context"
	"strings"

	"charm.land/bubbles/v2/textinput"
	tea "charm.land/bubbletea/v2"
	"github.com/sahilm/fuzzy"

	"vise/engine/trace"
	"vise/store"
	"vise/tui/style"
)

// maxPicked bounds the sessions that the picker knows: the pinned and the newest.
const maxPicked = 10_000

// sessionPick finds a session by any letters of its name, its id, its first input or its
// agent, in their order.
type sessionPick struct {
	input textinput.Model
	list  []sessionRow
	texts []string // all that is searched
	names []string // what a session is called: its name and its id
	whole bool     // list has every session
	shown []int
	at    int
}

// pickMsg are the sessions to pick from.
type pickMsg struct {
	list  []sessionRow
	whole bool
	query string
	err   error
}

// pick reads the sessions and opens the picker over them.
func (a *App) pick(query string) tea.Cmd {
	s, end := a.ctx.Store, a.ctx.Ctx
	return func() tea.Msg {
		m := pickMsg{query: query}
		m.list, m.whole, m.err = pickable(end, s)
		return m
	}
}

func pickable(end context.Context, s *store.Store) (out []sessionRow, whole bool, err error) {
	after := ""
	for len(out) < maxPicked && end.Err() == nil {
		var heads []trace.Session
		if err := s.View(func(tx *store.Tx) (err error) {
			heads, err = tx.Sessions(store.Window{Own: true, Pinned: true, After: after, Limit: sessionsStride})
			return err
		}); err != nil {
			return nil, false, err
		}
		for _, h := range heads {
			out = append(out, sessionRow{Session: h})
		}
		if len(heads) < sessionsStride {
			return out, true, nil
		}
		after = heads[len(heads)-1].ID
	}
	return out, false, nil
}

func (a *App) picked(m pickMsg) tea.Cmd {
	switch {
	case m.err != nil:
		return a.say(style.Bad, "read the sessions: "+m.err.Error())
	case len(m.list) == 0:
		return a.say(style.Dim, "no sessions yet; {run.import} brings recordings in")
	}
	p := &sessionPick{input: newInput(m.query), list: m.list, whole: m.whole}
	for _, r := range m.list {
		p.names = append(p.names, strings.ToLower(r.Name+" "+r.ID))
		p.texts = append(p.texts, strings.ToLower(strings.Join([]string{r.Name, a.ctx.Names[r.ReplayOf], r.ID, r.Title, r.Agent, r.ReplayOf}, " ")))
	}
	p.filter()
	return a.openLate(p)
}

// filter keeps what matches, the best first: what is called so, what is called with these
// letters in their order, what says so anywhere, what has the letters anywhere.
func (p *sessionPick) filter() {
	p.at, p.shown = 0, nil
	q := strings.ToLower(strings.TrimSpace(p.input.Value()))
	if q == "" {
		for i := range p.list {
			p.shown = append(p.shown, i)
		}
		return
	}
	seen := map[int]bool{}
	take := func(i int) {
		if !seen[i] {
			seen[i] = true
			p.shown = append(p.shown, i)
		}
	}
	for _, texts := range [][]string{p.names, p.texts} {
		found := fuzzy.Find(q, texts)
		for _, m := range found {
			if strings.Contains(m.Str, q) {
				take(m.Index)
			}
		}
		for _, m := range found {
			take(m.Index)
		}
	}
}

// Key implements overlay.
func (p *sessionPick) Key(a *App, k tea.KeyPressMsg) tea.Cmd {
	move := map[string]int{"up": -1, "ctrl+p": -1, "shift+tab": -1, "down": 1, "ctrl+n": 1, "tab": 1, "pgup": -10, "pgdown": 10}
	switch n, ok := move[k.String()]; {
	case ok:
		p.at = max(0, min(p.at+n, len(p.shown)-1))
		return nil
	case k.String() == "esc":
		return a.close()
	case k.String() == "enter":
		if len(p.shown) == 0 {
			return nil
		}
		a.close()
		return a.goSession(p.list[p.shown[p.at]])
	}
	before := p.input.Value()
	var cmd tea.Cmd
	if p.input, cmd = p.input.Update(k); p.input.Value() != before {
		p.filter()
	}
	return cmd
}

// Paste implements paster.
func (p *sessionPick) Paste(_ *App, m tea.PasteMsg) tea.Cmd {
	var cmd tea.Cmd
	p.input, cmd = p.input.Update(m)
	p.filter()
	return cmd
}

// goSession brings a session into scope, in a view that shows it.
func (a *App) goSession(r sessionRow) tea.Cmd {
	a.follow = false
	s := a.ctx.Scope
	s.Session, s.Turn, s.Span, s.Compare = r.ID, NoTurn, "", r.ReplayOf
	if a.view != debugView && a.view != repairView {
		return a.show(debugView, PaneTurns)
	}
	return nil
}

// Card implements overlay.
func (p *sessionPick) Card(a *App, w, h int) (string, []string, int, int) {
	s, value := a.ctx.Style, p.input.Value()
	prompt := s.Row(w, style.Panel).Put(style.Key, "> ")
	if value == "" {
		prompt.Put(style.Faint, "type any letters of name, id, first input or agent; enter goes there, esc closes")
	} else {
		prompt.Put(style.Text, value)
	}
	of := count(len(p.list), "session")
	if !p.whole {
		of = "the newest " + of
	}
	rows := []string{prompt.String(), s.Row(w, style.Panel).Put(style.Dim, itoa(len(p.shown))+" of "+of).String()}
	room := max(1, h-len(rows))
	top := max(0, min(p.at-room/2, len(p.shown)-room))
	for i := top; i < min(len(p.shown), top+room); i++ {
		it := p.list[p.shown[i]]
		ground, mark := style.Panel, " "
		if i == p.at {
			ground, mark = style.Cursor, s.Glyphs.Pointer
		}
		r := s.Row(w, ground).Put(style.Accent, mark)
		sessionName(r, s, a.ctx.Names, it, style.Text, max(4, r.Left()-22))
		r.Int(style.Dim, it.Counts.Turns, 4).Space(1).Put(style.Faint, s.Cut(s.Clean(it.Agent), 16))
		rows = append(rows, r.String())
	}
	if len(p.shown) == 0 {
		rows = append(rows, s.Row(w, style.Panel).Put(style.Dim, "no session matches").String())
	}
	for range min(room, len(p.list)) + 2 - len(rows) { // the box keeps its place
		rows = append(rows, s.Row(w, style.Panel).String())
	}
	before := string([]rune(value)[:p.input.Position()])
	return "sessions", rows, min(w-1, 2+s.Width(s.Clean(before))), 0
}
