package tui

import (
	"strconv"
	"strings"

	tea "charm.land/bubbletea/v2"

	"vise/engine/event"
	"vise/engine/trace"
	"vise/tui/action"
	"vise/tui/filter"
	"vise/tui/vlist"
)

// turnsPage is how many turns are held around the one in scope.
const turnsPage = 400

// turnRow is a turn in the timeline.
type turnRow struct {
	Index     int      `json:"turn_index"`
	Input     string   `json:"input"`
	Synthetic bool     `json:"synthetic,omitempty"`
	Calls     int      `json:"calls"`
	Errors    int      `json:"errors"`
	Worst     *float64 `json:"worst,omitempty"`
	Stalled   bool     `json:"stalled,omitempty"`
	Regressed bool     `json:"regressed,omitempty"`
	Notice    string   `json:"notice_id,omitempty"`
	// Before is the worst score of the same turn in the session compared with.
	Before *float64 `json:"before,omitempty"`
	// CutOff is why the turn did not end by itself, "" when it did.
	CutOff string `json:"cut_off,omitempty"`
	// Running: the agent is at work on it.
	Running bool `json:"running,omitempty"`
}

// turnsPane is the timeline of the session in scope.
type turnsPane struct {
	sheet
	list    *vlist.List[turnRow]
	q       query[turnsWindow]
	session string
	compare string
	sandbox string
	err     error
	find    string
	sought  query[int] // the turn beyond the window that matches
	expr    filter.Expr
	of      int // turns that the filter has seen
	total   int // turns of the session that are stored
}

type turnsWindow struct {
	session string
	to      place  // where the cursor goes: placeKey = where the scope is
	sandbox string // the badge of the agent's sandbox, "" for a recording
	rows    []turnRow
	of      int
	total   int
	before  bool
	after   bool
}

func newTurns() *turnsPane {
	return &turnsPane{
		sheet:  newSheet(PaneTurns, "Turns"),
		list:   vlist.New(func(r turnRow) string { return strconv.Itoa(r.Index) }),
		q:      query[turnsWindow]{pane: PaneTurns, name: "turns"},
		sought: query[int]{pane: PaneTurns, name: "sought"},
	}
}

// SetSize implements Pane.
func (p *turnsPane) SetSize(w, h int) {
	if p.resize(w, h) {
		p.list.SetHeight(max(0, h-1))
		p.retitle()
	}
}

// Apply implements Pane.
func (p *turnsPane) Apply(ctx *Context, c Change) tea.Cmd {
	p.see(ctx, c)
	if c.Names {
		p.retitle()
		p.bump()
	}
	s := ctx.Scope
	if s.Session != p.session || s.Compare != p.compare {
		if s.Session != p.session {
			p.sandbox, p.total = "", 0
			p.list.Set(nil, false, false)
			p.sought.drop()
		}
		p.session, p.compare = s.Session, s.Compare
		p.retitle()
		p.bump()
		return p.ask(ctx)
	}
	if p.session == "" {
		return nil
	}
	again := c.Reload
	for _, e := range c.Of(p.session) {
		switch e.Type {
		case event.AgentStarted:
			p.bump() // an empty pane tells
		case event.SpanProgress:
			p.progress(e)
		case event.TurnReplayed, event.TurnScored, event.Notice, event.Health, event.Recovery, event.AgentExited:
			again = true
		}
	}
	if c.Scope && s.Turn != NoTurn && strconv.Itoa(s.Turn) != p.list.Key() {
		p.bump()
		if !p.list.SelectKey(strconv.Itoa(s.Turn)) {
			again = true
		}
	}
	if again {
		return p.ask(ctx)
	}
	return nil
}

// name puts the session into the title.
func (p *turnsPane) retitle() {
	p.title = "Turns"
	if p.session != "" && p.ctx != nil {
		p.title = "Turns " + p.ctx.Called(p.session)
	}
	var parts []string
	if !p.expr.Empty() {
		parts = append(parts, "filter "+p.FilterCount())
	}
	if p.compare != "" {
		parts = append(parts, "against "+p.ctx.Called(p.compare))
	}
	if p.sandbox != "" && (len(parts) == 0 || p.w >= 60) { // a narrow title has room for one
		parts = append(parts, p.sandbox)
	}
	p.label(strings.Join(parts, "  "))
}

// badgeOf is what a run's agent was held to, and what of it was set: the sandbox, requests
// that were done live, the mode. "" for a recording.
func badgeOf(head trace.Session) string {
	badge, _ := head.Attrs["sandbox"].(string)
	if effects, _ := head.Attrs["effects"].(string); badge != "" && effects != "" && effects != "confined" {
		badge += ", " + effects
	}
	if mode, _ := head.Attrs["mode"].(string); badge != "" && mode != "" {
		badge += ", mode " + mode
	}
	return badge
}

// progress shows a turn that is not stored yet.
func (p *turnsPane) progress(e event.Event) {
	if e.TurnIndex == nil {
		return
	}
	i := *e.TurnIndex
	for _, r := range p.list.Items() {
		if r.Index == i {
			return
		}
	}
	if _, more := p.list.More(); more {
		return // it is beyond what is loaded
	}
	p.list.Append([]turnRow{{Index: i, Input: "", Running: true}}, false)
	switch p.ctx.Scope.Turn {
	case i:
		p.list.SelectKey(strconv.Itoa(i))
	case NoTurn:
		p.choose(p.ctx)
	}
	p.bump()
}

// Take implements Pane.
func (p *turnsPane) Take(ctx *Context, msg any) (bool, tea.Cmd) {
	if i, fresh, mine, err := p.sought.take(msg); mine {
		if fresh && err == nil && i != NoTurn && ctx.Scope.Session == p.session {
			ctx.Scope.Turn, ctx.Scope.Span = i, "" // the window follows the scope
		}
		return true, failed(err, "look through the turns")
	}
	w, fresh, mine, err := p.q.take(msg)
	if !mine || !fresh || w.session != p.session && err == nil {
		return mine, nil
	}
	p.bump()
	if p.err = err; err != nil {
		return true, nil
	}
	if p.sandbox != w.sandbox {
		p.sandbox = w.sandbox
		p.retitle()
	}
	rows := w.rows
	for _, i := range ctx.Live.Turns(p.session) {
		if (len(rows) == 0 || i > rows[len(rows)-1].Index) && !w.after {
			rows = append(rows, turnRow{Index: i, Running: true})
		}
	}
	p.list.Set(rows, w.before, w.after)
	p.of, p.total = w.of, w.total
	p.retitle()
	switch w.to {
	case placeHome:
		p.list.Home()
		p.choose(ctx)
	case placeEnd:
		p.list.End()
		p.choose(ctx)
	default:
		p.settle(ctx)
	}
	return true, nil
}

// settle puts the cursor where the scope is. Without a turn in scope it picks the
// one to look at: that which runs, else where a notice fired, else where calls failed, else the last.
func (p *turnsPane) settle(ctx *Context) {
	s := ctx.Scope
	if s.Session != p.session || p.list.Len() == 0 {
		return
	}
	if s.Turn != NoTurn && (p.list.SelectKey(strconv.Itoa(s.Turn)) || p.expr.Empty()) {
		return
	}
	items := p.list.Items()
	pick, rank := len(items)-1, 0
	for i, r := range items {
		switch {
		case r.Running:
			pick, rank = i, 4
		case r.Notice != "" && rank < 3:
			pick, rank = i, 3
		case r.Errors > 0 && rank < 2:
			pick, rank = i, 2
		}
	}
	p.list.Select(pick)
	p.choose(ctx)
}

// choose makes the turn under the cursor the scope.
func (p *turnsPane) choose(ctx *Context) {
	r, ok := p.list.Selected()
	if !ok || ctx.Scope.Session != p.session || r.Index == ctx.Scope.Turn {
		return
	}
	ctx.Scope.Turn, ctx.Scope.Span = r.Index, ""
	if r.Notice != "" {
		ctx.Scope.Notice = r.Notice
	}
}

func (p *turnsPane) moved(ctx *Context) tea.Cmd {
	p.bump()
	p.choose(ctx)
	if p.list.Wants() != vlist.None {
		return p.ask(ctx)
	}
	return nil
}

// Do implements Pane.
func (p *turnsPane) Do(ctx *Context, id action.ID) (tea.Cmd, bool) {
	switch id {
	case action.Back:
		p.list.Move(-1)
		return p.moved(ctx), true
	case action.Forward:
		p.list.Move(1)
		return p.moved(ctx), true
	case action.NextProblem, action.PrevProblem:
		ok := p.seek(ctx, id == action.NextProblem, func(r turnRow) bool {
			return r.Notice != "" || r.Errors > 0 || r.Stalled || r.Regressed || r.CutOff != ""
		})
		return nil, ok
	case action.Protect:
		return protect(ctx, p.session, ctx.Scope.Turn), true
	case action.Home:
		if ends(p.list, placeHome) {
			return p.askAt(ctx, placeHome), true
		}
	case action.End:
		if ends(p.list, placeEnd) {
			return p.askAt(ctx, placeEnd), true
		}
	}
	if !moveList(p.list, id) {
		return nil, false
	}
	return p.moved(ctx), true
}

func (p *turnsPane) seek(ctx *Context, forward bool, ok func(turnRow) bool) bool {
	if !p.list.Seek(forward, ok) {
		return false
	}
	p.bump()
	p.choose(ctx)
	return true
}

// Mouse implements Pane.
func (p *turnsPane) Mouse(ctx *Context, _, y int, m tea.MouseMsg) tea.Cmd {
	if w, ok := m.(Wheel); ok {
		if !p.list.Scroll(w.N) {
			return nil
		}
		return p.moved(ctx)
	}
	if p.list.Click(y - 1) {
		return p.moved(ctx)
	}
	return nil
}

// Listed implements lister.
func (p *turnsPane) Listed() int { return p.list.Len() }
