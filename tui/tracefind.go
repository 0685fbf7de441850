package tui

import (
	tea "charm.land/bubbletea/v2"

	"vise/engine/trace"
	"vise/tui/action"
)

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

// Search implements Searcher: over names, arguments, results and errors.
func (p *tracePane) Search(ctx *Context, q string) int {
	p.find = q
	p.bump()
	n, moved := p.list.Find(p.match)
	if moved {
		p.choose(ctx)
	}
	searchText(p.text, p.st(), q) // in the span that is shown, too
	return n
}

// NextMatch implements Searcher.
func (p *tracePane) NextMatch(ctx *Context, dir int) tea.Cmd {
	if p.inside && p.text.Next(dir) {
		p.bump()
		return nil
	}
	p.seek(ctx, dir > 0, p.match)
	return nil
}

func (p *tracePane) match(r traceRow) bool {
	if p.find == "" {
		return false
	}
	for _, s := range []*trace.Span{r.tree.Span, r.pair.a, r.pair.b} {
		if s != nil && matches(s.Name+"\n"+s.Input+"\n"+s.Output+"\n"+s.Error, p.find) {
			return true
		}
	}
	return false
}
