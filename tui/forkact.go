package tui

import (
	"fmt"
	"time"

	tea "charm.land/bubbletea/v2"

	"vise/engine"
	"vise/engine/episode"
	"vise/engine/repair"
	"vise/engine/rule"
	"vise/store"
	"vise/tui/action"
	"vise/tui/style"
)

// forkEnded tells that a fork that was started here has ended.
type forkEnded struct{ fork episode.Episode }

// Disabled implements Disabler.
func (p *repairPane) Disabled(ctx *Context, id action.ID) string {
	switch id {
	case action.Fork, action.Accept, action.Discard:
	default:
		return ""
	}
	e := p.data.episode
	switch {
	case !p.data.found:
		return "there is no repair here yet"
	case p.here:
		return "it is running: {run.cancel} cancels it"
	case id == action.Fork && len(p.data.steps) == 0:
		return "none of its turns is stored, so nothing can go on from one"
	case id == action.Fork:
		return ctx.Running.Busy()
	case e.Fork == nil:
		return "this is no fork: {episode.fork} makes one"
	case id == action.Accept && e.Fork.Candidate == nil:
		return "this fork wrote no rule"
	case e.Fork.AcceptedAt != "":
		return "it is accepted, as rule " + tag(e.CandidateID)
	}
	return ""
}

// run is the run of the episode that a fork would go on from: that under the cursor.
func (p *repairPane) run() (attempt int, steps []episode.Step) {
	if attempt = p.attempt; attempt == 0 {
		attempt = p.data.episode.Attempts
	}
	for _, s := range p.data.steps {
		if s.Attempt == attempt {
			steps = append(steps, s)
		}
	}
	return attempt, steps
}

// branch is what a fork would keep; its error says why it cannot.
func (p *repairPane) branch(c repair.Change) (repair.Branch, error) {
	attempt, steps := p.run()
	var ended time.Time
	if e := p.data.episode; e.Result != nil && attempt == e.Attempts {
		ended = e.Result.Ended
	}
	return repair.NewBranch(steps, ended, c)
}

// fork starts a what-if, as it is written; without a text it opens the card for one.
func (a *App) fork(text string) tea.Cmd {
	p, ok := a.panes[PaneRepair].(*repairPane)
	if !ok || a.focus != PaneRepair {
		return a.nothing(action.Fork)
	}
	if text == "" {
		return a.open(newForkCard(p))
	}
	f, err := parseFork(text)
	if err != nil {
		return a.say(style.Warn, err.Error())
	}
	return a.startFork(p, f)
}

// startFork runs a fork; it is followed like a repair.
func (a *App) startFork(p *repairPane, f forkForm) tea.Cmd {
	attempt, _ := p.run()
	if attempt == p.data.episode.Attempts {
		attempt = 0
	}
	s, err := f.spec(p.data.episode.ID, attempt)
	if err == nil {
		_, err = p.branch(s.Change)
	}
	if err == nil {
		_, err = repair.ToolNames(s.Deny)
	}
	if err == nil {
		a.follow = true
		err = a.conductor.Fork(s)
	}
	if err != nil {
		return a.say(style.Warn, causeFirst(err.Error(), ""))
	}
	return nil
}

// forked shows a fork that has ended beside the run that it goes on from.
func (a *App) forked(m forkEnded) tea.Cmd {
	if !a.follow || a.view != repairView {
		return a.say(style.Info, "fork "+tag(m.fork.ID)+" ended "+string(m.fork.Status))
	}
	a.ctx.Scope.Episode, a.ctx.Scope.Attempt, a.ctx.Scope.Step = m.fork.ID, 0, 0
	return a.besides("episode", m.fork.Fork.Of, m.fork.ID, engine.EpisodesBeside)
}

// accept makes the rule of the fork in the pane a candidate; u takes it back.
func (a *App) accept() tea.Cmd {
	p, ok := a.panes[PaneRepair].(*repairPane)
	if !ok || a.focus != PaneRepair || a.ctx.Harness == nil {
		return a.nothing(action.Accept)
	}
	h, end, id := a.ctx.Harness, a.ctx.Ctx, p.data.episode.ID
	return func() tea.Msg {
		r, err := h.AcceptFork(end, id)
		if err != nil {
			return acted{err: err}
		}
		return acted{said: "accepted: rule " + tag(r.ID) + " is " + string(r.Status) + "; {run.validate} lets evidence decide, {edit.undo} takes it back",
			act: act{Kind: actAccept, Target: r.ID, Before: said(string(rule.Retired)), After: said(string(r.Status))}}
	}
}

// discard removes the fork in the pane at the second press: it cannot be taken back.
func (a *App) discard() tea.Cmd {
	p, ok := a.panes[PaneRepair].(*repairPane)
	if !ok || a.focus != PaneRepair || a.ctx.Harness == nil {
		return a.nothing(action.Discard)
	}
	e := p.data.episode
	if ask := a.asks(action.Discard, e.ID, "removes fork "+tag(e.ID)+" and its transcript for good; {episode.accept} accepts it"); ask != nil {
		return ask
	}
	h, end, st := a.ctx.Harness, a.ctx.Ctx, a.ctx.Store
	return func() tea.Msg {
		if err := h.RemoveFork(end, e.ID); err != nil {
			return acted{err: err}
		}
		to := e.Fork.Of
		if err := st.View(func(tx *store.Tx) error {
			_, there, err := tx.Episode(to)
			if !there {
				to = ""
			}
			return err
		}); err != nil {
			return acted{err: fmt.Errorf("read the repair: %w", err)}
		}
		return forkGone{id: e.ID, of: to}
	}
}

// forkGone tells that a fork was removed; of is the episode to show instead.
type forkGone struct{ id, of string }

func (a *App) forkRemoved(m forkGone) tea.Cmd {
	s := a.ctx.Scope
	if s.Episode == m.id {
		s.Episode, s.Attempt, s.Step = m.of, 0, 0
	}
	if p, ok := a.panes[PaneRepair].(*repairPane); ok && p.data.episode.ID == m.id {
		p.want, p.data = m.of, repairData{}
	}
	return tea.Batch(a.apply(Change{Reload: true}), a.say(style.Good, "removed fork "+tag(m.id)))
}
