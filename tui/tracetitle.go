package tui

import (
	"vise/engine/trace"
)

func (p *tracePane) retitle() {
	p.title = "Trace"
	if p.session != "" && p.turn != NoTurn {
		p.title = "Trace " + p.ctx.Called(p.session) + "/" + itoa(p.turn)
	}
}

// relabel tells in the border what is shown, and what has come below the reader.
func (p *tracePane) relabel() {
	spans := p.data.now
	if !p.data.found {
		spans = p.live
	}
	label := p.summary(spans)
	if p.data.both {
		label = "before " + p.ctx.Called(p.compare) + " │ now"
	}
	if !p.expr.Empty() {
		label = "filter " + p.FilterCount() + "  " + label
	}
	if p.fresh > 0 && p.list.AtEnd() {
		p.fresh = 0
	}
	if p.fresh > 0 {
		label = p.st().Glyphs.Down + " " + itoa(p.fresh) + " new  " + label
	}
	p.label(label)
}

func (p *tracePane) summary(spans []trace.Span) string {
	if len(spans) == 0 {
		return ""
	}
	calls, errs := 0, 0
	for i := range spans {
		if spans[i].Kind == trace.TOOL {
			calls++
			if spans[i].Error != "" {
				errs++
			}
		}
	}
	out := count(calls, "call")
	if errs > 0 {
		out += ", " + itoa(errs) + " failed"
	}
	return out
}
