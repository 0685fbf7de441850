package tui

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"vise/engine/evidence"
	"vise/engine/link"
	scoring "vise/engine/score"
	"vise/tui/style"
)

// caseColumns are the widths of the table of cases; 0 leaves a column out.
type caseColumns struct{ name, kind, metric, stored, candidate, bar, change, read int }

func (p *validationPane) columns() caseColumns {
	c := caseColumns{name: 22, kind: 9, metric: 22, stored: 7, candidate: 11, bar: 8, change: 7, read: 6}
	switch {
	case p.w < 62:
		c = caseColumns{name: 9, metric: 16, stored: 5, candidate: 6, change: 6}
	case p.w < 84:
		c = caseColumns{name: 10, metric: 21, stored: 7, candidate: 10, change: 7, read: 5}
	case p.w < 110:
		c.name, c.kind, c.bar = 20, 8, 4
	}
	return c
}

func (c caseColumns) head(p *validationPane) string {
	candidate, stored := "candidate", "stored"
	if e := p.data.verdict.Evidence; !p.running() && (e == "paired" || e == "deterministic") || p.live.pairs > 0 {
		stored = "control"
	}
	if c.candidate < 10 {
		candidate, stored = "now", "was"
	}
	row := p.line().Space(1).Cell(style.Heading, "case", c.name).Cell(style.Heading, "kind", c.kind).Cell(style.Heading, "metric", c.metric).
		Right(style.Heading, stored, c.stored).Right(style.Heading, candidate, c.candidate).Space(2)
	if c.bar > 0 {
		row.Cell(style.Heading, "change", c.bar+2+c.change)
	} else {
		row.Right(style.Heading, "change", c.change)
	}
	row.Space(2)
	if c.read > 0 {
		row.Cell(style.Heading, "read", c.read)
	}
	return row.Put(style.Heading, "result").String()
}

// metricsOf lists the metrics of a case in registry order: those that can be
// compared, or before the replay those that were stored.
func metricsOf(c evidence.CaseResult) []string {
	from := c.Deltas
	if len(from) == 0 {
		from = c.Baseline
	}
	out := slices.DeleteFunc(scoring.Metrics(), func(m string) bool { _, ok := from[m]; return !ok })
	for _, m := range slices.Sorted(maps.Keys(from)) {
		if !scoring.KnownMetric(m) {
			out = append(out, m)
		}
	}
	// What the verdict was decided by comes first.
	if i := slices.Index(out, c.Target); i > 0 {
		out = slices.Concat([]string{c.Target}, out[:i], out[i+1:])
	}
	return out
}

// layout draws the table anew.
func (p *validationPane) layout() {
	p.bump()
	if p.ctx == nil {
		return
	}
	var rows []string
	if p.numbers && !p.running() {
		rows = p.numberRows(p.data.verdict)
	} else {
		for _, x := range p.results() {
			rows = append(rows, p.caseRows(x)...)
		}
	}
	if p.running() && len(p.live.planned) == 0 {
		rows = append(rows, p.waitingRow())
	}
	if len(rows) == 0 && p.data.decided {
		rows = p.wrapped(style.Dim, "no case was replayed for this verdict", 1, 0, 0)
	}
	past, foot := p.pastRows(), p.foot()
	if past > 0 {
		past++
	}
	if p.find != "" {
		rows = append(rows, foot...)
		for _, v := range p.data.past {
			rows = append(rows, p.pastRow(v, false))
		}
		foot = nil
	}
	p.body.SetSize(p.w, max(1, p.h-1-len(foot)-past))
	follow := p.running() || p.find != ""
	p.body.Set(ready(rows))
	if !follow {
		p.body.Home()
	}
	p.label(p.about())
}

func (p *validationPane) about() string {
	switch {
	case p.running():
		s := tag(p.live.rule)
		if p.data.found && p.data.rule.ID == p.live.rule {
			s += fmt.Sprintf(" %q", p.data.rule.Text)
		}
		return s
	case p.data.decided && p.data.found:
		return fmt.Sprintf("%s %q", tag(p.data.rule.ID), p.data.rule.Text)
	}
	return ""
}

func (p *validationPane) waitingRow() string {
	word := "choosing cases"
	if p.live.validator == "forward_trial" {
		word = "counting the sessions of the forward trial"
	}
	return p.line().Space(1).Put(style.Info, p.st().Glyphs.Busy+" ").Put(style.Text, word).String()
}

// caseRows are a row per metric of one case; what is not there yet says so.
func (p *validationPane) caseRows(x liveCase) []string {
	c, w := x.result, p.columns()
	name := tag(c.CaseID)
	if known, ok := p.data.cases[c.CaseID]; ok && w.name > 14 {
		name += " " + p.ctx.Called(known.SessionID) + "/" + turnName(known.TurnIndex)
	}
	kind := string(cmp.Or(c.Kind, evidence.Failure))
	if x.state != caseReplayed || c.Status == "" {
		c.Target = p.data.rule.Metric // nothing is decided: what the rule is about comes first
	}
	metrics := metricsOf(c)
	if len(metrics) == 0 {
		metrics = []string{"-"}
	}
	if x.state != caseReplayed {
		metrics = metrics[:1]
	}
	var rows []string
	for i, m := range metrics {
		row := p.line().Space(1)
		if i == 0 {
			row.Link(link.Of("case", c.CaseID)).Cell(style.Text, name, w.name).Link("").Cell(style.Dim, kind, w.kind)
		} else {
			row.Space(w.name + w.kind)
		}
		role := style.Dim
		if m == c.Target || c.Target == "" {
			role = style.Text
		}
		row.Cell(role, m, w.metric).Right(style.Number, number2(c.Baseline, m), w.stored)
		if x.state != caseReplayed {
			rows = append(rows, p.progressOf(row, x))
			break
		}
		row.Right(style.Number, number2(c.Scores, m), w.candidate).Space(2)
		p.change(row, c.Deltas, m, w)
		row.Space(2)
		if i == 0 {
			p.resultOf(row, x, w)
		}
		rows = append(rows, row.String())
	}
	if x.pairs+x.lost > 0 {
		c.Reason = x.words()
	}
	if c.Reason != "" {
		rows = append(rows, p.wrapped(style.Dim, c.Reason, 3, 0, 2)...)
	}
	return rows
}

func (p *validationPane) progressOf(row *style.Row, x liveCase) string {
	g := p.st().Glyphs
	if x.state == caseQueued {
		return row.Space(2).Put(style.Faint, "queued").String()
	}
	turns := 0
	if c, ok := p.data.cases[x.result.CaseID]; ok && c.Input != nil && len(c.Input.Turns) > 0 {
		turns = len(c.Input.Turns)
	}
	what := turnsDone(x.turn, turns)
	if x.arm == "control" {
		what = "without it: " + what
	}
	return row.Space(2).Put(style.Info, g.Busy+" "+what).String()
}

func number2(values map[string]float64, metric string) string {
	v, ok := values[metric]
	if !ok {
		return "-"
	}
	return two(v)
}

// change is a bar of the size of the change and the change itself.
func (p *validationPane) change(row *style.Row, deltas map[string]float64, metric string, w caseColumns) {
	d, ok := deltas[metric]
	text := signed(d)
	if !ok {
		text = ""
	}
	if w.bar > 0 {
		g := p.st().Glyphs
		full, empty := g.Bar(math.Min(1, math.Abs(d)), w.bar)
		row.Put(style.Track, g.BarEnds[0]).Put(changeRole(text), full).Put(style.Track, empty).Put(style.Track, g.BarEnds[1])
	}
	row.Right(changeRole(text), text, w.change)
}

func (p *validationPane) resultOf(row *style.Row, x liveCase, w caseColumns) {
	c := x.result
	if w.read > 0 {
		word, role := "no", style.Warn
		if c.Read {
			word, role = "yes", style.Text
		}
		row.Cell(role, word, w.read)
	}
	switch {
	case c.Infrastructure != "":
		row.Put(style.Warn, "left out: "+c.Infrastructure)
	case x.pairs+x.lost > 0:
		row.Put(style.Info, "so far")
	case c.Status == "":
		row.Put(style.Info, "replayed")
	default:
		word, role := caseWord(c.Status)
		row.Put(role, word)
	}
}

// foot are the evidence and the verdict in words.
func (p *validationPane) foot() []string {
	word := ""
	if p.data.decided && !p.running() {
		word = p.ctx.Text("{pane.toggle}: the numbers")
		if p.numbers {
			word = p.ctx.Text("{pane.toggle}: the cases")
		}
	}
	rows := []string{p.rule(word)}
	say := func(name string, role style.Role, text string) {
		const label = 10
		limit := 2
		if p.h < 12 {
			limit = 1
		}
		for i, l := range p.part(max(1, p.w-label-1)).wrapped(role, text, 0, 0, limit) {
			if i > 0 {
				name = ""
			}
			rows = append(rows, p.st().Row(label+1, style.Plain).Space(1).Cell(style.Heading, name, label).String()+l)
		}
	}
	if p.running() {
		done := 0
		for _, x := range p.live.cases {
			if x.state == caseReplayed {
				done++
			}
		}
		what := "runs without the rule first: they tell whether one comparison is enough"
		if p.live.pairs > 0 {
			what = p.live.stands()
		}
		if p.live.validator == "forward_trial" {
			what = "weak: breaches of live sessions before and after the rule"
		}
		if p.ctx.NoAgent {
			what = noAgent
		}
		say("evidence", style.Text, what)
		progress := fmt.Sprintf(p.ctx.Text("not yet: %d of %d cases replayed; {run.cancel} stops"), done, len(p.live.planned))
		if p.live.pairs > 0 {
			progress = fmt.Sprintf(p.ctx.Text("not yet: %d of at most %d pairs on failures count; {run.cancel} stops, the test goes on later"), p.live.counted, p.live.cap)
		}
		say("verdict", style.Warn, progress)
		return rows
	}
	if p.data.decided {
		v := p.data.verdict
		worth := evidenceWords(v, p.data.rule.Trial)
		if p.ctx.NoAgent && v.Outcome == evidence.PendingStill {
			worth = noAgent + "; " + strings.TrimPrefix(worth, "weak: ")
		}
		say("evidence", style.Text, worth)
		mark := p.st().Glyphs.Neutral
		switch v.Outcome {
		case evidence.Promote:
			mark = p.st().Glyphs.Pass
		case evidence.Retire:
			mark = p.st().Glyphs.Fail
		}
		say("verdict", outcomeRole(v.Outcome), mark+" "+verdictWords(v))
		if p.h >= 16 {
			say("next", style.Text, p.next(v))
		}
	}
	return append(rows, p.stopped()...)
}

// Rows implements Pane.
func (p *validationPane) Rows() []string { return p.cached(p.draw) }
