package tui

import (
	"time"

	tea "charm.land/bubbletea/v2"

	"vise/tui/style"
)

// still reports whether nothing may move by itself: ui.motion = false, or VISE_MOTION
// set to 0, off, no or false. What is going on is then the word [busy], and no clock
// counts in the header.
func (c Config) still() bool {
	switch c.env("VISE_MOTION") {
	case "0", "off", "no", "false":
		return true
	case "":
		return c.NoMotion
	}
	return false
}

// tickEvery is how often the elapsed time in the header is drawn anew. It is the only
// thing on the screen that moves by itself, and it does so only while something runs.
const tickEvery = time.Second

// tick keeps the elapsed time in the header going while something runs.
func (a *App) tick() tea.Cmd {
	if a.ticking || a.still || a.conductor.Running().Kind == Idle || a.ctx.Held != nil {
		return nil
	}
	a.ticking = true
	return tea.Tick(tickEvery, func(time.Time) tea.Msg { return tickMsg{} })
}

// busyMark is the sign that something is going on.
func (a *App) busyMark(s *style.Style) string {
	if a.still {
		return "[busy]"
	}
	return s.Glyphs.Busy
}
