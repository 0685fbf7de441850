package tui

import (
	"strings"

	"vise/engine/link"
	"vise/tui/style"
)

// Rows implements Pane.
func (p *turnsPane) Rows() []string { return p.cached(p.draw) }

func (p *turnsPane) draw(st *style.Style) []string {
	switch {
	case p.err != nil:
		return p.hint("cannot read turns: " + p.err.Error())
	case p.session == "":
		return p.hint("No session is selected.", "Choose one in 1 Sessions.")
	case p.list.Len() == 0 && !p.expr.Empty():
		return p.hint("nothing passes the filter "+p.Filtered(), "{find.filter} changes it, {move.escape} ends it")
	case p.list.Len() == 0 && p.ctx.Live.Running(p.session):
		return p.hint("The agent has started.", "Its turns appear as it works on them.")
	case p.list.Len() == 0:
		return p.hint("No turns yet.", "They appear as the agent ends them.")
	}
	if st.Options().Words {
		items, first := p.list.Visible()
		rows := []string{st.Blank(p.w)} // there is no row of headings: every number has its noun
		for i, it := range items {
			rows = append(rows, p.words(st, it, first+i == p.list.Index()))
		}
		return rows
	}
	head := st.Row(p.w, style.Plain).Right(style.Heading, "turn", p.digits()+3).Space(1)
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

// digits is the room of a turn's number: it is what names a turn, so it is never cut.
func (p *turnsPane) digits() int {
	newest := p.total - 1
	if items := p.list.Items(); len(items) > 0 {
		newest = max(newest, items[len(items)-1].Index)
	}
	return max(3, len(itoa(newest)))
}

// tail is the room of the numbers at the right; none where the input needs it more.
func (p *turnsPane) tail() int {
	if p.w < 45 || p.compare != "" && p.w < 60 {
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
	r.Link(link.Turn(p.session, it.Index)).Right(style.Dim, index, p.digits()).Link("").Space(1)
	switch {
	case it.Running:
		r.Put(style.Info, g.Busy)
	case it.Notice != "":
		r.Put(style.Bad, g.Fail)
	case it.CutOff != "":
		r.Put(style.Warn, g.Neutral)
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
	if it.CutOff != "" {
		why := cutOff + " (" + strings.ReplaceAll(it.CutOff, "_", " ") + ")  "
		if it.CutOff == "cancelled" {
			why = cutOff + "  "
		}
		r.Put(style.Warn, st.Cut(why, max(0, r.Left()-p.tail())))
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

// words is a row for people who listen: every number has its noun.
func (p *turnsPane) words(st *style.Style, it turnRow, selected bool) string {
	r := st.Row(p.w, p.ground(selected))
	if selected {
		r.Put(style.Accent, st.Glyphs.Pointer)
	}
	parts := []string{"turn " + itoa(it.Index)}
	switch {
	case it.Running:
		parts = append(parts, "running")
	case it.CutOff != "":
		parts = append(parts, cutOff+", "+strings.ReplaceAll(it.CutOff, "_", " "))
	case it.Worst == nil:
		parts = append(parts, "not scored")
	case p.compare != "" && it.Before != nil:
		parts = append(parts, "worst score "+scoreText(it.Worst)+", before "+scoreText(it.Before))
	default:
		parts = append(parts, "worst score "+scoreText(it.Worst))
	}
	gate := func(on bool, word string) {
		if on {
			parts = append(parts, word)
		}
	}
	gate(it.Stalled, st.Glyphs.Stall)
	gate(it.Regressed, st.Glyphs.Regress)
	gate(it.Notice != "", st.Glyphs.Fired)
	parts = append(parts, count(it.Calls, "call"), count(it.Errors, "error"))
	if it.Synthetic {
		parts = append(parts, "not said by the user")
	}
	return r.Put(style.Text, strings.Join(append(parts, it.Input), "  ")).String()
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
