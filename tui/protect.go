package tui

import (
	"strings"

	tea "charm.land/bubbletea/v2"

	"vise/engine/guard"
	"vise/tui/style"
)

// protect makes a session up to a turn (NoTurn: the last) a win that rules must
// not break.
func protect(ctx *Context, session string, turn int) tea.Cmd {
	if session == "" {
		return nil
	}
	h, end := ctx.Harness, ctx.Ctx
	return func() tea.Msg {
		c, err := h.ProtectCase(end, session, turn, false)
		if err != nil {
			return sayMsg{causeFirst(err.Error(), ""), style.Bad}
		}
		if c.Renews != "" {
			return sayMsg{"renewed " + c.ID + ", the win of " + guard.Line(c.Renews, 40) + " with the same inputs: it is this session's now", style.Good}
		}
		return sayMsg{"protected as " + c.ID + ": a rule that makes it worse will be retired", style.Good}
	}
}

// shellWord quotes a word for a POSIX shell when it needs it.
func shellWord(s string) string {
	if s != "" && strings.IndexFunc(s, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./:@%+,", r))
	}) < 0 {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
