package tui

import (
	"strconv"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"vise/engine/event"
	scoring "vise/engine/score"
	"vise/store"
	"vise/tui/action"
	"vise/tui/style"
	"vise/tui/vlist"
)

// turnsPage is how many turns are held around the one in scope.
const turnsPage = 400

// turnsLooks bounds how often the pane looks for the report of a turn that has
// ended: a turn that scores well raises no event of its own.
const (
	turnsLooks = 40
	turnsEvery = 150 * time.Millisecond
)

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
	owed    int // the turn whose report is awaited; NoTurn = none
	looks   int
	err     error
	find    string
}

type turnsWindow struct {
	session string
	rows    []turnRow
	before  bool
	after   bool
	ahead   []string // inputs of the compared session beyond the last turn
}

func newTurns() *turnsPane {
	return &turnsPane{
		sheet: newSheet(PaneTurns, "Turns"), owed: NoTurn,
		list: vlist.New(func(r turnRow) string { return strconv.Itoa(r.Index) }),
		q:    query[turnsWindow]{pane: PaneTurns, name: "turns"},
	}
}

// SetSize implements Pane.
func (p *turnsPane) SetSize(w, h int) {
	if p.resize(w, h) {
		p.list.SetHeight(max(0, h-1))
	}
}

// Apply implements Pane.
func (p *turnsPane) Apply(ctx *Context, c Change) tea.Cmd {
	p.see(ctx, c)
	s := ctx.Scope
	if s.Session != p.session || s.Compare != p.compare {
		if s.Session != p.session {
			p.list.Set(nil, false, false)
		}
		p.session, p.compare, p.owed = s.Session, s.Compare, NoTurn
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
		case event.SpanProgress:
			p.progress(e)
		case event.TurnReplayed:
			if e.TurnIndex != nil {
				p.owed, p.looks = *e.TurnIndex, 0
			}
			again = true
		case event.Notice, event.Health, event.Recovery, event.AgentExited:
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
	if p.session != "" {
		p.title = "Turns " + tag(p.session)
	}
	if p.compare != "" {
		p.label("against " + tag(p.compare))
	} else {
		p.label("")
	}
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
	p.list.Append([]turnRow{{Index: i, Input: "", Running: true}}, false)
	if p.ctx.Scope.Turn == i {
		p.list.SelectKey(strconv.Itoa(i))
	}
	p.bump()
}

// ask reads the turns around the one in scope.
func (p *turnsPane) ask(ctx *Context) tea.Cmd {
	session, compare, turn := p.session, p.compare, ctx.Scope.Turn
	if session == "" {
		p.q.drop()
		return nil
	}
	return p.q.ask(ctx, func(tx *store.Tx) (w turnsWindow, err error) {
		w.session = session
		from := 0
		if turn > turnsPage/2 {
			from = turn - turnsPage/2
		}
		heads, err := tx.TurnHeads(session, from, turnsPage+1)
		if err != nil {
			return w, err
		}
		if len(heads) > turnsPage {
			heads, w.after = heads[:turnsPage], true
		}
		w.before = from > 0
		reports, err := tx.Reports(session, from, turnsPage)
		if err != nil {
			return w, err
		}
		fired, err := tx.Events(0, 1000, store.EventFilter{SessionID: session, Types: []event.Type{event.Notice}})
		if err != nil {
			return w, err
		}
		before := map[int]*float64{}
		if compare != "" {
			old, err := tx.Reports(compare, from, turnsPage)
			if err != nil {
				return w, err
			}
			for _, r := range old {
				before[r.TurnIndex] = worst(r)
			}
		}
		w.rows = make([]turnRow, len(heads))
		at := map[int]int{}
		for i, t := range heads {
			at[t.Index] = i
			w.rows[i] = turnRow{Index: t.Index, Input: firstLine(t.Input), Synthetic: t.Synthetic, Calls: t.Counts.Calls,
				Errors: t.Counts.Errors, Before: before[t.Index]}
		}
		for _, r := range reports {
			i, ok := at[r.TurnIndex]
			if !ok {
				continue
			}
			w.rows[i].Worst = worst(r)
			for _, s := range r.Scores {
				w.rows[i].Stalled = w.rows[i].Stalled || s.Stalled
				w.rows[i].Regressed = w.rows[i].Regressed || s.Regressed
			}
		}
		for _, e := range fired {
			if e.TurnIndex == nil {
				continue
			}
			if i, ok := at[*e.TurnIndex]; ok {
				w.rows[i].Notice = e.NoticeID
			}
		}
		return w, nil
	})
}

// worst is the lowest score of a report.
func worst(r scoring.Report) *float64 {
	var out *float64
	for _, s := range r.Scores {
		if s.Value != nil && (out == nil || *s.Value < *out) {
			out = s.Value
		}
	}
	return out
}

// firstLine is what a list shows of a long text.
func firstLine(s string) string {
	s = strings.TrimSpace(s)
	if i := strings.IndexByte(s, '\n'); i >= 0 {
		s = s[:i]
	}
	if r := []rune(s); len(r) > 200 {
		s = string(r[:200])
	}
	return s
}

// Take implements Pane.
func (p *turnsPane) Take(ctx *Context, msg any) (bool, tea.Cmd) {
	if w, ok := msg.(wake); ok && w.pane == PaneTurns {
		if p.owed == NoTurn {
			return true, nil
		}
		return true, p.ask(ctx)
	}
	w, err, fresh, mine := p.q.take(msg)
	if !mine || !fresh || w.session != p.session && err == nil {
		return mine, nil
	}
	p.bump()
	if p.err = err; err != nil {
		return true, nil
	}
	// A turn in progress stays until it is stored.
	rows := w.rows
	for _, r := range p.list.Items() {
		if r.Running && (len(rows) == 0 || r.Index > rows[len(rows)-1].Index) && !w.after && ctx.Running.Kind == Replaying {
			rows = append(rows, r)
		}
	}
	p.list.Set(rows, w.before, w.after)
	p.settle(ctx)
	if p.owed != NoTurn {
		for _, r := range w.rows {
			if r.Index == p.owed && r.Worst != nil {
				p.owed = NoTurn
				return true, nil
			}
		}
		if p.looks++; p.looks > turnsLooks {
			p.owed = NoTurn
			return true, nil
		}
		return true, later(PaneTurns, "report", turnsEvery)
	}
	return true, nil
}

// settle puts the cursor where the scope is. Without a turn in scope it picks the
// one to look at: where a notice fired, else where calls failed, else the last.
func (p *turnsPane) settle(ctx *Context) {
	s := ctx.Scope
	if s.Session != p.session || p.list.Len() == 0 {
		return
	}
	if s.Turn != NoTurn {
		p.list.SelectKey(strconv.Itoa(s.Turn))
		return
	}
	items := p.list.Items()
	pick, rank := len(items)-1, 0
	for i, r := range items {
		switch {
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
		ok := p.seek(ctx, id == action.NextProblem, func(r turnRow) bool { return r.Notice != "" || r.Errors > 0 || r.Stalled || r.Regressed })
		return nil, ok
	case action.Protect:
		return protect(ctx, p.session, ctx.Scope.Turn), true
	}
	if !moveList(p.list, id) {
		return nil, false
	}
	return p.moved(ctx), true
}

func (p *turnsPane) seek(ctx *Context, forward bool, ok func(turnRow) bool) bool {
	step := 1
	if !forward {
		step = -1
	}
	for i := p.list.Index() + step; i >= 0 && i < p.list.Len(); i += step {
		if ok(p.list.Items()[i]) {
			p.list.Select(i)
			p.bump()
			p.choose(ctx)
			return true
		}
	}
	return false
}

// Search implements Searcher: over what the user said.
func (p *turnsPane) Search(ctx *Context, q string) int {
	p.find = strings.ToLower(q)
	p.bump()
	n := 0
	for _, r := range p.list.Items() {
		if p.match(r) {
			n++
		}
	}
	if r, ok := p.list.Selected(); n > 0 && ok && !p.match(r) && !p.seek(ctx, true, p.match) {
		p.seek(ctx, false, p.match)
	}
	return n
}

// NextMatch implements Searcher.
func (p *turnsPane) NextMatch(ctx *Context, dir int) tea.Cmd {
	p.seek(ctx, dir > 0, p.match)
	return nil
}

func (p *turnsPane) match(r turnRow) bool {
	return p.find != "" && strings.Contains(strings.ToLower(r.Input), p.find)
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

// Rows implements Pane.
func (p *turnsPane) Rows() []string { return p.cached(p.draw) }

func (p *turnsPane) draw(st *style.Style) []string {
	switch {
	case p.err != nil:
		return p.hint("cannot read turns: " + p.err.Error())
	case p.session == "":
		return p.hint("No session is selected.", "Choose one in 1 Sessions.")
	case p.list.Len() == 0:
		return p.hint("No turns yet.", "They appear as the agent ends them.")
	}
	head := st.Row(p.w, style.Plain).Right(style.Heading, "turn", 6).Space(1)
	if p.compare != "" {
		head.Right(style.Heading, "was", 5).Space(3).Right(style.Heading, "is", 5)
	} else {
		head.Right(style.Heading, "worst", 5)
	}
	head.Space(2).Put(style.Heading, "gate").Space(1).Put(style.Heading, "input")
	if tail := p.tail(); tail > 0 {
		head.Fill(tail).Right(style.Heading, "calls", 6).Right(style.Heading, "err", 5)
	}
	rows := []string{head.String()}
	items, first := p.list.Visible()
	for i, it := range items {
		rows = append(rows, p.row(st, it, first+i == p.list.Index()))
	}
	return rows
}

// tail is the room of the numbers at the right; none where the input needs it more.
func (p *turnsPane) tail() int {
	if p.w < 50 || p.compare != "" && p.w < 60 {
		return 0
	}
	return 11
}

func (p *turnsPane) row(st *style.Style, it turnRow, selected bool) string {
	g := st.Glyphs
	r := st.Row(p.w, p.ground(selected))
	if selected {
		r.Put(style.Accent, g.Pointer)
	} else {
		r.Space(1)
	}
	index := itoa(it.Index)
	if it.Synthetic {
		index = g.Neutral
	}
	r.Right(style.Dim, index, 3).Space(1)
	switch {
	case it.Running:
		r.Put(style.Info, g.Busy)
	case it.Notice != "":
		r.Put(style.Bad, g.Fail)
	case it.Worst != nil && *it.Worst < 0.5:
		r.Put(style.Warn, g.Fail)
	case it.Worst != nil:
		r.Put(style.Good, g.Pass)
	default:
		r.Put(style.Faint, g.Neutral)
	}
	r.Space(1)
	if p.compare != "" {
		r.Right(scoreRole(it.Before), scoreText(it.Before), 5).Put(style.Faint, " "+g.Arrow+" ")
		role := scoreRole(it.Worst)
		if it.Worst != nil && it.Before != nil && *it.Worst > *it.Before {
			role = style.Good
		}
		r.Right(role, scoreText(it.Worst), 5)
	} else {
		r.Right(scoreRole(it.Worst), scoreText(it.Worst), 5)
	}
	r.Space(2)
	gate := func(on bool, role style.Role, mark string) {
		if on {
			r.Put(role, mark)
		} else {
			r.Space(1)
		}
	}
	gate(it.Stalled, style.Warn, g.Stall)
	gate(it.Regressed, style.Bad, g.Regress)
	gate(it.Notice != "", style.Bad, g.Fired)
	r.Space(2)
	role, text := style.Text, it.Input
	switch {
	case it.Running:
		role, text = style.Info, "running"
	case p.match(it):
		role = style.Accent
	}
	if p.tail() == 0 {
		return r.Put(role, text).String()
	}
	r.Cell(role, text, max(0, r.Left()-p.tail()))
	if it.Errors > 0 {
		return r.Right(style.Dim, itoa(it.Calls), 6).Right(style.Bad, itoa(it.Errors), 5).String()
	}
	return r.Right(style.Dim, itoa(it.Calls), 6).Right(style.Faint, g.Dot, 5).String()
}

// Thumb is the scroll bar.
func (p *turnsPane) Thumb() (int, int) {
	at, n := p.list.Thumb()
	return at + 1, n
}

// Copy implements Pane: what the user said.
func (p *turnsPane) Copy() string {
	r, _ := p.list.Selected()
	return r.Input
}

// Headless implements Pane.
func (p *turnsPane) Headless() string {
	if p.session == "" {
		return ""
	}
	return "vise sessions show " + shellWord(p.session)
}

// JSON implements Pane.
func (p *turnsPane) JSON() any {
	items, _ := p.list.Visible()
	return items
}
