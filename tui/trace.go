package tui

import (
	"context"
	"time"

	tea "charm.land/bubbletea/v2"

	"vise/engine/event"
	"vise/engine/trace"
	"vise/store"
	"vise/tui/action"
	"vise/tui/filter"
	"vise/tui/vlist"
	"vise/tui/vtext"
)

// tracePane shows the trace of the turn in scope as a tree with durations, the
// selected span beside or below it, and two runs side by side when there are two.
type tracePane struct {
	sheet
	q       query[traceData]
	session string
	compare string
	turn    int
	data    traceData
	live    []trace.Span // of a turn that is not stored yet, as Context.Live has them
	fresh   int          // rows that came below while the cursor was further up
	folded  map[string]bool
	list    *vlist.List[traceRow]
	text    *vtext.Text
	shown   string // the span that the detail shows
	inside  bool   // movement goes to the detail
	err     error
	find    string
	hits    traceHits // the places of the search
	hit     int       // which of them in the selected row is shown; -1 = none
	laid    []laidPart
	scans   query[traceHits]
	seeking tea.Cmd // a search that SearchFar is to start
	// stopScan gives up the search that is under way.
	stopScan context.CancelFunc
	start    time.Time
	length   time.Duration
	expr     filter.Expr
	// passed says of which spans the filter was asked, and what it said.
	passed   map[spanState]bool
	passedOf string
	of       int  // rows before the filter
	first    bool // go to the first difference or problem when the data comes
}

type traceData struct {
	session, compare string
	turn             int
	now, was         []trace.Span
	found, both      bool
}

// traceRow is a row of the tree, or of two runs side by side.
type traceRow struct {
	key  string
	tree spanRow
	pair pair
}

func newTrace() *tracePane {
	return &tracePane{
		sheet: newSheet(PaneTrace, "Trace"), q: query[traceData]{pane: PaneTrace, name: "turn"}, scans: query[traceHits]{pane: PaneTrace, name: "scan"}, turn: NoTurn, hit: -1,
		folded: map[string]bool{}, list: vlist.New(func(r traceRow) string { return r.key }),
	}
}

// SetSize implements Pane.
func (p *tracePane) SetSize(w, h int) {
	if p.resize(w, h) {
		p.place()
	}
}

// Apply implements Pane.
func (p *tracePane) Apply(ctx *Context, c Change) tea.Cmd {
	if p.see(ctx, c) {
		p.text, p.shown = vtext.New(ctx.Style.Width), ""
		p.place()
		p.detail()
	}
	if c.Names {
		p.retitle()
		p.bump()
	}
	s := ctx.Scope
	if s.Session != p.session || s.Turn != p.turn || s.Compare != p.compare {
		p.session, p.turn, p.compare = s.Session, s.Turn, s.Compare
		p.live, p.first, p.fresh = ctx.Live.Spans(s.Session, s.Turn), true, 0
		clear(p.folded)
		p.retitle()
		p.data, p.passed = traceData{}, nil
		p.rebuild()
		if len(p.live) > 0 { // what is at work is followed
			p.list.End()
			p.detail()
		}
		return p.ask(ctx)
	}
	if p.session == "" || p.turn == NoTurn {
		return nil
	}
	again, grown := c.Reload, false
	for _, e := range c.Of(p.session) {
		if e.Type == event.AgentStarted || e.Type == event.AgentExited {
			p.bump() // an empty pane tells
		}
		if e.TurnIndex == nil || *e.TurnIndex != p.turn {
			continue
		}
		grown = grown || e.Type == event.SpanProgress
		again = again || e.Type == event.TurnReplayed
	}
	var look tea.Cmd
	if grown {
		p.grow(ctx)
		look = p.lookAgain(ctx)
	}
	if c.Scope && s.Span != "" && s.Span != p.list.Key() && p.list.SelectKey(s.Span) {
		p.detail()
	}
	if again {
		return tea.Batch(look, p.ask(ctx))
	}
	return look
}

// grow shows the spans that have come of a turn in progress: once for all that came together.
func (p *tracePane) grow(ctx *Context) {
	spans := ctx.Live.Spans(p.session, p.turn)
	if p.data.found || len(spans) == 0 {
		return
	}
	atEnd, n := p.list.AtEnd(), p.list.Len()
	p.live = spans
	p.rebuild()
	if atEnd {
		p.list.End()
		p.detail()
		return
	}
	p.fresh += max(0, p.list.Len()-n)
	p.relabel()
}

func (p *tracePane) ask(ctx *Context) tea.Cmd {
	session, compare, turn := p.session, p.compare, p.turn
	if session == "" || turn == NoTurn {
		p.q.drop()
		return nil
	}
	return p.q.ask(ctx, func(tx *store.Tx) (d traceData, err error) {
		d = traceData{session: session, compare: compare, turn: turn}
		t, ok, err := tx.Turn(session, turn)
		if err != nil {
			return d, err
		}
		d.now, d.found = t.Spans, ok
		if compare != "" {
			old, ok, err := tx.Turn(compare, turn)
			if err != nil {
				return d, err
			}
			d.was, d.both = old.Spans, ok && d.found
		}
		return d, nil
	})
}

// Take implements Pane.
func (p *tracePane) Take(ctx *Context, msg any) (bool, tea.Cmd) {
	if h, fresh, mine, err := p.scans.take(msg); mine {
		if fresh {
			p.takeHits(ctx, h, err)
		}
		return true, nil
	}
	d, fresh, mine, err := p.q.take(msg)
	if !mine || !fresh {
		return mine, nil
	}
	var look tea.Cmd
	if p.err = err; err == nil && d.session == p.session && d.turn == p.turn {
		p.data, p.passed = d, nil
		if d.found {
			p.live, p.fresh = nil, 0
		}
		p.rebuild()
		if p.first && d.found {
			p.first = false
			p.settle(ctx)
		}
		look = p.lookAgain(ctx)
	}
	p.bump()
	return true, look
}

// lookAgain searches what has come; the reader stays where he is.
func (p *tracePane) lookAgain(ctx *Context) tea.Cmd {
	if p.find == "" || p.stopScan != nil {
		return nil
	}
	cmd := p.seekHits(ctx)
	if cmd == nil {
		p.markDetail()
	}
	return cmd
}

// settle selects the span in scope, else the first difference, else the first
// failed call, else the first span, and shows it from its start: where the detail
// stood while the span came says nothing.
func (p *tracePane) settle(ctx *Context) {
	p.shown = ""
	if ctx.Scope.Span != "" && p.list.SelectKey(ctx.Scope.Span) {
		p.detail()
		return
	}
	p.list.Home()
	for i, r := range p.list.Items() {
		if p.data.both && !r.pair.same || !p.data.both && r.tree.Span.Error != "" {
			p.list.Select(i)
			break
		}
	}
	p.choose(ctx)
}

// rebuild lays out the rows.
func (p *tracePane) rebuild() {
	spans := p.data.now
	if !p.data.found {
		spans = p.live
	}
	p.start, p.length = extent(spans)
	var rows []traceRow
	if p.data.both {
		for i, x := range align(p.data.was, p.data.now) {
			key := "was-" + itoa(i)
			if x.b != nil {
				key = x.b.ID
			}
			rows = append(rows, traceRow{key: key, pair: x})
		}
	} else {
		for _, r := range tree(spans, p.folded) {
			rows = append(rows, traceRow{key: r.ID, tree: r})
		}
	}
	p.list.Set(p.sift(rows), false, false)
	p.relabel()
	p.place()
	p.detail()
}

// selected is the span under the cursor; of two runs that of now, if it has one.
func (p *tracePane) selected() *trace.Span {
	r, ok := p.list.Selected()
	switch {
	case !ok:
		return nil
	case !p.data.both:
		return r.tree.Span
	case r.pair.b != nil:
		return r.pair.b
	}
	return r.pair.a
}

// detail lays out the selected span; a span that grows keeps the reader's place.
func (p *tracePane) detail() {
	if p.text == nil {
		return
	}
	p.bump()
	s := p.selected()
	if s == nil {
		p.text.Set(nil)
		p.shown = ""
		return
	}
	around, _ := p.present()
	lines, laid := detail(p.ctx, s, around)
	p.laid = laid
	p.text.Set(lines)
	if p.shown != s.ID {
		p.text.Home()
	}
	p.shown = s.ID
}

func (p *tracePane) choose(ctx *Context) {
	if s := p.selected(); s != nil && s.ID != p.shown {
		p.hit = -1
	}
	p.detail()
	p.relabel()
	if s := p.selected(); s != nil && ctx.Scope.Session == p.session && ctx.Scope.Turn == p.turn {
		ctx.Scope.Span = s.ID
	}
}

// Do implements Pane.
func (p *tracePane) Do(ctx *Context, id action.ID) (tea.Cmd, bool) {
	if p.inside {
		switch id {
		case action.Up:
			p.text.Scroll(-1)
		case action.Down:
			p.text.Scroll(1)
		case action.PageUp:
			p.text.Page(-1)
		case action.PageDown:
			p.text.Page(1)
		case action.Home:
			p.text.Home()
		case action.End:
			p.text.End()
		case action.Out, action.Escape, action.Left, action.Into: // enter opened it
			p.inside = false
			p.place()
		default:
			return nil, false
		}
		p.bump()
		return nil, true
	}
	switch id {
	case action.Into:
		p.inside = p.selected() != nil
		p.place()
		return nil, true
	case action.Left, action.Right, action.Toggle:
		return nil, p.fold(id)
	case action.NextProblem, action.PrevProblem:
		return nil, p.seek(ctx, id == action.NextProblem, p.problem)
	}
	if !moveList(p.list, id) {
		return nil, false
	}
	p.choose(ctx)
	return nil, true
}

// Mouse implements Pane.
func (p *tracePane) Mouse(ctx *Context, x, y int, m tea.MouseMsg) tea.Cmd {
	lw, lh, _, _, beside := p.split()
	onDetail := beside && x > lw || !beside && y > lh
	if w, ok := m.(Wheel); ok {
		if onDetail {
			p.text.Scroll(w.N)
			p.bump()
		} else if p.list.Scroll(w.N) {
			p.choose(ctx)
		}
		return nil
	}
	p.inside = onDetail
	if !onDetail && p.list.Click(y) {
		p.choose(ctx)
	}
	p.place()
	return nil
}
