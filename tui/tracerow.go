package tui

import (
	"fmt"
	"strings"
	"time"

	"vise/engine/trace"
	"vise/tui/style"
)

// spanRow draws a span of the tree: kind, name and arguments, outcome, duration, bar.
func (p *tracePane) spanRow(st *style.Style, it traceRow, w int, on bool) string {
	g, s := st.Glyphs, it.tree
	r := st.Row(w, p.ground(on))
	if on {
		r.Put(style.Accent, g.Pointer)
	} else {
		r.Space(1)
	}
	for d := 1; d < min(s.depth, 12); d++ {
		r.Put(style.Border, g.Tree[2])
	}
	if s.depth > 0 {
		mark := g.Tree[0]
		if s.last {
			mark = g.Tree[1]
		}
		r.Put(style.Border, mark)
	}
	if s.kids > 0 {
		mark := g.Open
		if !s.open {
			mark = g.Shut
		}
		r.Put(style.Dim, mark+" ")
	}
	const took_ = 9
	bar := 0
	if p.length > 0 && w >= 70 && !st.Options().Words {
		bar = 12
	}
	mark, markRole := outcome(st, s.Span)
	tail := took_ + 2 + st.Width(mark)
	if bar > 0 {
		tail += bar + 1
	}
	kind, role := kindOf(s.Span)
	r.Cell(role, kind, 6)
	p.what(r, s.Span, p.match(it), max(0, r.Left()-tail))
	r.Space(1).Put(markRole, mark).Space(1).Right(style.Dim, took(s.Span), took_)
	if bar > 0 {
		r.Space(1)
		p.bar(r, s.Span, bar)
	}
	return r.String()
}

// what puts name and arguments, or what was said, into n cells.
func (p *tracePane) what(r *style.Row, s *trace.Span, hit bool, n int) {
	role := style.Text
	if hit {
		role = style.Accent
	}
	text, rest := s.Name, ""
	switch s.Kind {
	case trace.TOOL:
		rest = " " + firstLine(s.Input)
		if s.Error != "" {
			rest += "  " + firstLine(s.Error)
		}
	case trace.LLM:
		text, rest = firstLine(s.Output), ""
		if text == "" {
			text = firstLine(s.Thought)
		}
		if text == "" {
			text = s.Name
		}
	default:
		rest = " " + firstLine(s.Output)
	}
	st := p.st()
	text = st.Cut(st.Clean(text), n)
	left := n - st.Width(text)
	if !hit {
		r.Put(role, text).Cell(style.Dim, rest, left)
		return
	}
	rest = st.Cut(st.Clean(rest), left)
	marked(marked(r, role, text, p.find), style.Dim, rest, p.find).Space(left - st.Width(rest))
}

// pairRow draws one step of two runs.
func (p *tracePane) pairRow(st *style.Style, it traceRow, w int, on bool) string {
	g := st.Glyphs
	r := st.Row(w, p.ground(on))
	if on {
		r.Put(style.Accent, g.Pointer)
	} else {
		r.Space(1)
	}
	mark, role := " ", style.Faint
	switch {
	case it.pair.a == nil:
		mark, role = "+", style.Added
	case it.pair.b == nil:
		mark, role = "-", style.Removed
	case !it.pair.same:
		mark, role = "≠", style.Warn
		if st.Options().ASCII {
			mark = "!"
		}
	}
	if st.Options().Words {
		return p.pairWords(r, st, it.pair, w)
	}
	half := (w - 5) / 2
	p.half(r, st, it.pair.a, half, p.match(it))
	r.Space(1).Put(role, mark).Space(1)
	p.half(r, st, it.pair.b, r.Left(), p.match(it))
	return r.String()
}

// pairWords is a step of two runs for people who listen: what they have in common once.
func (p *tracePane) pairWords(r *style.Row, st *style.Style, x pair, w int) string {
	side := func(word string, s *trace.Span) {
		r.Put(style.Dim, word+"  ")
		p.half(r, st, s, r.Left(), false)
	}
	switch {
	case x.a == nil:
		side("only now", x.b)
	case x.b == nil:
		side("only before", x.a)
	case x.same:
		side("the same", x.b)
	default:
		r.Put(style.Dim, "different, before  ")
		p.half(r, st, x.a, (w-40)/2, false)
		side("  now", x.b)
	}
	return r.String()
}

func (p *tracePane) half(r *style.Row, st *style.Style, s *trace.Span, n int, hit bool) {
	if s == nil {
		r.Space(n)
		return
	}
	kind, role := kindOf(s)
	mark, markRole := outcome(st, s)
	r.Cell(role, kind, min(6, n))
	p.what(r, s, hit, max(0, n-6-1-st.Width(mark)))
	r.Put(markRole, mark).Space(1)
}

// kindOf is the kind of a span as a word and its colour.
func kindOf(s *trace.Span) (string, style.Role) {
	switch s.Kind {
	case trace.LLM:
		return "LLM", style.SpanLLM
	case trace.TOOL:
		return "TOOL", style.SpanTool
	case trace.AGENT:
		return "AGENT", style.SpanAgent
	}
	return "STEP", style.SpanChain
}

// outcome is how a span ended, as a mark.
func outcome(st *style.Style, s *trace.Span) (string, style.Role) {
	switch {
	case s.Error != "":
		return st.Glyphs.Fail, style.Bad
	case s.Pending:
		return st.Glyphs.Held, style.Warn
	case s.Kind != trace.TOOL:
		return " ", style.Faint
	}
	return st.Glyphs.Pass, style.Good
}

// took is the duration of a span.
func took(s *trace.Span) string {
	if s.Start.IsZero() || s.End.IsZero() || s.End.Before(s.Start) {
		return ""
	}
	return duration(s.End.Sub(s.Start))
}

// duration is a short duration with its unit, so that numbers of a column align.
func duration(d time.Duration) string {
	switch {
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < time.Minute:
		return fmt.Sprintf("%.1f s", d.Seconds())
	}
	return fmt.Sprintf("%d:%02d min", int(d.Minutes()), int(d.Seconds())%60)
}

// bar draws when in the turn a span ran.
func (p *tracePane) bar(r *style.Row, s *trace.Span, w int) {
	if s.Start.IsZero() || s.End.Before(s.Start) {
		r.Space(w)
		return
	}
	from := int(s.Start.Sub(p.start) * time.Duration(w) / p.length)
	n := max(1, int(s.End.Sub(s.Start)*time.Duration(w)/p.length))
	from = max(0, min(from, w-1))
	n = min(n, w-from)
	role := style.Spark
	if s.Error != "" {
		role = style.Bad
	}
	g := p.st().Glyphs
	r.Put(style.Track, strings.Repeat(g.Dot, from)).Put(role, strings.Repeat(g.BarFull, n)).Put(style.Track, strings.Repeat(g.Dot, w-from-n))
}
