package tui

import (
	"time"

	tea "charm.land/bubbletea/v2"

	"vise/engine/episode"
	"vise/store"
	"vise/tui/action"
	"vise/tui/style"
)

// run handles what the conductor does.
func (a *App) run(id action.ID) tea.Cmd {
	var err error
	switch id {
	case action.Replay:
		// Replaying a run of the agent means replaying what it was a replay of.
		session := a.replayed()
		if a.cfg.Ahead != nil {
			return a.foresee(session)
		}
		return a.startReplay(session)
	case action.Validate:
		a.follow = true
		if err = a.conductor.Validate(""); err == nil {
			a.show(evidenceView, PaneValidation)
		}
	case action.ValidateOne:
		a.follow = true
		if err = a.conductor.Validate(a.ctx.Scope.Rule); err == nil {
			a.show(evidenceView, PaneValidation)
		}
	case action.Step:
		if a.cfg.PatchStepper.Step() {
			return nil
		}
		if a.ctx.Held == nil {
			return a.startRepair()
		}
		a.follow = true
		a.showHeld()
		a.cfg.Stepper.Step()
	case action.Continue:
		if a.cfg.PatchStepper.Continue() {
			return nil
		}
		a.follow = true
		a.showHeld()
		a.cfg.Stepper.Continue()
	case action.Cancel:
		if said := a.conductor.Cancel(); said != "" {
			return a.say(style.Warn, said)
		}
	}
	if err != nil {
		return a.say(style.Bad, err.Error())
	}
	switch rules, _ := a.panes[PaneRules].(*rulesPane); {
	case id == action.Validate && rules != nil && !rules.hasCandidate():
		return a.say(style.Dim, "no candidates to validate")
	case a.ctx.NoAgent && (id == action.Validate || id == action.ValidateOne):
		return a.say(style.Warn, noAgent)
	}
	return nil
}

// startReplay runs a session through the agent.
func (a *App) startReplay(session string) tea.Cmd {
	a.follow = true
	if err := a.conductor.Replay(session); err != nil {
		return a.say(style.Bad, err.Error())
	}
	a.show(debugView, "")
	a.pressed = time.Time{} // the key that starts it is not typing
	return nil
}

// replayed is the session that `r` means.
func (a *App) replayed() string {
	s := a.ctx.Scope
	if p, ok := a.panes[PaneSessions].(*sessionsPane); ok {
		if origin := p.originOf(s.Session); origin != "" {
			return origin
		}
	}
	if s.Compare != "" {
		return s.Compare
	}
	return s.Session
}

// showHeld brings the held repair onto the screen.
func (a *App) showHeld() {
	if a.view != repairView {
		a.show(repairView, PaneRepair)
	}
	if h := a.ctx.Held; h != nil {
		a.ctx.Scope.Episode, a.ctx.Scope.Step = h.EpisodeID, 0
	}
	if p, ok := a.panes[PaneRepair].(*repairPane); ok {
		p.catchUp()
	}
}

// startRepair starts the repair of the episode in scope, held at its first checkpoint.
func (a *App) startRepair() tea.Cmd {
	id := a.ctx.Scope.Episode
	if p, ok := a.panes[PaneAttention].(*attentionPane); ok && a.focus == PaneAttention && p.episode() != "" {
		id = p.episode()
		a.ctx.Scope.Episode, a.ctx.Scope.Attempt, a.ctx.Scope.Step = id, 0, 0
	}
	if id == "" {
		return a.say(style.Dim, "no repair is held; {run.replay} replays the session, a notice then starts one")
	}
	conductor, s, ctx := a.conductor, a.ctx.Store, a.ctx
	return func() tea.Msg {
		var e episode.Episode
		var ok bool
		var open []string
		err := s.View(func(tx *store.Tx) (err error) {
			if e, ok, err = tx.Episode(id); err != nil {
				return err
			}
			open, err = pendingOf(tx, e.NoticeIDs)
			return err
		})
		switch {
		case err != nil:
			return sayMsg{err.Error(), style.Bad}
		case ok && e.Fork != nil:
			return sayMsg{"a fork is run once; {episode.fork} in 5 Repair forks it again", style.Dim}
		case !ok || e.Status.Success():
			return sayMsg{"episode " + id + " has ended: nothing is held; {time.back} and {time.forward} go through its steps", style.Dim}
		case len(open) < len(e.NoticeIDs):
			return sayMsg{settledRepair(ctx), style.Dim}
		}
		if err := conductor.Repair(id); err != nil {
			return sayMsg{err.Error(), style.Bad}
		}
		return nil
	}
}
