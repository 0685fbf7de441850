package tui

import (
	"fmt"
	"slices"
	"strings"

	scoring "vise/engine/score"
	"vise/tui/style"
	"vise/tui/vtext"
)

// findings lays out what was found in the selected turn.
func (p *scoresPane) findings() {
	p.bump()
	if p.ctx == nil {
		return
	}
	r, i := p.current()
	p.found.SetSize(p.w, max(0, p.h-p.headRows()-1))
	var rows []string
	badge := ""
	if i >= 0 {
		badge = "turn " + turnName(r.TurnIndex)
		for _, m := range p.metrics {
			s, ok := scoreOf(r, m)
			if p.find == "" && (!ok || len(s.Reasons) == 0 && len(s.Votes) == 0) {
				continue
			}
			rows = append(rows, p.line().Put(style.Heading, m).String())
			if len(s.Votes) > 0 {
				rows = append(rows, p.wrapped(style.Dim, votesWords(s.Votes), 2, 0, 1)...)
			}
			for _, reason := range distinct(s.Reasons) {
				severity, text, ok := strings.Cut(reason, ": ")
				if !ok {
					severity, text = "", reason
				}
				rows = append(rows, p.finding(severity, text)...)
			}
		}
		if len(rows) == 0 {
			rows = p.wrapped(style.Dim, "nothing found in this turn", 1, 0, 0)
		}
		if by := scorers(r); by != "" {
			rows = append(rows, p.wrapped(style.Dim, "scored by "+by, 1, 0, 2)...)
		}
		rows = append(rows, p.measured()...)
	}
	p.found.Set(ready(rows))
	if p.find == "" {
		p.found.Home()
	}
	p.label(badge)
}

// votesWords are the votes that a score is the median of.
func votesWords(votes []float64) string {
	parts := make([]string, len(votes))
	for i, v := range votes {
		parts[i] = fmt.Sprintf("%.2f", v)
	}
	return "median of " + strings.Join(parts, ", ")
}

// scorers names who gave the scores of a report, "" when it was the offline
// evaluator alone, as usual.
func scorers(r scoring.Report) string {
	var names []string
	for _, s := range r.Scores {
		if s.Value != nil && s.By != "" && !slices.Contains(names, s.By) {
			names = append(names, s.By)
		}
	}
	if len(names) == 1 && strings.HasPrefix(names[0], "local/") {
		return ""
	}
	return strings.Join(names, "; ")
}

// measured is what vise noise found of the metrics shown; nothing before it ran.
func (p *scoresPane) measured() []string {
	var rows []string
	for _, m := range p.metrics {
		r, ok := p.data.noise.Reading(m)
		if !ok {
			continue
		}
		if rows == nil {
			rows = append(rows, p.line().Put(style.Heading, "noise, measured").String())
		}
		role := style.Dim
		if !r.Decides {
			role = style.Warn
		}
		rows = append(rows, p.wrapped(role, m+": "+noiseWords(r), 2, 0, 3)...)
	}
	return rows
}

func (p *scoresPane) finding(severity, text string) []string {
	role := style.Dim
	switch severity {
	case "fault":
		role = style.Bad
	case "sign":
		role = style.Warn
	}
	const indent = 10
	if p.w < 30 {
		return p.wrapped(role, severity+" "+text, 1, 0, 4)
	}
	rows := p.wrapped(style.Text, text, indent, 0, 4)
	if len(rows) > 0 {
		first := vtext.Wrap(p.st().Clean(text), max(1, p.w-indent), 0, p.st().Width)[0]
		rows[0] = p.line().Space(2).Cell(role, severity, indent-2).Put(style.Text, first).String()
	}
	return rows
}
