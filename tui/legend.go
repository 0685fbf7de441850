package tui

import (
	"vise/tui/action"
	"vise/tui/style"
)

// legendGroup names the part of the help that says what the signs mean.
const legendGroup = "signs"

// legend are the signs of the screen as rows of the help: no act is behind them, and what
// is typed finds them as it finds the acts.
func legend(g style.Glyphs) []choice {
	var out []choice
	for _, x := range [][2]string{
		{g.Pass, "passed, or the worst score is 0.5 or more"},
		{g.Fail, "failed: a notice was raised, or the worst score is below 0.5"},
		{g.Neutral, "no score, or a turn that no user asked for"},
		{g.Again, "a run of the session by the agent, and when it began"},
		{g.Pin, "pinned to the top"},
		{g.Busy, "running; a rule that is in force; a breakpoint"},
		{g.Held, "held: waits for a step"},
		{g.Stall + " " + g.Regress + " " + g.Fired, "of a turn: a stall, a regression, a notice was raised"},
		{g.Trial, "a candidate rule, an offer; nothing runs"},
		{g.Retired, "a retired rule"},
		{g.Alert, "needs a person"},
		{g.Added, "came since the last look, or has no counterpart in the other run"},
		{g.Dot + g.BarFull + g.Dot, "when a step began and how long it took, within its turn"},
		{"3 " + g.Fail + " .26", "of a session: turns, state, the worst score of the latest turn"},
	} {
		out = append(out, choice{Action: action.Action{Title: x[1], Group: legendGroup, Keys: []string{x[0]}}})
	}
	return out
}
