package tui

import (
	tea "charm.land/bubbletea/v2"
)

// problem goes to the next session in which a notice was raised.
func (p *sessionsPane) problem(ctx *Context, forward bool) bool {
	return p.seek(ctx, forward, func(r sessionRow) bool { return r.Alerted })
}

func (p *sessionsPane) seek(ctx *Context, forward bool, ok func(sessionRow) bool) bool {
	if !p.list.Seek(forward, ok) {
		return false
	}
	p.bump()
	p.choose(ctx)
	return true
}

// Search marks sessions whose name holds the text.
func (p *sessionsPane) Search(ctx *Context, q string) int {
	p.find, p.total = q, -1
	p.stopSeeking()
	p.bump()
	if q == "" {
		return 0
	}
	n, moved := p.list.Find(p.match)
	if moved {
		p.choose(ctx)
	}
	return n
}

// NextMatch goes on to the next session that matches.
func (p *sessionsPane) NextMatch(ctx *Context, dir int) tea.Cmd {
	if !p.seek(ctx, dir > 0, p.match) {
		return p.SearchFar(ctx, dir)
	}
	return p.load(ctx)
}
