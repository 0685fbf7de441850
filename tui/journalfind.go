package tui

import (
	"strconv"

	tea "charm.land/bubbletea/v2"
)

// Search implements Searcher over the events that are loaded.
func (p *journalPane) Search(ctx *Context, text string) int {
	p.find = text
	p.bump()
	n := 0
	for i, e := range p.list.Items() {
		if matches(eventWords(p.ctx, e)+" "+string(e.Type), text) {
			if n == 0 {
				p.list.Select(i)
			}
			n++
		}
	}
	p.changed()
	return n
}

// NextMatch implements Searcher.
func (p *journalPane) NextMatch(ctx *Context, dir int) tea.Cmd {
	items, at := p.list.Items(), p.list.Index()
	for i := at + dir; i >= 0 && i < len(items); i += dir {
		if matches(eventWords(p.ctx, items[i])+" "+string(items[i].Type), p.find) {
			p.list.Select(i)
			p.changed()
			return p.older(ctx)
		}
	}
	return nil
}

// SearchFar implements farSearcher: a log is searched where it is read.
func (p *journalPane) SearchFar(*Context, int) tea.Cmd { return nil }

// Found implements farSearcher.
func (p *journalPane) Found() string {
	n := 0
	for _, e := range p.list.Items() {
		if matches(eventWords(p.ctx, e)+" "+string(e.Type), p.find) {
			n++
		}
	}
	before, after := p.list.More()
	return foundIn(n, p.list.Len(), before || after)
}

// seek goes to an event, also to one that is not loaded.
func (p *journalPane) seek(ctx *Context, seq uint64) tea.Cmd {
	if p.topic == 0 && p.list.SelectKey(strconv.FormatUint(seq, 10)) {
		p.changed()
		return nil
	}
	p.topic, p.wanted = 0, seq
	p.list.Set(nil, false, false)
	return p.ask(ctx, journalAround)
}
