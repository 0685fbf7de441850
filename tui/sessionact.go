package tui

import (
	"strings"

	tea "charm.land/bubbletea/v2"

	"vise/engine/event"
	"vise/store"
	"vise/tui/action"
	"vise/tui/style"
)

// Called is what a session is called: the name that a person gave it, else its id, short
// enough for a row.
func (c *Context) Called(id string) string {
	if name := c.Names[id]; name != "" {
		return name
	}
	return tag(id)
}

// namesMsg are the names that people gave to sessions, by id.
type namesMsg struct {
	names map[string]string
	err   error
}

// readNames reads the names of sessions: few, since people give them.
func (a *App) readNames() tea.Cmd {
	s, end := a.ctx.Store, a.ctx.Ctx
	return func() tea.Msg {
		if end.Err() != nil {
			return nil
		}
		m := namesMsg{names: map[string]string{}}
		m.err = s.View(func(tx *store.Tx) error {
			list, err := tx.SessionsCalled("", maxNames)
			for _, h := range list {
				m.names[h.ID] = h.Name
			}
			return err
		})
		return m
	}
}

// maxNames bounds the names that are held.
const maxNames = 10_000

// renaming are the events after which names are others.
func renaming(c Change) bool {
	return c.Reload || c.Has(event.SessionRenamed, event.SessionRemoved, event.SessionRestored, event.ImportFinished)
}

func (a *App) named(m namesMsg) tea.Cmd {
	if m.err != nil {
		return a.say(style.Bad, "read the names of sessions: "+m.err.Error())
	}
	a.ctx.Names = m.names
	return a.apply(Change{Names: true})
}

// sessionAct renames, pins or removes the session under the cursor.
func (a *App) sessionAct(id action.ID, arg string) tea.Cmd {
	p, ok := a.panes[PaneSessions].(*sessionsPane)
	if !ok {
		return nil
	}
	r, ok := p.list.Selected()
	if !ok {
		return a.say(style.Dim, "no session is selected")
	}
	h, end, called := a.ctx.Harness, a.ctx.Ctx, a.ctx.Called(r.ID)
	switch id {
	case action.Rename:
		name := strings.TrimSpace(arg)
		if name == "-" {
			name = ""
		}
		return func() tea.Msg {
			was, err := h.RenameSession(end, r.ID, name)
			m := acted{err: err, said: tag(r.ID) + " is called " + name + "; {edit.undo} takes the name back", act: act{Kind: actRename, Target: r.ID, Before: said(was), After: said(name)}}
			if name == "" {
				m.said = tag(r.ID) + " has no name of yours any more; {edit.undo} gives it back"
			}
			return m
		}
	case action.Pin:
		return func() tea.Msg {
			_, err := h.PinSession(end, r.ID, !r.Pinned)
			said := called + " stays at the top; {session.pin} lets it go"
			if r.Pinned {
				said = called + " takes its place in time again"
			}
			return acted{err: err, said: said, act: act{Kind: actPin, Target: r.ID, Before: on(r.Pinned), After: on(!r.Pinned)}}
		}
	}
	if p.running(r) {
		return a.say(style.Warn, "the agent is at work on it; {run.cancel} cancels it first")
	}
	return func() tea.Msg {
		return acted{err: h.RemoveSession(end, r.ID), said: called + " is removed; {edit.undo} brings it back, until vise store gc takes it for good",
			act: act{Kind: actRemove, Target: r.ID, Before: on(false), After: on(true)}}
	}
}
