package tui

import "vise/tui/action"

func (p *tracePane) problem(r traceRow) bool {
	if p.data.both {
		return !r.pair.same
	}
	return r.tree.Span.Error != "" || r.tree.Pending
}

func (p *tracePane) fold(id action.ID) bool {
	r, ok := p.list.Selected()
	if !ok || p.data.both || r.tree.kids == 0 {
		return false
	}
	fold := r.tree.open
	if id != action.Toggle {
		fold = id == action.Left
	}
	p.folded[r.key] = fold
	p.rebuild()
	return true
}

func (p *tracePane) seek(ctx *Context, forward bool, ok func(traceRow) bool) bool {
	if !p.list.Seek(forward, ok) {
		return false
	}
	p.choose(ctx)
	return true
}
