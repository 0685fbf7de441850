package tui

import (
	tea "charm.land/bubbletea/v2"

	"vise/engine/event"
	"vise/tui/style"
)

// fed takes a batch of the feed.
func (a *App) fed(m feedMsg) tea.Cmd {
	c := Change{Events: m.events, Reload: m.lost}
	tell := ""
	for _, e := range m.events {
		if t := worthTelling(a.ctx, e); t != "" {
			tell = told{t, placeOf(e)}.text()
		}
		if e.Type == event.StepWaiting {
			c.Held = true
		}
		a.logEvent(e)
		a.ctx.Live.take(e)
		if a.progress.of(a.conductor.Running()); !a.conductor.Over(e.At) {
			a.progress.take(e)
		}
		a.followEvent(e)
	}
	var jump tea.Cmd
	if c.Held {
		a.ctx.Held, a.ctx.PatchHeld = a.cfg.Stepper.Waiting(), a.cfg.PatchStepper.Waiting()
		jump = a.heldNow()
	}
	return tea.Batch(a.apply(c), jump, a.tick(), a.notify(tell))
}

// followEvent lets the scope go where the run goes, until the person moves.
func (a *App) followEvent(e event.Event) {
	s, running := a.ctx.Scope, a.conductor.During(e.At)
	if !a.follow {
		return
	}
	switch {
	case e.Type == event.AgentStarted && running.Kind == Replaying && e.Data["replay_of"] == running.Session:
		s.Session, s.Compare, s.Turn, s.Span = e.SessionID, running.Session, NoTurn, ""
	case (e.Type == event.SpanProgress || e.Type == event.TurnReplayed) && e.SessionID == s.Session && e.TurnIndex != nil:
		if s.Turn != *e.TurnIndex {
			s.Turn, s.Span = *e.TurnIndex, ""
		}
	case e.Type == event.RepairStarted:
		s.Episode, s.Step, s.Attempt = e.EpisodeID, 0, 0
		if e.NoticeID != "" { // a fork's is that of its parent, which is there
			s.Notice = e.NoticeID
		}
	case e.Type == event.PatchStarted && (running.Kind == Mending || running.Kind == Patching):
		s.Run = e.RunID
	case e.Type == event.RuleAdd, e.Type == event.ValidationCandidate:
		s.Rule = e.RuleID
	case e.Type == event.ValidationReplayCase:
		s.Case = e.CaseID
	}
}

// heldNow shows a repair that has come to a checkpoint, if the person follows it
// and is not typing.
func (a *App) heldNow() tea.Cmd {
	held := a.ctx.Held
	if held == nil {
		return nil
	}
	if a.follow && a.view != repairView && len(a.overlays) == 0 && a.search == nil && a.ctx.Now().Sub(a.pressed) >= quiet {
		a.show(repairView, PaneRepair)
		a.ctx.Scope.Episode, a.ctx.Scope.Step = held.EpisodeID, 0
	}
	return nil
}

// activity takes what the conductor tells.
func (a *App) activity(m activityMsg) tea.Cmd {
	a.ctx.Running = a.conductor.Running()
	a.progress.of(a.ctx.Running)
	c := Change{Running: true}
	var say tea.Cmd
	if m.err != nil {
		a.incident(m.ended.name(), m.err)
		c.Incidents = true
		say = a.say(style.Bad, causeFirst(m.err.Error(), m.ended.name()))
	}
	if m.now.Kind == Idle {
		a.ended(m.ended)
		a.ctx.Held, a.ctx.PatchHeld = a.cfg.Stepper.Waiting(), a.cfg.PatchStepper.Waiting()
		c.Held = true
	}
	return tea.Batch(a.apply(c), say, a.tick())
}

// incident remembers an error for Attention.
func (a *App) incident(what string, err error) {
	a.cfg.Log.Error("incident", "what", what, "err", err)
	a.ctx.Incidents = append(a.ctx.Incidents, Incident{At: a.ctx.Now(), What: what, Err: err})
	if over := len(a.ctx.Incidents) - maxIncidents; over > 0 {
		a.ctx.Incidents = a.ctx.Incidents[over:]
	}
}

// name says what an activity is, for people.
func (a Activity) name() string {
	switch {
	case a.Session != "":
		return string(a.Kind) + " of " + a.Session
	case a.Arg != "":
		return string(a.Kind) + " of " + a.Arg
	case a.Rule != "":
		return string(a.Kind) + " of " + a.Rule
	case a.Run != "":
		return string(a.Kind) + " of " + runTag(a.Run)
	case a.Episode != "":
		return string(a.Kind) + " of " + a.Episode
	}
	return string(a.Kind)
}
