package tui

import (
	"context"
	"errors"

	"vise/tui/action"
	"vise/tui/style"

	tea "charm.land/bubbletea/v2"
)

// Errand is work on the project that is a command elsewhere too: arg is what it is about
// (a path, a session, a command line), said what a person is told of its end.
type Errand func(ctx context.Context, arg string) (said string, err error)

// errands are the kinds of the actions that are errands.
var errands = map[action.ID]ActivityKind{action.Import: Importing, action.Score: Scoring, action.Agent: Patching}

// Errand runs one, with what it is about.
func (c *Conductor) Errand(id action.ID, arg string) error {
	do := c.errands[id]
	if do == nil {
		return errors.New("there is no project; vise init writes one")
	}
	a := Activity{Kind: errands[id], Session: arg}
	if id != action.Score {
		a.Session, a.Arg = "", arg
	}
	return c.start(a, func(ctx context.Context) error {
		said, err := do(ctx, arg)
		if err == nil && context.Cause(ctx) == nil {
			c.send(sayMsg{said, style.Good})
		}
		return err
	})
}

// errand starts one; without an argument it asks for it, except where it is about the
// session in scope.
func (a *App) errand(id action.ID, arg string) tea.Cmd {
	if id == action.Score {
		arg = a.replayed()
	}
	if arg == "" {
		return a.ask(id)
	}
	if err := a.conductor.Errand(id, arg); err != nil {
		return a.say(style.Bad, err.Error())
	}
	if id == action.Agent {
		a.follow = true
		a.show(patchView, PaneAttempts)
	}
	return nil
}
