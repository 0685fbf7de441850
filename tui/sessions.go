package tui

import (
	tea "charm.land/bubbletea/v2"

	"vise/engine/event"
	"vise/engine/trace"
	"vise/store"
	"vise/tui/action"
	"vise/tui/vlist"
)

// sessionsPage is how many sessions are read at a time.
const sessionsPage = 200

// sessionRow is a session in the list: the head, and what its latest turn says.
type sessionRow struct {
	trace.Session
	// Worst is the lowest score of the latest scored turn, nil when none was.
	Worst *float64 `json:"worst,omitempty"`
	// Alerted: a notice was raised in the session.
	Alerted bool `json:"alerted"`
	// CutOff: its latest turn did not end by itself.
	CutOff bool `json:"cut_off,omitempty"`
}

// sessionsPane lists sessions, newest first.
type sessionsPane struct {
	sheet
	list   *vlist.List[sessionRow]
	first  query[sessionsWindow] // the first page, and what has changed
	more   query[sessionsWindow] // a neighbouring page
	asking bool                  // more is under way
	// reading: first is under way. touched are the sessions whose rows are being read again.
	reading bool
	touched map[string]bool
	fresh   query[[]sessionRow]
	wanted  string // select it when it comes
	find    string
	jump    query[sessionsJump] // a page from elsewhere
	stop    func()              // ends the search of the store that is under way
	total   int                 // matches in the store, -1 = not known
	whole   bool                // total counts every session
	of      int                 // sessions in the store when the list was read last
	sieve   sessionsSieve
	err     error
}

// sessionsWindow is a page with its place.
type sessionsWindow struct {
	rows   []sessionRow
	want   vlist.Want
	before bool
	after  bool
	of     int // how many sessions there are; of the first page only
}

func newSessions() *sessionsPane {
	return &sessionsPane{
		sheet: newSheet(PaneSessions, "Sessions"),
		list:  vlist.New(func(r sessionRow) string { return r.ID }),
		first: query[sessionsWindow]{pane: PaneSessions, name: "first"},
		more:  query[sessionsWindow]{pane: PaneSessions, name: "more"},
		jump:  query[sessionsJump]{pane: PaneSessions, name: "jump"},
		fresh: query[[]sessionRow]{pane: PaneSessions, name: "fresh"}, touched: map[string]bool{},
		total: -1,
		sieve: sessionsSieve{q: query[sieved]{pane: PaneSessions, name: "sift"}, dirty: map[string]bool{}},
	}
}

// Badge is the number of sessions in the store, however many are loaded.
func (p *sessionsPane) Badge() string {
	if !p.sieve.expr.Empty() {
		return "filter " + p.FilterCount()
	}
	if p.list.Len() == 0 {
		return ""
	}
	return thousands(max(p.of, p.list.Len()))
}

func (p *sessionsPane) SetSize(w, h int) {
	if p.resize(w, h) {
		p.list.SetHeight(h)
	}
}

// Apply reads the list again when a session came, went or was scored.
func (p *sessionsPane) Apply(ctx *Context, c Change) tea.Cmd {
	p.see(ctx, c)
	if c.Running || c.Names {
		p.bump()
	}
	var cmds []tea.Cmd
	p.sieve.soil(c)
	if c.Scope && ctx.Scope.Session != p.list.Key() {
		p.wanted = ctx.Scope.Session
		if p.list.SelectKey(p.wanted) {
			p.wanted = ""
			p.bump()
		} else if p.wanted != "" && p.list.Len() > 0 && !c.Reload {
			cmds = append(cmds, p.ask(ctx))
		}
	}
	switch {
	case c.Reload, c.Has(event.AgentStarted, event.SessionRemoved, event.SessionRestored, event.SessionRenamed, event.SessionPinned, event.ImportFinished):
		cmds = append(cmds, p.ask(ctx))
	case c.Has(sessionTouched...):
		cmds = append(cmds, p.freshen(ctx, c))
	}
	return tea.Batch(cmds...)
}

// ask reads the page at the top, or the page around the cursor when one has scrolled away.
func (p *sessionsPane) ask(ctx *Context) tea.Cmd {
	if !p.sieve.expr.Empty() {
		return p.resift()
	}
	p.reading = true
	p.fresh.drop() // this reads them too
	clear(p.touched)
	before, _ := p.list.More()
	if before {
		// Far down: refresh what is loaded from its first row on.
		first, n := p.list.First(), p.list.Len()
		return p.first.ask(ctx, func(tx *store.Tx) (sessionsWindow, error) {
			w := sessionsWindow{before: true}
			of, err := tx.CountOwnSessions()
			if err != nil {
				return w, err
			}
			w.of = of
			head, ok, err := tx.Session(first)
			if err != nil || !ok {
				return w, err
			}
			heads, err := tx.Sessions(store.Window{Own: true, Pinned: true, After: first, Limit: n})
			if err != nil {
				return w, err
			}
			w.rows, w.after, err = judged(tx, append([]trace.Session{head}, heads...), n)
			return w, err
		})
	}
	n := max(sessionsPage, p.list.Len())
	return p.first.ask(ctx, func(tx *store.Tx) (w sessionsWindow, err error) {
		if w.of, err = tx.CountOwnSessions(); err != nil {
			return w, err
		}
		heads, err := tx.Sessions(store.Window{Own: true, Pinned: true, Limit: n + 1})
		if err != nil {
			return w, err
		}
		w.rows, w.after, err = judged(tx, heads, n)
		return w, err
	})
}

// judged adds to at most n heads what their turns say; more: there were further ones.
func judged(tx *store.Tx, heads []trace.Session, n int) (rows []sessionRow, more bool, err error) {
	if len(heads) > n {
		heads, more = heads[:n], true
	}
	rows = make([]sessionRow, len(heads))
	for i, h := range heads {
		rows[i].Session = h
		r, ok, err := tx.Report(h.ID, h.Counts.Turns-1)
		if err != nil {
			return nil, false, err
		}
		if ok {
			rows[i].Worst = worst(r)
		}
		last, err := tx.TurnHeads(h.ID, max(0, h.Counts.Turns-1), 1)
		if err != nil {
			return nil, false, err
		}
		if rows[i].CutOff = len(last) > 0 && last[0].CutShort(); rows[i].CutOff {
			rows[i].Worst = nil
		}
		episodes, err := tx.EpisodesOfSession(h.ID)
		if err != nil {
			return nil, false, err
		}
		if rows[i].Alerted = len(episodes) > 0; !rows[i].Alerted {
			notices, err := tx.PendingNotices(h.ID)
			if err != nil {
				return nil, false, err
			}
			rows[i].Alerted = len(notices) > 0
		}
	}
	return rows, more, nil
}

// Take puts a page into the list.
func (p *sessionsPane) Take(ctx *Context, msg any) (bool, tea.Cmd) {
	if mine, cmd := p.siftedTake(ctx, msg); mine {
		return true, cmd
	}
	if rows, fresh, mine, err := p.fresh.take(msg); mine {
		if fresh && err == nil {
			p.freshened(rows)
		}
		return true, failed(err, "read the sessions again")
	}
	if w, fresh, mine, err := p.first.take(msg); mine {
		if fresh {
			p.reading = false
			p.err = err
			if err == nil {
				p.of = w.of
				p.list.Set(w.rows, w.before, w.after)
				p.settle(ctx)
			}
			p.bump()
		}
		before, after := p.list.More()
		if fresh && err == nil && p.wanted != "" && (before || after) {
			return true, p.leapTo(ctx, p.wanted) // it lies beyond the window
		}
		return true, p.load(ctx)
	}
	if j, fresh, mine, err := p.jump.take(msg); mine {
		if !fresh {
			return true, nil
		}
		p.stop = nil
		if err != nil {
			return true, failed(err, "look through the sessions")
		}
		return true, p.landed(ctx, j)
	}
	w, fresh, mine, err := p.more.take(msg)
	if !mine {
		return false, nil
	}
	if fresh {
		p.asking = false
		if p.err = err; err == nil {
			if w.want == vlist.After {
				p.list.Append(w.rows, w.after)
			} else {
				p.list.Prepend(w.rows, w.before)
			}
		}
		p.bump()
	}
	return true, nil
}

// settle puts the cursor where the scope is, or the scope where the cursor is.
func (p *sessionsPane) settle(ctx *Context) {
	want := p.wanted
	if want == "" {
		want = ctx.Scope.Session
	}
	if want != "" && (p.list.Key() == want || p.list.SelectKey(want)) {
		p.wanted = ""
		return
	}
	if p.wanted == "" {
		p.choose(ctx)
	}
}

// choose makes the session under the cursor the scope.
func (p *sessionsPane) choose(ctx *Context) {
	r, ok := p.list.Selected()
	if !ok || r.ID == ctx.Scope.Session {
		return
	}
	s := ctx.Scope
	s.Session, s.Turn, s.Span, s.Compare = r.ID, NoTurn, "", r.ReplayOf
}

// load asks for a neighbouring page when the view is near an end of the window.
func (p *sessionsPane) load(ctx *Context) tea.Cmd {
	want := p.list.Wants()
	if want == vlist.None || p.asking {
		return nil
	}
	p.asking = true
	key := p.list.Last()
	if want == vlist.Before {
		key = p.list.First()
	}
	return p.more.ask(ctx, func(tx *store.Tx) (w sessionsWindow, err error) {
		w.want = want
		heads, err := tx.Sessions(store.Window{Own: true, Pinned: true, After: key, Limit: sessionsPage + 1, Oldest: want == vlist.Before})
		if err != nil {
			return w, err
		}
		var more bool
		if w.rows, more, err = judged(tx, heads, sessionsPage); err != nil {
			return w, err
		}
		if want == vlist.Before {
			w.before = more
			for i, j := 0, len(w.rows)-1; i < j; i, j = i+1, j-1 {
				w.rows[i], w.rows[j] = w.rows[j], w.rows[i]
			}
		} else {
			w.after = more
		}
		return w, nil
	})
}

// Do moves the cursor.
func (p *sessionsPane) Do(ctx *Context, id action.ID) (tea.Cmd, bool) {
	switch id {
	case action.NextProblem, action.PrevProblem:
		return nil, p.problem(ctx, id == action.NextProblem)
	case action.Protect:
		return protect(ctx, ctx.Scope.Session, NoTurn), true
	case action.Home:
		if ends(p.list, placeHome) {
			return p.leap(ctx, placeHome), true
		}
	case action.End:
		if ends(p.list, placeEnd) {
			return p.leap(ctx, placeEnd), true
		}
	}
	if !moveList(p.list, id) {
		return nil, false
	}
	return p.moved(ctx), true
}

func (p *sessionsPane) moved(ctx *Context) tea.Cmd {
	p.bump()
	p.choose(ctx)
	return p.load(ctx)
}

// moveList moves the cursor of a list by an action; false when the action is another.
func moveList[T any](l *vlist.List[T], id action.ID) bool {
	switch id {
	case action.Up:
		l.Move(-1)
	case action.Down:
		l.Move(1)
	case action.PageUp:
		l.Page(-1)
	case action.PageDown:
		l.Page(1)
	case action.Home:
		l.Home()
	case action.End:
		l.End()
	default:
		return false
	}
	return true
}

// Mouse selects and scrolls.
func (p *sessionsPane) Mouse(ctx *Context, _, y int, m tea.MouseMsg) tea.Cmd {
	if w, ok := m.(Wheel); ok {
		if !p.list.Scroll(w.N) {
			return nil
		}
		return p.moved(ctx)
	}
	if p.list.Click(y) {
		return p.moved(ctx)
	}
	return nil
}

// originOf is the session that a session is a replay of; "" for a recording.
func (p *sessionsPane) originOf(id string) string {
	for _, r := range p.list.Items() {
		if r.ID == id {
			return r.ReplayOf
		}
	}
	return ""
}

// Listed implements lister.
func (p *sessionsPane) Listed() int { return p.list.Len() }
