package tui

import (
	"context"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"vise/engine/event"
	"vise/engine/trace"
	"vise/store"
	"vise/tui/filter"
)

const (
	// sessionsIndexed bounds the sessions that a filter knows: the newest.
	sessionsIndexed = 100_000
	// sessionsShown bounds the rows that a filter shows; all that pass are counted.
	sessionsShown = 500
	// sessionsAgain is the least time between two filterings when nobody types.
	sessionsAgain = time.Second
)

// sessionFacts is what a filter asks of a session.
type sessionFacts struct {
	id, text, agent, origin string
	score                   float64 // < 0 = none
	turns, calls, errors    int
	alerted, cut, pinned    bool
}

// Text implements filter.Row.
func (s *sessionFacts) Text() string { return s.text }

// Number implements filter.Row.
func (s *sessionFacts) Number(key string) (float64, bool) {
	switch key {
	case "turns":
		return float64(s.turns), true
	case "calls":
		return float64(s.calls), true
	case "errors":
		return float64(s.errors), true
	}
	return s.score, s.score >= 0
}

// Is implements filter.Row.
func (s *sessionFacts) Is(key, value string) bool {
	switch key {
	case "origin":
		return s.origin == value
	case "agent":
		return strings.Contains(s.agent, value)
	}
	switch value {
	case "alert":
		return s.alerted
	case "cut":
		return s.cut
	case "pinned":
		return s.pinned
	case "unscored":
		return s.score < 0
	case "ok":
		return !s.alerted && s.score >= 0.5
	}
	return s.alerted || s.score >= 0 && s.score < 0.5 // fail
}

// toolRow answers tool: from the tools that a session has called.
type toolRow struct {
	*sessionFacts
	tools map[string]bool
}

func (t toolRow) Is(key, value string) bool {
	if key != "tool" {
		return t.sessionFacts.Is(key, value)
	}
	for name := range t.tools {
		if strings.Contains(name, value) {
			return true
		}
	}
	return false
}

// FilterSpec implements Filterer.
func (p *sessionsPane) FilterSpec() filter.Spec {
	return filter.Spec{
		Words: map[string][]string{"status": {"fail", "ok", "alert", "cut", "unscored", "pinned"}, "origin": {"recorded", "live"}, "agent": nil, "tool": nil},
		Slow:  []string{"tool"}, Numbers: []string{"score", "turns", "calls", "errors"},
	}
}

// sessionsSieve is the filter of the pane with what it knows.
type sessionsSieve struct {
	expr  filter.Expr
	q     query[sieved]
	index []sessionFacts // newest first; nil = to be read
	whole bool           // the index has every session
	dirty map[string]bool
	stop  func()
	wakes bool // a filtering is due
	pass  int
	busy  bool
}

// sieved is the result of a filtering.
type sieved struct {
	index []sessionFacts
	whole bool
	pass  int
	rows  []sessionRow
}

// Filter implements Filterer.
func (p *sessionsPane) Filter(ctx *Context, text string) tea.Cmd {
	p.bump()
	p.sieve.end()
	p.sieve.expr, _ = filter.Parse(text, p.FilterSpec())
	if p.sieve.expr.Empty() {
		p.sieve.index, p.sieve.busy = nil, false
		p.wanted = ctx.Scope.Session // what was found stays selected
		p.list.Set(nil, false, false)
		return p.ask(ctx)
	}
	return p.sift(ctx)
}

// Filtered implements Filterer.
func (p *sessionsPane) Filtered() string { return p.sieve.expr.String() }

// FilterCount implements Filterer.
func (p *sessionsPane) FilterCount() string {
	if p.sieve.busy {
		return "filtering"
	}
	return passing(p.sieve.pass, len(p.sieve.index), p.sieve.whole)
}

func (f *sessionsSieve) end() {
	if f.stop != nil {
		f.stop()
		f.stop = nil
	}
	f.q.drop()
}

// soil notes what has changed since the index was read.
func (f *sessionsSieve) soil(c Change) {
	if f.index == nil {
		return
	}
	for _, e := range c.Events {
		if e.Type == event.SessionPinned { // it has another place
			f.index = nil
			return
		}
		if e.SessionID != "" && len(f.dirty) < 1000 {
			f.dirty[e.SessionID] = true
		}
	}
	if c.Reload || len(f.dirty) >= 1000 {
		f.index = nil
	}
}

// sift filters: the index is read when it is not there, and brought up to date where
// something has changed.
func (p *sessionsPane) sift(ctx *Context) tea.Cmd {
	f := &p.sieve
	f.end()
	alive, stop := context.WithCancel(ctx.Ctx)
	f.stop, f.busy = stop, true
	expr, index, whole, dirty := f.expr, f.index, f.whole, f.dirty
	f.dirty = map[string]bool{}
	return f.q.ask(ctx, func(tx *store.Tx) (out sieved, err error) {
		defer stop()
		if index == nil {
			index, whole, err = readFacts(alive, tx)
		} else if len(dirty) > 0 {
			index, err = freshFacts(tx, index, dirty)
		}
		if err != nil {
			return out, err
		}
		out.index, out.whole = index, whole
		var heads []trace.Session
		for i := range index {
			if i%4096 == 0 && alive.Err() != nil {
				return out, nil
			}
			if !expr.Match(&index[i]) {
				continue
			}
			if expr.Slow() {
				if alive.Err() != nil {
					return out, nil
				}
				tools, err := toolsOf(tx, index[i].id)
				if err != nil {
					return out, err
				}
				if !expr.MatchSlow(toolRow{&index[i], tools}) {
					continue
				}
			}
			if out.pass++; out.pass <= sessionsShown {
				head, ok, err := tx.Session(index[i].id)
				if err != nil {
					return out, err
				}
				if ok {
					heads = append(heads, head)
				}
			}
		}
		out.rows, _, err = judged(tx, heads, sessionsShown)
		return out, err
	})
}

// readFacts reads the newest sessions.
func readFacts(alive context.Context, tx *store.Tx) (out []sessionFacts, whole bool, err error) {
	after := ""
	for len(out) < sessionsIndexed && alive.Err() == nil {
		heads, err := tx.Sessions(store.Window{Own: true, Pinned: true, After: after, Limit: sessionsStride})
		if err != nil {
			return nil, false, err
		}
		rows, _, err := judged(tx, heads, sessionsStride)
		if err != nil {
			return nil, false, err
		}
		for _, r := range rows {
			out = append(out, factsOf(r))
		}
		if len(heads) < sessionsStride {
			return out, true, nil
		}
		after = heads[len(heads)-1].ID
	}
	return out, false, nil
}

func factsOf(r sessionRow) sessionFacts {
	f := sessionFacts{id: r.ID, text: strings.ToLower(r.ID + " " + r.Name + " " + r.Title + " " + r.ReplayOf), agent: strings.ToLower(r.Agent), origin: string(r.Origin),
		score: -1, turns: r.Counts.Turns, calls: r.Counts.Calls, errors: r.Counts.Errors, alerted: r.Alerted, cut: r.CutOff || r.Killed(), pinned: r.Pinned}
	if r.Worst != nil {
		f.score = *r.Worst
	}
	return f
}

// freshFacts is an index with some sessions read again; new ones come first, removed
// ones are left out.
func freshFacts(tx *store.Tx, index []sessionFacts, dirty map[string]bool) ([]sessionFacts, error) {
	fresh := map[string]*sessionFacts{}
	for id := range dirty {
		head, ok, err := tx.Session(id)
		if err != nil {
			return nil, err
		}
		if !ok || head.Origin == trace.Replay { // gone, or a run of a validation
			fresh[id] = nil
			continue
		}
		rows, _, err := judged(tx, []trace.Session{head}, 1)
		if err != nil {
			return nil, err
		}
		f := factsOf(rows[0])
		fresh[id] = &f
	}
	out := make([]sessionFacts, 0, len(index)+len(fresh))
	known := map[string]bool{}
	for i := range index {
		f, changed := fresh[index[i].id]
		switch {
		case !changed:
			out = append(out, index[i])
		case f != nil:
			out = append(out, *f)
		}
		if changed {
			known[index[i].id] = true
		}
	}
	for id, f := range fresh {
		if f != nil && !known[id] {
			out = append([]sessionFacts{*f}, out...)
		}
	}
	return out, nil
}

// toolsOf are the names of the tools that a session has called, in small letters.
func toolsOf(tx *store.Tx, session string) (map[string]bool, error) {
	heads, err := tx.TurnHeads(session, 0, turnsSought)
	if err != nil {
		return nil, err
	}
	out := map[string]bool{}
	for _, h := range heads {
		if h.Counts.Calls == 0 {
			continue
		}
		t, ok, err := tx.Turn(session, h.Index)
		if err != nil {
			return nil, err
		}
		for i := range t.Spans {
			if ok && t.Spans[i].Kind == trace.TOOL {
				out[strings.ToLower(t.Spans[i].Name)] = true
			}
		}
	}
	return out, nil
}

// resift filters again soon, since something has changed.
func (p *sessionsPane) resift() tea.Cmd {
	if p.sieve.wakes {
		return nil
	}
	p.sieve.wakes = true
	return later(PaneSessions, "sift", sessionsAgain)
}

// siftedTake takes the result of a filtering.
func (p *sessionsPane) siftedTake(ctx *Context, msg any) (mine bool, cmd tea.Cmd) {
	f := &p.sieve
	if w, ok := msg.(wake); ok && w.pane == PaneSessions && w.name == "sift" {
		f.wakes = false
		if f.expr.Empty() {
			return true, nil
		}
		return true, p.sift(ctx)
	}
	s, fresh, mine, err := f.q.take(msg)
	if !mine || !fresh {
		return mine, nil
	}
	f.busy, f.stop = false, nil
	p.bump()
	if err != nil {
		return true, failed(err, "filter the sessions")
	}
	f.index, f.whole, f.pass = s.index, s.whole, s.pass
	p.more.drop()
	p.first.drop()
	p.asking, p.wanted = false, ""
	p.list.Set(s.rows, false, false)
	if ctx.Scope.Session == "" || !p.list.SelectKey(ctx.Scope.Session) {
		p.choose(ctx)
	}
	return true, nil
}
