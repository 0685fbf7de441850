package tui

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	tea "charm.land/bubbletea/v2"

	"vise/engine/event"
	"vise/engine/evidence"
	scoring "vise/engine/score"
	"vise/store"
	"vise/tui/action"
	"vise/tui/style"
	"vise/tui/vtext"
)

// scoresWindow is how many turns of a session the pane holds around the selected one.
const scoresWindow = 400

// scoresPane shows a row per metric over the turns of the session in scope, and
// what the evaluator found in the selected turn.
type scoresPane struct {
	sheet
	q       query[scoresData]
	session string
	turn    int
	data    scoresData
	metrics []string
	cursor  int
	found   *vtext.Text
	find    string
}

type scoresData struct {
	session string
	reports []scoring.Report
	fired   map[int]string // turn → notice raised there
	head    bool           // there are turns before the window
	tail    bool           // and may be behind it
	noise   evidence.Measured
}

func newScores() *scoresPane {
	return &scoresPane{sheet: newSheet(PaneScores, "Scores"), q: query[scoresData]{pane: PaneScores, name: "reports"}, turn: NoTurn}
}

// SetSize implements Pane.
func (p *scoresPane) SetSize(w, h int) {
	if p.resize(w, h) {
		p.findings()
	}
}

// Apply implements Pane.
func (p *scoresPane) Apply(ctx *Context, c Change) tea.Cmd {
	if p.see(ctx, c) {
		p.found = vtext.New(ctx.Style.Width)
		p.findings()
	}
	moved := p.turn != ctx.Scope.Turn
	p.turn = ctx.Scope.Turn
	if ctx.Scope.Session != p.session {
		p.session, p.data, p.metrics = ctx.Scope.Session, scoresData{}, nil
		p.findings()
		if p.session == "" {
			p.q.drop()
			return nil
		}
		return p.ask(ctx)
	}
	if p.session == "" {
		return nil
	}
	again := c.Reload || c.Has(event.NoiseMeasured)
	for _, e := range c.Of(p.session) {
		switch e.Type {
		case event.SpanProgress, event.RepairDelta, event.StepWaiting, event.TurnReplayed:
		default:
			again = true
		}
	}
	if moved {
		p.findings()
		again = again || !p.holds(p.turn)
	}
	if again {
		return p.ask(ctx)
	}
	return nil
}

func (p *scoresPane) holds(turn int) bool {
	reports := p.data.reports
	if turn == NoTurn {
		return true
	}
	if len(reports) == 0 {
		return !p.data.head
	}
	return (turn >= reports[0].TurnIndex || !p.data.head) && (turn <= reports[len(reports)-1].TurnIndex || !p.data.tail)
}

func (p *scoresPane) ask(ctx *Context) tea.Cmd {
	session, turn := p.session, p.turn
	return p.q.ask(ctx, func(tx *store.Tx) (scoresData, error) {
		d := scoresData{session: session, fired: map[int]string{}}
		from := 0
		if turn > scoresWindow/2 {
			from = turn - scoresWindow/2
		}
		var err error
		if d.reports, err = tx.Reports(session, from, scoresWindow); err != nil {
			return d, err
		}
		d.head, d.tail = from > 0, turn != NoTurn && len(d.reports) == scoresWindow
		// Without a selected turn the newest matter.
		for turn == NoTurn && len(d.reports) == scoresWindow {
			next, err := tx.Reports(session, d.reports[scoresWindow-1].TurnIndex+1, scoresWindow)
			if err != nil {
				return d, err
			}
			if len(next) == 0 {
				break
			}
			keep := slices.Concat(d.reports, next)
			d.reports, d.head = keep[max(0, len(keep)-scoresWindow):], true
		}
		events, err := tx.Events(0, 1000, store.EventFilter{SessionID: session, Types: []event.Type{event.Notice}})
		for _, e := range events {
			if e.TurnIndex != nil {
				d.fired[*e.TurnIndex] = e.NoticeID
			}
		}
		if err != nil {
			return d, err
		}
		d.noise, _, err = tx.Noise()
		return d, err
	})
}

// Take implements Pane.
func (p *scoresPane) Take(ctx *Context, msg any) (bool, tea.Cmd) {
	d, fresh, mine, err := p.q.take(msg)
	if !mine || !fresh || err != nil || d.session != p.session {
		return mine, failed(err, "read scores")
	}
	p.data = d
	p.metrics = p.metrics[:0]
	for _, m := range scoring.Metrics() {
		if slices.ContainsFunc(d.reports, func(r scoring.Report) bool { _, ok := scoreOf(r, m); return ok }) {
			p.metrics = append(p.metrics, m)
		}
	}
	p.cursor = max(0, min(p.cursor, len(p.metrics)-1))
	p.findings()
	return true, nil
}

func scoreOf(r scoring.Report, metric string) (scoring.Score, bool) {
	for _, s := range r.Scores {
		if s.Metric == metric {
			return s, true
		}
	}
	return scoring.Score{}, false
}

// current is the report of the selected turn, the newest without one; i is its place.
func (p *scoresPane) current() (r scoring.Report, i int) {
	reports := p.data.reports
	if p.turn == NoTurn {
		if len(reports) == 0 {
			return r, -1
		}
		return reports[len(reports)-1], len(reports) - 1
	}
	for i, r := range reports {
		if r.TurnIndex == p.turn {
			return r, i
		}
	}
	return r, -1
}

// headRows is how many rows the metrics take.
func (p *scoresPane) headRows() int { return min(p.h, 1+len(p.metrics)+1) }

// Rows implements Pane.
func (p *scoresPane) Rows() []string { return p.cached(p.draw) }

func (p *scoresPane) draw(*style.Style) []string {
	switch {
	case p.session == "":
		return p.hint("No session is selected.", "Choose one in Sessions.")
	case len(p.metrics) == 0:
		return p.hint("No scores yet.", "Turns are scored when a session is replayed: {run.replay} replays it through the agent, {run.score} scores it as it was recorded.")
	}
	c := p.columns()
	r, at := p.current()
	first := max(0, len(p.data.reports)-c.spark)
	if at >= 0 && at < first {
		first = max(0, at-c.spark*3/4) // what led to it is in view
	}
	shown := p.data.reports[first:min(len(p.data.reports), first+c.spark)]
	rows := []string{p.header(c, shown)}
	for i, m := range p.metrics {
		rows = append(rows, p.metric(c, m, i, r, at, first, shown))
	}
	rows = append(rows, p.gates(c, at, first, shown))
	if len(rows) < p.h-1 {
		rows = append(rows, p.rule("found"))
		rows = append(rows, p.found.Rows()...)
	}
	return rows
}

// Do implements Pane: up and down choose a metric, left and right a turn.
func (p *scoresPane) Do(ctx *Context, id action.ID) (tea.Cmd, bool) {
	switch id {
	case action.Up, action.Down, action.Home, action.End:
		to := map[action.ID]int{action.Up: p.cursor - 1, action.Down: p.cursor + 1, action.Home: 0, action.End: len(p.metrics) - 1}[id]
		p.choose(to)
	case action.PageUp, action.PageDown:
		p.found.Page(map[action.ID]int{action.PageUp: -1, action.PageDown: 1}[id])
		p.bump()
	case action.Left, action.Right:
		_, i := p.current()
		if i += map[action.ID]int{action.Left: -1, action.Right: 1}[id]; i >= 0 && i < len(p.data.reports) {
			ctx.Scope.Turn = p.data.reports[i].TurnIndex
		}
	case action.Into:
		r, _ := p.current()
		id := p.data.fired[r.TurnIndex]
		if id == "" {
			return nil, false
		}
		return repaired(ctx, p.data.session, id), true
	default:
		return nil, false
	}
	return nil, true
}

func (p *scoresPane) choose(i int) {
	p.cursor = max(0, min(i, len(p.metrics)-1))
	if p.cursor < len(p.metrics) {
		r, _ := p.current()
		line := 0
		for _, m := range p.metrics[:p.cursor] {
			if s, ok := scoreOf(r, m); ok && len(s.Reasons) > 0 {
				line++
				for _, reason := range distinct(s.Reasons) {
					severity, text, _ := strings.Cut(reason, ": ")
					line += len(p.finding(severity, text))
				}
			}
		}
		p.found.Home()
		p.found.Scroll(line)
	}
	p.bump()
}

// Mouse implements Pane.
func (p *scoresPane) Mouse(ctx *Context, x, y int, m tea.MouseMsg) tea.Cmd {
	switch m := m.(type) {
	case Wheel:
		p.found.Scroll(m.N)
		p.bump()
	case tea.MouseClickMsg:
		if y >= 1 && y <= len(p.metrics) {
			p.choose(y - 1)
		}
	}
	return nil
}

// Copy implements Pane.
func (p *scoresPane) Copy() string {
	r, i := p.current()
	if i < 0 {
		return ""
	}
	var b strings.Builder
	for _, s := range r.Scores {
		if s.Value == nil {
			continue
		}
		fmt.Fprintf(&b, "%s %s\n", s.Metric, two(*s.Value))
		for _, reason := range s.Reasons {
			b.WriteString("  " + reason + "\n")
		}
	}
	return b.String()
}

// Headless implements Pane.
func (p *scoresPane) Headless() string {
	if p.session == "" {
		return ""
	}
	return "vise sessions show " + p.session + " --json"
}

// JSON implements Pane: the reports of the turns in the window.
func (p *scoresPane) JSON() any { return p.data.reports }

// distinct are the reasons, each once: an evaluator repeats one for every span.
func distinct(list []string) []string {
	var out []string
	for _, s := range list {
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}

// turnName is a turn as a person addresses it: SESSION:TURN of the commands.
func turnName(i int) string { return strconv.Itoa(i) }

func two(v float64) string { return strconv.FormatFloat(v, 'f', 2, 64) }

// signed is a change with its sign; what rounds to nothing has a plus, as in the tables of the commands.
func signed(v float64) string {
	if s := fmt.Sprintf("%+.2f", v); s != "-0.00" {
		return s
	}
	return "+0.00"
}

func changeRole(change string) style.Role {
	switch {
	case change == "+0.00":
		return style.Dim
	case strings.HasPrefix(change, "+"):
		return style.Good
	case strings.HasPrefix(change, "-"):
		return style.Bad
	}
	return style.Dim
}
