package tui

import (
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"vise/engine/trace"
	"vise/tui/filter"
)

// FilterSpec implements Filterer.
func (p *tracePane) FilterSpec() filter.Spec {
	return filter.Spec{Words: map[string][]string{"status": {"fail", "ok"}, "kind": {"llm", "tool", "agent", "chain"}, "tool": nil}, Numbers: []string{"ms"}}
}

// Filter implements Filterer.
func (p *tracePane) Filter(ctx *Context, text string) tea.Cmd {
	p.expr, _ = filter.Parse(text, p.FilterSpec())
	p.rebuild()
	p.choose(ctx)
	return nil
}

// Filtered implements Filterer.
func (p *tracePane) Filtered() string { return p.expr.String() }

// FilterCount implements Filterer.
func (p *tracePane) FilterCount() string { return passing(p.list.Len(), p.of, true) }

// sift leaves the rows that pass; of two runs a row passes when either side does.
func (p *tracePane) sift(rows []traceRow) []traceRow {
	p.of = len(rows)
	if p.expr.Empty() {
		return rows
	}
	if text := p.expr.String(); p.passed == nil || p.passedOf != text || len(p.passed) > 4*liveSpansHeld {
		p.passed, p.passedOf = map[spanState]bool{}, text
	}
	pass := func(s *trace.Span) bool {
		if s == nil {
			return false
		}
		now := spanState{s, s.Name, len(s.Input), len(s.Output), len(s.Error), s.End}
		ok, known := p.passed[now]
		if !known {
			ok = p.expr.Match(spanFacts{s})
			p.passed[now] = ok
		}
		return ok
	}
	out := rows[:0]
	for _, r := range rows {
		if pass(r.tree.Span) || pass(r.pair.a) || pass(r.pair.b) {
			out = append(out, r)
		}
	}
	return out
}

// spanState is a span as far as a filter can tell it from what it was: of a running turn rows are
// laid out anew with everything that comes, and the texts of all spans are much to look through.
type spanState struct {
	span              *trace.Span
	name              string
	input, out, error int
	end               time.Time
}

// spanFacts is a span as a filter asks it.
type spanFacts struct{ *trace.Span }

// Text implements filter.Row.
func (s spanFacts) Text() string {
	return strings.ToLower(s.Name + " " + s.Input + " " + s.Output + " " + s.Error)
}

// Number implements filter.Row.
func (s spanFacts) Number(string) (float64, bool) {
	if s.Start.IsZero() || s.End.IsZero() {
		return 0, false
	}
	return float64(s.End.Sub(s.Start).Milliseconds()), true
}

// Is implements filter.Row.
func (s spanFacts) Is(key, value string) bool {
	switch key {
	case "kind":
		return strings.ToLower(string(s.Kind)) == value
	case "tool":
		return s.Kind == trace.TOOL && strings.Contains(strings.ToLower(s.Name), value)
	}
	return (s.Error != "") == (value == "fail")
}
