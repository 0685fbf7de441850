package tui

import (
	"vise/engine/trace"
	"vise/tui/style"
)

// split is how the pane is divided: the size of the list and that of the detail.
func (p *tracePane) split() (listW, listH, detailW, detailH int, beside bool) {
	switch {
	case p.w >= 90 && !p.data.both && !(p.ctx != nil && p.st().Options().Words):
		listW = p.w * 55 / 100
		return listW, p.h, p.w - listW - 1, p.h, true
	case p.h >= 13:
		listH = min(p.h*55/100, max(3, p.list.Len())) // the span takes what the list does not need
		return p.w, listH, p.w, p.h - listH - 1, false
	case p.inside:
		return p.w, 0, p.w, p.h, false
	}
	return p.w, p.h, p.w, 0, false
}

// place gives list and detail their sizes.
func (p *tracePane) place() {
	_, h, dw, dh, _ := p.split()
	p.list.SetHeight(h)
	if p.text != nil {
		top := p.text.Top() == 0
		p.text.SetSize(dw, dh)
		if top {
			p.text.Home() // a span is read from its beginning, also where less of it fits
		}
	}
	p.bump()
}

// Copy implements Pane: the span as it is in the store.
func (p *tracePane) Copy() string {
	s := p.selected()
	if s == nil {
		return ""
	}
	if p.inside {
		return p.text.String()
	}
	out := s.Name
	for _, t := range []string{s.Input, s.Error, s.Output} {
		if t != "" {
			out += "\n" + t
		}
	}
	return out
}

// Headless implements Pane.
func (p *tracePane) Headless() string {
	if p.session == "" {
		return ""
	}
	return "vise sessions show " + shellWord(p.session) + " --full"
}

// JSON implements Pane: the spans on the screen.
func (p *tracePane) JSON() any {
	items, _ := p.list.Visible()
	out := make([]trace.Span, 0, len(items))
	for _, r := range items {
		switch {
		case r.tree.Span != nil:
			out = append(out, *r.tree.Span)
		case r.pair.b != nil:
			out = append(out, *r.pair.b)
		}
	}
	return out
}

// Rows implements Pane.
func (p *tracePane) Rows() []string { return p.cached(p.draw) }

func (p *tracePane) draw(st *style.Style) []string {
	switch {
	case p.err != nil:
		return p.hint("cannot read the trace: " + p.err.Error())
	case p.session != "" && p.ctx.Live.Running(p.session) && p.list.Len() == 0 && p.of == 0:
		return p.hint("The agent has started.", "Its steps appear as it makes them.")
	case p.session == "" || p.turn == NoTurn:
		return p.hint("No turn is selected.", "Choose one in 2 Turns.")
	case p.list.Len() == 0 && p.of > 0:
		return p.hint("nothing passes the filter "+p.Filtered(), "{find.filter} changes it, {move.escape} ends it")
	case p.list.Len() == 0:
		return p.hint("No steps yet.", "They appear as the agent works.")
	}
	lw, lh, dw, dh, beside := p.split()
	items, first := p.list.Visible()
	list := make([]string, 0, lh)
	for i, it := range items {
		on := first+i == p.list.Index()
		if p.data.both {
			list = append(list, p.pairRow(st, it, lw, on))
		} else {
			list = append(list, p.spanRow(st, it, lw, on))
		}
	}
	list = st.Fit(list, lw, lh)
	if dh == 0 {
		return list
	}
	text := p.text.Rows()
	if !beside {
		if lh == 0 {
			return st.Fit(text, dw, dh)
		}
		return append(append(list, p.rule(p.detailTitle())), text...)
	}
	line := st.Paint(style.Border, st.Glyphs.Box.V)
	if p.inside {
		line = st.Paint(style.BorderOn, st.Glyphs.Box.V)
	}
	for i := range list {
		list[i] += line
		if i < len(text) {
			list[i] += text[i]
		} else {
			list[i] += st.Blank(dw)
		}
	}
	return list
}

func (p *tracePane) detailTitle() string {
	if p.inside {
		return p.ctx.Text("span, scrolling: {move.out} leaves it")
	}
	return "span"
}
