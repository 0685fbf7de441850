package tui

import (
	"strings"

	"vise/engine/rule"
	"vise/tui/style"
)

// layout divides the pane and lays out the selected rule.
func (p *rulesPane) layout() {
	p.bump()
	p.list.SetHeight(p.listRows())
	badge := ""
	if n := p.list.Len(); n > 0 {
		badge = itoa(n)
		if _, more := p.list.More(); more {
			badge += "+"
		}
		if p.shown.found {
			badge = tag(p.shown.id) + " " + p.st().Glyphs.Dot + " " + string(p.shown.rule.Status) + "   " + badge
		}
	}
	p.label(badge)
	if p.ctx == nil {
		return
	}
	p.body.SetSize(p.w, max(0, p.h-p.listRows()-1))
	if !p.shown.found {
		p.body.Set(nil)
		return
	}
	p.doc.Set(ruleMarkdown(p.shown.rule), max(1, p.w-2))
	var rows []string
	for _, r := range p.doc.Rows() {
		rows = append(rows, " "+r)
	}
	rows = append(rows, "")
	rows = append(rows, p.facts()...)
	p.body.Set(ready(rows))
}

// Rows implements Pane.
func (p *rulesPane) Rows() []string { return p.cached(p.draw) }

func (p *rulesPane) draw(*style.Style) []string {
	if p.list.Len() == 0 {
		return p.hint("No rules yet.", "The repair agent writes one when a notice shows a failure that a rule can prevent: {run.replay} replays a session.")
	}
	visible, first := p.list.Visible()
	rows := make([]string, 0, p.h)
	for i, r := range visible {
		rows = append(rows, p.item(r, first+i == p.list.Index()))
	}
	if len(rows) < p.h {
		rows = append(rows, p.rule("rule"))
		rows = append(rows, p.body.Rows()...)
	}
	return rows
}

func (p *rulesPane) item(r rule.Rule, selected bool) string {
	g := p.st().Glyphs
	// A mark may be empty: where marks are words the status, which is beside it, says it.
	mark, known := map[rule.Status]string{rule.Active: g.Active, rule.Candidate: g.Trial, rule.Retired: g.Retired}[r.Status]
	if !known {
		mark = g.Alert
	}
	status := string(r.Status)
	if r.Flagged() {
		mark, status = g.Alert, "flagged"
	}
	statusW, metricW := 14, 21
	if g.Active == "" { // lines that are read aloud have the room for every word
		statusW, metricW = 22, 44
	}
	row := p.st().Row(p.w, p.ground(selected))
	lead := " "
	if selected {
		lead = g.Pointer
	}
	row.Put(style.Accent, lead).Cell(statusRole(r), strings.TrimLeft(mark+" "+status, " "), statusW).Cell(style.Text, r.Scope, min(16, max(6, p.w/6))).Space(1)
	if p.w >= 90 {
		row.Cell(style.Dim, r.Metric, metricW)
	}
	role := style.Text
	if r.Status == rule.Retired {
		role = style.Dim
	}
	if r.Author == rule.Person {
		row.Put(style.Accent, "by a person  ")
	}
	return marked(row.Link(r.Link()), role, r.Text, p.find).Link("").String()
}
