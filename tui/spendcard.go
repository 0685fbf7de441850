package tui

import (
	"context"
	"time"

	tea "charm.land/bubbletea/v2"

	"vise/tui/action"
	"vise/tui/style"
	"vise/tui/vtext"
)

// aheadTime bounds the reading for a forecast.
const aheadTime = 5 * time.Second

// Ahead is what a replay is going to ask of models: in words, and whether money may be
// spent on it.
type Ahead struct {
	Lines  []string
	Spends bool
}

// aheadMsg brings the forecast of a replay that was asked for.
type aheadMsg struct {
	session string
	ahead   Ahead
	err     error
}

// foresee asks what a replay would cost, before it is started.
func (a *App) foresee(session string) tea.Cmd {
	ask, end := a.cfg.Ahead, a.ctx.Ctx
	return func() tea.Msg {
		ctx, stop := context.WithTimeout(end, aheadTime)
		defer stop()
		got, err := ask(ctx, session)
		return aheadMsg{session, got, err}
	}
}

// foreseen starts a replay that costs nothing, and asks about one that does.
func (a *App) foreseen(m aheadMsg) tea.Cmd {
	switch {
	case m.err != nil:
		return a.say(style.Bad, m.err.Error())
	case m.ahead.Spends:
		return a.open(&spendCard{m})
	}
	return a.startReplay(m.session)
}

// spendCard asks whether a replay may spend money.
type spendCard struct{ m aheadMsg }

// Key starts the replay with enter or the key that asked for it; any other key lets it be.
func (c *spendCard) Key(a *App, k tea.KeyPressMsg) tea.Cmd {
	a.close()
	switch k.String() {
	case "enter", a.ctx.Key(action.Replay):
		return a.startReplay(c.m.session)
	}
	return a.say(style.Dim, "nothing was started")
}

// Card implements overlay.
func (c *spendCard) Card(a *App, w, _ int) (string, []string, int, int) {
	s := a.ctx.Style
	var rows []string
	put := func(role style.Role, text string) {
		for _, line := range vtext.Wrap(s.Clean(text), w, 0, s.Width) {
			rows = append(rows, s.Row(w, style.Panel).Put(role, line).String())
		}
	}
	for _, l := range c.m.ahead.Lines {
		put(style.Text, l)
	}
	put(style.Plain, "")
	put(style.Key, "enter runs it, any other key does not")
	return "This replay asks models", rows, -1, -1
}
