package tui

import (
	"strings"

	tea "charm.land/bubbletea/v2"
)

// tabProgress is the progress that the terminal shows in its tab or task bar (OSC 9;4).
// Other terminals take OSC 9 for a notification, so only those that are known get it.
func (a *App) tabProgress() *tea.ProgressBar {
	if !a.tabs94 {
		return nil
	}
	run := a.conductor.Running()
	switch {
	case a.ctx.Held != nil:
		return tea.NewProgressBar(tea.ProgressBarWarning, a.progress.percent())
	case run.Kind == Idle:
		return nil
	case run.Kind == Replaying && a.progress.turns > 0:
		return tea.NewProgressBar(tea.ProgressBarDefault, a.progress.percent())
	}
	return tea.NewProgressBar(tea.ProgressBarIndeterminate, 0)
}

// programStatus is what the program says of itself to terminals that show it (OSC 7501,
// Program Status Protocol): working, blocked on a person, or done; nil before anything ran.
func (a *App) programStatus() *tea.ProgramStatus {
	if a.noStatus {
		return nil
	}
	s := tea.ProgramStatus{App: "vise"}
	switch run := a.conductor.Running(); {
	case a.ctx.Held != nil:
		s.State, s.Kind, s.Message = tea.ProgramStateBlocked, tea.ProgramStatusKindPermission, "a repair waits for a step"
	case run.Kind != Idle:
		s.State, s.Message = tea.ProgramStateWorking, string(run.Kind)
		if run.Kind == Replaying && a.progress.turns > 0 {
			s.Progress, s.HasProgress = a.progress.percent(), true
		}
		a.ran = true
	case !a.ran:
		return nil
	case len(a.ctx.Incidents) > 0:
		s.State, s.Message = tea.ProgramStateError, count(len(a.ctx.Incidents), "error")
	default:
		s.State = tea.ProgramStateDone
	}
	// The renderer keeps what it was given: another status is another value.
	if a.status == nil || *a.status != s {
		changed := s
		a.status = &changed
	}
	return a.status
}

// percent is how much of the turns of a replay is done.
func (p *progress) percent() int {
	if p.turns <= 0 {
		return 0
	}
	return min(100, 100*p.done/p.turns)
}

// knowsProgress lists the terminals that show OSC 9;4: Windows Terminal, ConEmu,
// Ghostty, WezTerm, rio, Konsole and iTerm2 since 3.6.6. Multiplexers keep it.
func (c Config) knowsProgress() bool {
	if c.NoStatus || c.env("TMUX") != "" || strings.HasPrefix(c.env("TERM"), "screen") {
		return false
	}
	switch c.env("TERM_PROGRAM") {
	case "ghostty", "WezTerm", "rio":
		return true
	case "iTerm.app":
		return atLeast(c.env("TERM_PROGRAM_VERSION"), 3, 6, 6)
	}
	return c.env("WT_SESSION") != "" || c.env("ConEmuANSI") == "ON"
}

// atLeast compares the version "3.6.6" with numbers.
func atLeast(version string, want ...int) bool {
	parts := strings.Split(version, ".")
	for i, w := range want {
		n := 0
		if i < len(parts) {
			for _, c := range parts[i] {
				if c < '0' || c > '9' {
					break
				}
				n = min(n*10+int(c-'0'), 1_000_000)
			}
		}
		if n != w {
			return n > w
		}
	}
	return true
}
