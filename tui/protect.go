package tui

import (
	"strings"

	tea "charm.land/bubbletea/v2"

	"vise/engine/guard"
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
		switch {
		case err != nil:
			return acted{err: err}
		case c.Renews != "":
			return acted{said: "renewed " + c.ID + ", the win of " + guard.Line(c.Renews, 40) + " with the same inputs: it is this session's now"}
		case c.Again:
			return acted{said: "renewed " + c.ID + ": it was protected before"}
		}
		return acted{said: "protected as " + c.ID + ": a rule that makes it worse will be retired; {edit.undo} takes it back",
			act: act{Kind: actProtect, Target: session, Before: actValue{Turn: c.TurnIndex}, After: actValue{Text: c.ID, Turn: c.TurnIndex}}}
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
