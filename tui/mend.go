package tui

import (
	tea "charm.land/bubbletea/v2"

	"vise/tui/style"
)

// mend starts the patch loop of the run under the cursor, or takes it up again.
func (a *App) mend() tea.Cmd {
	p, ok := a.panes[PaneAttempts].(*attemptsPane)
	if !ok || p.origin() == "" {
		return a.say(style.Dim, "no run is selected")
	}
	q := a.cfg.PatchBounds
	q.RunID = p.origin()
	a.follow = true
	if err := a.conductor.Mend(q); err != nil {
		return a.say(style.Bad, err.Error())
	}
	return nil
}
