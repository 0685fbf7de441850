package tui

import (
	tea "charm.land/bubbletea/v2"

	"vise/store"
)

// rulesHeld bounds how many rules the list holds.
const rulesHeld = 2000

// askAll reads the rules from the first on, as many as the list holds.
func (p *rulesPane) askAll(ctx *Context, end bool) tea.Cmd {
	return p.q.ask(ctx, func(tx *store.Tx) (w rulesWindow, err error) {
		w.all, w.end = true, end
		w.rules, err = tx.RulePage(store.Window{Limit: rulesHeld + 1})
		if len(w.rules) > rulesHeld {
			w.rules, w.more = w.rules[:rulesHeld], true
		}
		return w, err
	})
}

// place puts the cursor where a window that has come is meant to have it.
func (p *rulesPane) place(ctx *Context, w rulesWindow) {
	switch {
	case w.end:
		p.list.End()
		if r, ok := p.list.Selected(); ok {
			ctx.Scope.Rule = r.ID
		}
	case w.all && p.find != "":
		p.Search(ctx, p.find)
	case ctx.Scope.Rule != "":
		p.list.SelectKey(ctx.Scope.Rule)
	}
}

// Search implements Searcher over the rules that are loaded; SearchFar loads the rest.
func (p *rulesPane) Search(ctx *Context, text string) int {
	p.find = text
	p.bump()
	n := 0
	for i, r := range p.list.Items() {
		if matches(r.Text, text) {
			if n == 0 {
				p.list.Select(i)
				ctx.Scope.Rule = r.ID
			}
			n++
		}
	}
	return n
}

// NextMatch implements Searcher.
func (p *rulesPane) NextMatch(ctx *Context, dir int) tea.Cmd {
	items := p.list.Items()
	for i := p.list.Index() + dir; i >= 0 && i < len(items); i += dir {
		if matches(items[i].Text, p.find) {
			p.list.Select(i)
			return p.chosen(ctx)
		}
	}
	return p.SearchFar(ctx, dir)
}

// SearchFar implements farSearcher.
func (p *rulesPane) SearchFar(ctx *Context, dir int) tea.Cmd {
	_, after := p.list.More()
	if p.find == "" || !after || p.list.Len() >= rulesHeld || dir < 0 {
		return nil
	}
	return p.askAll(ctx, false)
}

// Found implements farSearcher.
func (p *rulesPane) Found() string {
	n := 0
	for _, r := range p.list.Items() {
		if matches(r.Text, p.find) {
			n++
		}
	}
	before, after := p.list.More()
	return foundIn(n, p.list.Len(), before || after)
}
