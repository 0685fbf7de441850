package tui

import (
	tea "charm.land/bubbletea/v2"

	"vise/tui/action"
	"vise/tui/style"
)

// question is an act that cannot be taken back, asked for once: the same key, with nothing
// in between, does it.
type question struct {
	id    action.ID
	about string
}

// asks says what an act would do when it is asked for the first time; nil the second time.
func (a *App) asks(id action.ID, about, does string) tea.Cmd {
	if q := (question{id, about}); a.question != q {
		a.question = q
		return a.say(style.Warn, "{"+string(id)+"} again "+does)
	}
	a.question = question{}
	return nil
}

// resume asks before repair goes on: it acknowledges what asked for a person.
func (a *App) resume() tea.Cmd {
	p := a.panes[PaneAttention].(*attentionPane)
	n := 0
	for _, x := range p.items {
		if x.Kind == "needs_human" {
			n += max(1, len(x.NoticeIDs))
		}
	}
	does := "lets repair go on for all that comes"
	if n > 0 {
		does += ", and acknowledges what needs a person: " + count(n, "notice")
	}
	if ask := a.asks(action.Resume, "", does+"; it cannot be taken back"); ask != nil {
		return ask
	}
	cmd, _ := p.Do(a.ctx, action.Resume)
	return cmd
}
