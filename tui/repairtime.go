package tui

import (
	"slices"

	tea "charm.land/bubbletea/v2"

	"vise/engine/episode"
	"vise/store"
	"vise/tui/style"
)

// stations are the steps one can go to, in order.
func (p *repairPane) stations() [][2]int {
	var out [][2]int
	for _, s := range p.data.steps {
		out = append(out, [2]int{s.Attempt, s.Turn})
	}
	return out
}

// travel goes one step back or forward, over the ends of an episode to its neighbours.
func (p *repairPane) travel(ctx *Context, dir int) tea.Cmd {
	if !p.data.found {
		// No repair here: back leads to the latest there was.
		return p.latest(ctx)
	}
	list := p.stations()
	i := slices.Index(list, [2]int{p.attempt, p.step})
	if p.step == 0 {
		i = len(list)
		if dir < 0 && p.held == nil && p.live.turn == 0 {
			i-- // the newest is on the screen already
		}
	}
	switch i += dir; {
	case i >= 0 && i < len(list):
		ctx.Scope.Attempt, ctx.Scope.Step = list[i][0], list[i][1]
	case i < 0 && p.data.older != "":
		p.want, p.step = p.data.older, -1
		return p.ask(ctx)
	case i >= len(list) && p.data.newer != "":
		ctx.Scope.Episode, ctx.Scope.Attempt, ctx.Scope.Step = p.data.newer, 1, 1
	case i >= len(list):
		ctx.Scope.Attempt, ctx.Scope.Step = 0, 0
		p.body.End()
		p.bump()
	}
	return nil
}

func (p *repairPane) latest(ctx *Context) tea.Cmd {
	st := ctx.Store
	return func() tea.Msg {
		var list []episode.Episode
		if err := st.View(func(tx *store.Tx) (err error) {
			list, err = tx.Episodes(store.Window{Limit: 1})
			return err
		}); err != nil {
			return sayMsg{"read repairs: " + err.Error(), style.Bad}
		}
		if len(list) == 0 {
			return sayMsg{"there was no repair yet", style.Dim}
		}
		return foundEpisode{list[0].ID}
	}
}

// foundEpisode answers latest.
type foundEpisode struct{ id string }

// For is the pane that asked.
func (foundEpisode) For() PaneID { return PaneRepair }
