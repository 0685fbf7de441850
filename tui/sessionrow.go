package tui

import (
	"vise/engine/trace"
	"vise/tui/style"
)

// Rows draws: mark, name, turns, worst score.
func (p *sessionsPane) Rows() []string {
	return p.cached(func(st *style.Style) []string {
		if p.err != nil {
			return p.hint("cannot read sessions: " + p.err.Error())
		}
		if p.list.Len() == 0 && !p.sieve.expr.Empty() {
			return p.hint("nothing passes the filter "+p.Filtered(), "{find.filter} changes it, {move.escape} ends it")
		}
		if p.list.Len() == 0 {
			return p.hint("no sessions yet", "{run.import} brings recordings in")
		}
		items, first := p.list.Visible()
		rows := make([]string, 0, len(items))
		for i, it := range items {
			rows = append(rows, p.row(st, it, first+i == p.list.Index()))
		}
		return rows
	})
}

func (p *sessionsPane) row(st *style.Style, it sessionRow, selected bool) string {
	g := st.Glyphs
	r := st.Row(p.w, p.ground(selected))
	mark := " "
	if selected {
		mark = g.Pointer
	}
	r.Put(style.Accent, mark)
	role := style.Text
	if p.match(it) {
		role = style.Accent
	}
	state, stateRole := g.Neutral, style.Faint
	switch {
	case it.Counts.Turns == 0 && !p.running(it): // nothing was done that could have failed
	case it.Alerted:
		state, stateRole = g.Fail, style.Bad
	case p.running(it):
		state, stateRole = g.Busy, style.Info
	case it.Worst != nil && *it.Worst < 0.5:
		state, stateRole = g.Fail, style.Warn
	case it.Worst != nil:
		state, stateRole = g.Pass, style.Good
	}
	if st.Options().Words {
		sessionName(r, st, p.ctx.Names, it, role, max(4, r.Left()-40))
		r.Space(2).Put(style.Dim, count(it.Counts.Turns, "turn"))
		switch {
		case it.Killed():
			r.Put(style.Warn, "  "+killed)
		case it.CutOff:
			r.Put(style.Warn, "  "+cutOff)
		case it.Worst == nil && !p.running(it):
			r.Put(style.Faint, "  not scored")
		default:
			r.Put(stateRole, "  "+state).Put(scoreRole(it.Worst), "  worst score "+scoreText(it.Worst))
		}
		return r.String()
	}
	const tail = 11 // turns, mark and score
	sessionName(r, st, p.ctx.Names, it, role, max(4, r.Left()-tail))
	if why := cutOff; it.CutOff || it.Killed() {
		if it.Killed() {
			why = killed
		}
		r.Int(style.Dim, it.Counts.Turns, 3).Right(style.Warn, why, 8)
		return r.String()
	}
	r.Int(style.Dim, it.Counts.Turns, 4).Space(1).Put(stateRole, state).Right(scoreRole(it.Worst), scoreText(it.Worst), 5)
	return r.String()
}

// cutOff is what a turn is called that did not end by itself. It has no score:
// what it holds says nothing about how the agent would have ended it.
const cutOff = "cut off"

// killed is what a session is called whose vise did not live to end it.
const killed = "killed"

// running reports whether the session is the run of the agent that is going on.
func (p *sessionsPane) running(it sessionRow) bool {
	now := p.ctx.Running
	return now.Kind == Replaying && it.ReplayOf == now.Session && it.Origin != trace.Recorded && !it.Started.Before(now.Since)
}

// scoreText is a score as a table shows it; a dash when there is none: no information
// is not zero.
func scoreText(v *float64) string {
	if v == nil {
		return "–"
	}
	n := int(*v*100 + 0.5)
	if n >= 100 {
		return "1.00"
	}
	return "." + string(rune('0'+n/10)) + string(rune('0'+n%10))
}

// scoreRole is the colour of a score: wrong below the default threshold.
func scoreRole(v *float64) style.Role {
	switch {
	case v == nil:
		return style.Faint
	case *v < 0.5:
		return style.Bad
	}
	return style.Number
}

// Thumb is the scroll bar.
func (p *sessionsPane) Thumb() (int, int) { return p.list.Thumb() }

// Copy is the id under the cursor.
func (p *sessionsPane) Copy() string { return p.list.Key() }

// Headless shows the session.
func (p *sessionsPane) Headless() string {
	if p.list.Key() == "" {
		return "vise sessions ls"
	}
	return "vise sessions show " + shellWord(p.list.Key())
}

// JSON are the heads on the screen.
func (p *sessionsPane) JSON() any {
	items, _ := p.list.Visible()
	return items
}
