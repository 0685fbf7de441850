package tui

import (
	tea "charm.land/bubbletea/v2"

	"vise/engine/guard"
	"vise/tui/action"
	"vise/tui/style"
)

// Start is what a person can begin with in a folder without a project.
type Start string

// The choices.
const (
	StartDemo  Start = "vise demo"
	StartInit  Start = "vise init"
	StartLeave Start = "quit"
)

// Starts are the choices in their order, each with what it does.
var Starts = []struct {
	Start Start
	Note  string
}{
	{StartDemo, "a throw-away project: watch an agent fail and be repaired"},
	{StartInit, "writes a vise.toml here and goes on to the workbench"},
	{StartLeave, "nothing is written"},
}

// NoProject says why there is a choice.
const NoProject = "There is no vise.toml in this folder or above it."

// firstRun is the card of a folder without a project: a choice.
func (a *App) firstRun() []string {
	lines := []cardLine{
		{style.Accent, "vise"},
		{style.Text, "holds a failing agent still while it is repaired"},
		{style.Text, ""},
		{style.Dim, NoProject},
		{style.Text, ""},
	}
	for i, s := range Starts {
		mark, role := "  ", style.Text
		if i == a.start {
			mark, role = a.ctx.Style.Glyphs.Pointer+" ", style.Accent
		}
		lines = append(lines, cardLine{role, mark + string(s.Start)}, cardLine{style.Dim, "    " + s.Note})
	}
	if a.toast.text != "" { // there is no footer here
		return a.card(append(lines, cardLine{style.Text, ""}, cardLine{a.toast.role, guard.Line(a.toast.text, 200)}))
	}
	return a.card(append(lines, cardLine{style.Text, ""}, cardLine{style.Dim, a.ctx.Text("{move.into} runs it, {quit} quits, {view.themes} themes, {help.keys} keys")}))
}

// choose moves in the card, or takes what is chosen: the workbench ends, and who opened
// it goes on with that.
func (a *App) choose(id action.ID) tea.Cmd {
	switch id {
	case action.Up, action.Home:
		a.start = max(0, a.start-1)
		if id == action.Home {
			a.start = 0
		}
	case action.Down, action.End:
		a.start = min(len(Starts)-1, a.start+1)
		if id == action.End {
			a.start = len(Starts) - 1
		}
	case action.Into:
		if a.cfg.Chosen != nil {
			*a.cfg.Chosen = Starts[a.start].Start
		}
		return tea.Quit
	}
	a.touch()
	return nil
}
