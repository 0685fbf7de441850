package tui

import (
	"strings"

	"vise/engine/link"
	scoring "vise/engine/score"
	"vise/tui/style"
)

type scoreColumns struct{ name, spark, value, change, mark int }

func (p *scoresPane) columns() scoreColumns {
	c := scoreColumns{name: 21, value: 5, change: 7, mark: 13}
	switch {
	case p.w < 34:
		c.name, c.change, c.mark = 12, 0, 2
	case p.w < 54:
		c.name, c.change, c.mark = 16, 0, 9
	}
	c.spark = max(1, p.w-c.name-c.value-c.change-c.mark-4)
	return c
}

func (p *scoresPane) header(c scoreColumns, shown []scoring.Report) string {
	span := ""
	if p.st().Options().Words {
		return p.st().Blank(p.w) // every number has its noun
	}
	if len(shown) > 0 {
		span = turnName(shown[0].TurnIndex) + "-" + turnName(shown[len(shown)-1].TurnIndex)
		if long := "turns " + span; len(long) <= c.spark {
			span = long
		}
	}
	row := p.line().Cell(style.Heading, "metric", c.name).Space(1).Cell(style.Heading, span, c.spark).Space(1).
		Right(style.Heading, "value", c.value)
	if c.change > 0 {
		row.Right(style.Heading, "change", c.change)
	}
	return row.Space(1).Put(style.Heading, "gate").String()
}

func (p *scoresPane) metric(c scoreColumns, m string, i int, r scoring.Report, at, first int, shown []scoring.Report) string {
	ground := p.ground(i == p.cursor)
	if p.st().Options().Words {
		return p.words(m, i == p.cursor, r, at)
	}
	row := p.st().Row(p.w, ground).Cell(style.Text, m, c.name).Space(1)
	for j, rep := range shown {
		s, ok := scoreOf(rep, m)
		mark, role := " ", style.Spark
		if ok && s.Value != nil {
			mark = p.st().Glyphs.Sparkline([]*float64{s.Value})
			if below(s) {
				role = style.Bad
			}
		}
		on := ground
		if first+j == at {
			on = style.Match
		}
		row.PutOn(role, on, mark)
	}
	row.Space(c.spark - len(shown)).Space(1)
	s, ok := scoreOf(r, m)
	if at < 0 || !ok || s.Value == nil {
		return row.Right(style.Faint, "-", c.value).String()
	}
	role := style.Number
	if below(s) {
		role = style.Bad
	}
	row.Right(role, two(*s.Value), c.value)
	if c.change > 0 {
		change := ""
		if at > 0 {
			if before, ok := scoreOf(p.data.reports[at-1], m); ok && before.Value != nil && *before.Value != *s.Value {
				change = signed(*s.Value - *before.Value)
			}
		}
		row.Right(changeRole(change), change, c.change)
	}
	word, role := p.mark(s)
	return row.Space(1).Put(role, word).String()
}

// spokenScores bounds the values before the last that a row tells people who listen.
const spokenScores = 5

// words is a metric for people who listen: its value, then those before it.
func (p *scoresPane) words(m string, selected bool, r scoring.Report, at int) string {
	row := p.st().Row(p.w, p.ground(selected))
	if selected {
		row.Put(style.Accent, p.st().Glyphs.Pointer)
	}
	row.Put(style.Text, m)
	s, ok := scoreOf(r, m)
	if at < 0 || !ok || s.Value == nil {
		return row.Put(style.Faint, "  no value").String()
	}
	_, role := p.mark(s)
	word := "ok"
	switch {
	case s.Regressed:
		word = "regression"
	case s.Stalled:
		word = "stall"
	case below(s):
		word = "below the threshold"
	case s.Tier >= 3:
		word = "shown only"
	}
	row.Put(style.Number, "  "+two(*s.Value)).Put(role, "  "+word)
	before := ""
	for _, rep := range p.data.reports[max(0, at-spokenScores):at] {
		if b, ok := scoreOf(rep, m); ok && b.Value != nil {
			before += " " + two(*b.Value)
		}
	}
	if before != "" {
		row.Put(style.Dim, "  turns before:"+before)
	}
	return row.String()
}

func below(s scoring.Score) bool { return s.Value != nil && s.Tier < 3 && *s.Value < s.Threshold }

// mark is the gate's word on a scoring.
func (p *scoresPane) mark(s scoring.Score) (string, style.Role) {
	g := p.st().Glyphs
	switch {
	case s.Regressed:
		return g.Regress + " regression", style.Bad
	case s.Stalled:
		return g.Stall + " stall", style.Warn
	case below(s):
		return g.Alert + " breach", style.Bad
	case s.Tier >= 3:
		return "shown only", style.Faint
	}
	return g.Pass, style.Good
}

// gates is the row under the sparklines: where the gate fired and a notice was raised.
func (p *scoresPane) gates(c scoreColumns, at, first int, shown []scoring.Report) string {
	g := p.st().Glyphs
	if p.st().Options().Words { // each metric tells its own gate
		return p.line().Put(style.Dim, "notices  ").Put(style.Text, p.firedTurns()).String()
	}
	row := p.line().Cell(style.Dim, "gate, notice", c.name).Space(1)
	for j, r := range shown {
		mark, role := " ", style.Dim
		for _, s := range r.Scores {
			switch {
			case s.Regressed:
				mark, role = g.Regress, style.Bad
			case s.Stalled && mark == " ":
				mark, role = g.Stall, style.Warn
			}
		}
		if p.data.fired[r.TurnIndex] != "" {
			mark, role = g.Fired, style.Bad
		}
		on := style.Plain
		if first+j == at {
			on = style.Match
		}
		row.PutOn(role, on, mark)
	}
	row.Space(c.spark - len(shown)).Space(1)
	if at >= 0 {
		if id := p.data.fired[p.data.reports[at].TurnIndex]; id != "" {
			row.Link(link.Of("notice", id)).Put(style.Bad, "notice "+tag(id)).Link("")
		}
	}
	return row.String()
}

// firedTurns names the turns that raised a notice.
func (p *scoresPane) firedTurns() string {
	text := ""
	for _, r := range p.data.reports {
		if id := p.data.fired[r.TurnIndex]; id != "" {
			text += "  turn " + turnName(r.TurnIndex) + ": " + tag(id)
		}
	}
	return either(strings.TrimSpace(text), "none")
}
