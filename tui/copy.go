package tui

import (
	"net/url"
	"strconv"
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"vise/engine/guard"
	"vise/tui/action"
	"vise/tui/style"
)

// maxClip is the most bytes sent to the clipboard: terminals drop longer OSC 52
// sequences without a word.
const maxClip = 74_994

// copy sends what is meant to the terminal's clipboard. Whether the terminal takes
// it cannot be known, so the message says "sent".
func (a *App) copy(id action.ID) tea.Cmd {
	p := a.panes[a.focus]
	var text string
	switch id {
	case action.Copy:
		text = p.Copy()
	case action.CopyCommand:
		text = p.Headless()
	case action.CopyLink:
		text = a.link()
	}
	// What one pastes is what one saw: a record may hold what a terminal would obey.
	text = guard.Visible(text)
	switch {
	case text == "":
		return a.say(style.Dim, "nothing to copy here")
	case len(text) > maxClip:
		return a.say(style.Warn, "too much for the clipboard: "+itoa(len(text))+" bytes, at most "+itoa(maxClip)+"; Y copies the command that prints it")
	}
	said := a.say(style.Info, "sent "+itoa(len(text))+" bytes to the clipboard (OSC 52): "+text)
	return tea.Batch(said, a.clipboard(text))
}

// clipboard writes OSC 52, wrapped for a multiplexer that would swallow it.
func (a *App) clipboard(text string) tea.Cmd {
	seq := ansi.SetSystemClipboard(text)
	switch {
	case a.cfg.env("TMUX") != "":
		return tea.Raw(ansi.TmuxPassthrough(seq))
	case strings.HasPrefix(a.cfg.env("TERM"), "screen"):
		return tea.Raw(ansi.ScreenPassthrough(seq, 0))
	}
	return tea.SetClipboard(text)
}

// link is the address of what is on the screen.
func (a *App) link() string {
	s := a.ctx.Scope
	var b strings.Builder
	b.WriteString("vise://")
	switch {
	case a.view == repairView && s.Episode != "":
		b.WriteString("episode/" + url.PathEscape(s.Episode))
		if s.Step > 0 {
			b.WriteString("/step/" + strconv.Itoa(s.Step))
		}
	case a.view == evidenceView && s.Rule != "":
		b.WriteString("rule/" + url.PathEscape(s.Rule))
	case s.Session != "":
		b.WriteString("session/" + url.PathEscape(s.Session))
		if s.Turn != NoTurn {
			b.WriteString("/turn/" + strconv.Itoa(s.Turn))
		}
	default:
		return ""
	}
	return b.String() + "?pane=" + string(a.focus)
}

func itoa(n int) string { return strconv.Itoa(n) }
