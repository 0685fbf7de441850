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
		p.want, p.step, p.walked = p.data.older, -1, true
		return tea.Batch(p.ask(ctx), says("this is the repair before it, "+tag(p.data.older)))
	case i < 0:
		return says("this is the first step of the first repair")
	case i >= len(list) && p.data.newer != "":
		ctx.Scope.Episode, ctx.Scope.Attempt, ctx.Scope.Step, p.walked = p.data.newer, 1, 1, true
		return says("this is the repair after it, " + tag(p.data.newer))
	case p.step > 0:
		ctx.Scope.Attempt, ctx.Scope.Step = 0, 0
		p.catchUp()
		return says("this is where the newest repair stands")
	default:
		p.catchUp()
		return says("there is nothing newer")
	}
	return nil
}

// station is the number of the step that was gone to, from 1; 0 when the pane shows how
// the repair stands.
func (p *repairPane) station() int {
	if p.step == 0 {
		return 0
	}
	return 1 + slices.Index(p.stations(), [2]int{p.attempt, p.step})
}

// says tells something in the footer.
func says(text string) tea.Cmd {
	return func() tea.Msg { return sayMsg{text, style.Dim} }
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

// pick selects the first step on the screen for a person who has scrolled to it: unless one is
// selected, something is held, or the view is at the end, where all of the repair is meant.
func (p *repairPane) pick(ctx *Context) {
	if p.step > 0 || !p.data.found || p.body.Following() || p.held != nil && p.held.EpisodeID == p.data.episode.ID || p.live.turn > 0 {
		return
	}
	top := p.body.Top()
	for _, k := range p.stations() {
		ctx.Scope.Attempt, ctx.Scope.Step = k[0], k[1]
		if p.at[k] >= top {
			break
		}
	}
}
