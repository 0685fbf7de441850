package tui

import (
	"strings"

	"vise/engine/event"
	"vise/engine/link"
)

// Hyperlinks reports whether the terminal of an environment is known to take hyperlinks
// (OSC 8): others print what they do not know, or worse. NO_COLOR and a linear workbench
// leave them out. The list follows github.com/Alhadis/OSC8-Adoption: kitty, iTerm2, WezTerm,
// Ghostty, Windows Terminal, Konsole, foot, Alacritty, contour, VTE from 0.50, VS Code, and
// tmux from 3.4, which passes them on to terminals that have them.
func (c Config) Hyperlinks() bool {
	if c.noColor() || c.linear() {
		return false
	}
	program, name := c.env("TERM_PROGRAM"), c.env("TERM")
	switch program {
	case "tmux":
		return atLeast(c.env("TERM_PROGRAM_VERSION"), 3, 4)
	case "iTerm.app", "WezTerm", "ghostty", "vscode", "contour", "rio", "Hyper", "mintty":
		return true
	}
	if c.env("TMUX") != "" || c.env("STY") != "" {
		return false // what is behind it is not known
	}
	for _, v := range []string{"KITTY_WINDOW_ID", "WT_SESSION", "KONSOLE_VERSION", "ALACRITTY_WINDOW_ID"} {
		if c.env(v) != "" {
			return true
		}
	}
	for _, begin := range []string{"xterm-kitty", "xterm-ghostty", "foot", "alacritty", "contour", "wezterm"} {
		if strings.HasPrefix(name, begin) {
			return true
		}
	}
	return atLeast(c.env("VTE_VERSION"), 5000)
}

// placeOf is the address of what an event speaks of, "" when it is no one thing.
func placeOf(e event.Event) string {
	switch {
	case e.RunID != "":
		return link.Of("run", e.RunID)
	case e.RuleID != "":
		return link.Of("rule", e.RuleID)
	case e.CaseID != "":
		return link.Of("case", e.CaseID)
	case e.EpisodeID != "":
		return link.Of("episode", e.EpisodeID)
	case e.NoticeID != "":
		return link.Of("notice", e.NoticeID)
	case e.TurnIndex != nil:
		return link.Turn(e.SessionID, *e.TurnIndex)
	}
	return link.Of("session", e.SessionID)
}

// Link is the address of what waits (package link), "" when it is no one thing.
func (x AttentionItem) Link() string {
	return placeOf(event.Event{RunID: x.RunID, RuleID: x.RuleID, EpisodeID: x.EpisodeID, NoticeID: x.NoticeID, SessionID: x.SessionID})
}
