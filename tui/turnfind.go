package tui

import (
	tea "charm.land/bubbletea/v2"

	"vise/store"
)

// turnsSought bounds how many turns one search looks at.
const turnsSought = 20000

// Search implements Searcher: over what the user said.
func (p *turnsPane) Search(ctx *Context, q string) int {
	p.find = q
	p.sought.drop()
	p.bump()
	n, moved := p.list.Find(p.match)
	if moved {
		p.choose(ctx)
	}
	return n
}

// NextMatch implements Searcher.
func (p *turnsPane) NextMatch(ctx *Context, dir int) tea.Cmd {
	if !p.seek(ctx, dir > 0, p.match) {
		return p.SearchFar(ctx, dir)
	}
	return nil
}

func (p *turnsPane) match(r turnRow) bool {
	return p.find != "" && p.holds(r.Input)
}

func (p *turnsPane) holds(input string) bool { return turnHolds(input, p.find) }

func turnHolds(input, query string) bool {
	return matches(firstLine(input), query)
}

// SearchFar implements farSearcher: the first match of the session when none is
// loaded (0), else the nearest one beyond the window.
func (p *turnsPane) SearchFar(ctx *Context, dir int) tea.Cmd {
	before, after := p.list.More()
	items := p.list.Items()
	if p.find == "" || len(items) == 0 || dir == 0 && (p.loadedMatches() > 0 || !before && !after) || dir > 0 && !after || dir < 0 && !before {
		return nil
	}
	session, query := p.session, p.find
	from, until := 0, turnsSought
	switch {
	case dir > 0:
		from = items[len(items)-1].Index + 1
		until += from
	case dir < 0:
		until = items[0].Index
		from = max(0, until-turnsSought)
	}
	return p.sought.ask(ctx, func(tx *store.Tx) (int, error) {
		hit := NoTurn
		for from < until && ctx.Ctx.Err() == nil {
			heads, err := tx.TurnHeads(session, from, turnsPage)
			if err != nil || len(heads) == 0 {
				return hit, err
			}
			for _, t := range heads {
				if t.Index >= until || !turnHolds(t.Input, query) {
					continue
				}
				if hit = t.Index; dir >= 0 {
					return hit, nil
				}
			}
			from = heads[len(heads)-1].Index + 1
		}
		return hit, nil
	})
}

func (p *turnsPane) loadedMatches() (n int) {
	for _, r := range p.list.Items() {
		if p.match(r) {
			n++
		}
	}
	return n
}

// Found implements farSearcher.
func (p *turnsPane) Found() string {
	before, after := p.list.More()
	return foundIn(p.loadedMatches(), p.list.Len(), before || after)
}
