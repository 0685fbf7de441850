package tui

import (
	"slices"

	tea "charm.land/bubbletea/v2"

	"vise/tui/action"
)

// typedAhead bounds the keys that wait; who types more has lost the thread.
const typedAhead = 64

// ahead are keys that were pressed before what they are about was there: a movement that
// still reads its rows must end first, or the key acts on the row that was left; and an act
// that is being taken back must be, before the next one is.
type ahead struct {
	keys  []tea.KeyPressMsg
	reads int // what movements still read
}

// landedMsg is the answer that a movement waited for.
type landedMsg struct{ answer tea.Msg }

// reading are the movements that may have to read the rows that they lead to.
var reading = []action.ID{action.Home, action.End, action.Up, action.Down, action.PageUp, action.PageDown, action.Back, action.Forward}

// landing makes keys wait for the answer of a movement.
func (a *App) landing(cmd tea.Cmd) tea.Cmd {
	if cmd == nil {
		return nil
	}
	a.ahead.reads++
	return func() tea.Msg { return landedMsg{cmd()} }
}

// landed takes the answer of a movement, and then the keys that waited for it.
func (a *App) landed(m landedMsg) tea.Cmd {
	a.ahead.reads--
	if batch, ok := m.answer.(tea.BatchMsg); ok {
		cmds := make([]tea.Cmd, len(batch))
		for i, cmd := range batch {
			cmds[i] = a.landing(cmd)
		}
		return tea.Batch(append(cmds, a.typed())...)
	}
	var cmd tea.Cmd
	if m.answer != nil {
		cmd = a.update(m.answer)
	}
	return tea.Batch(cmd, a.typed())
}

// waits takes a key that is too early; false when it means something now.
func (a *App) waits(k tea.KeyPressMsg) bool {
	if len(a.ahead.keys) == 0 && !a.early(k) {
		return false
	}
	if len(a.ahead.keys) < typedAhead {
		a.ahead.keys = append(a.ahead.keys, k)
	}
	return true
}

func (a *App) early(k tea.KeyPressMsg) bool {
	if a.ahead.reads > 0 {
		return true
	}
	act, ok := a.reg.Lookup(k.String(), string(a.focus))
	return ok && a.acts.busy && (act.ID == action.Undo || act.ID == action.Redo)
}

// typed lets the keys that waited do what they mean, up to one that has to wait itself.
func (a *App) typed() tea.Cmd {
	var cmds []tea.Cmd
	for len(a.ahead.keys) > 0 {
		cmds = append(cmds, a.settleScope()) // panes know where the last one led
		k := a.ahead.keys[0]
		if len(a.overlays) == 0 && a.search == nil && a.filtering == nil && a.early(k) {
			break
		}
		rest := slices.Clone(a.ahead.keys[1:])
		a.ahead.keys = nil // it is not too early any more
		cmds = append(cmds, a.key(k))
		a.ahead.keys = append(rest, a.ahead.keys...)
	}
	return tea.Batch(cmds...)
}
