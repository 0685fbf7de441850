package tui

import tea "charm.land/bubbletea/v2"

// While one searches in a pane whose matter is one text, all of the pane is that text.

// Search implements Searcher: over the metrics and what was found in the turn.
func (p *scoresPane) Search(_ *Context, q string) int {
	p.find = q
	if p.found == nil {
		return 0
	}
	p.findings()
	return searchText(p.found, p.st(), q)
}

// Search implements Searcher: over the cases, what follows from them, and the past verdicts.
func (p *validationPane) Search(_ *Context, q string) int {
	p.find = q
	if p.body == nil {
		return 0
	}
	p.layout()
	return searchText(p.body, p.st(), q)
}

// Search implements Searcher: over all that is known of the selected run, its patch included.
func (p *attemptsPane) Search(_ *Context, q string) int {
	p.find = q
	p.bump()
	if p.body == nil {
		return 0
	}
	return searchText(p.body, p.st(), q)
}

// Search implements Searcher: over what waits and what is to be done about it.
func (p *attentionPane) Search(ctx *Context, q string) int {
	p.find = q
	p.bump()
	n := p.Matches()
	if n > 0 && !p.hit(p.cursor) {
		p.NextMatch(ctx, 1)
		if !p.hit(p.cursor) {
			p.NextMatch(ctx, -1)
		}
	}
	return n
}

// NextMatch implements Searcher.
func (p *attentionPane) NextMatch(_ *Context, dir int) tea.Cmd {
	for i := p.cursor + dir; i >= 0 && i < len(p.items); i += dir {
		if p.hit(i) {
			p.cursor = i
			p.bump()
			break
		}
	}
	return nil
}

func (p *attentionPane) hit(i int) bool {
	return i < len(p.items) && matches(p.items[i].Text+"\n"+p.items[i].Do, p.find)
}

// Matches implements counted.
func (p *attentionPane) Matches() (n int) {
	for i := range p.items {
		if p.hit(i) {
			n++
		}
	}
	return n
}

// MatchAt implements placed.
func (p *attentionPane) MatchAt() (n int) {
	if !p.hit(p.cursor) {
		return 0
	}
	for i := range p.cursor + 1 {
		if p.hit(i) {
			n++
		}
	}
	return n
}
