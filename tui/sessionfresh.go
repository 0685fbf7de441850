package tui

import (
	tea "charm.land/bubbletea/v2"

	"vise/engine/event"
	"vise/engine/trace"
	"vise/store"
)

// sessionTouched are the events after which a session's row may say something else.
var sessionTouched = []event.Type{event.Notice, event.TurnReplayed, event.TurnScored, event.AgentExited, event.Health}

// freshen reads again the rows that a change is about: what one session does must not
// cost the reading of all that are loaded. A page that is being read is asked for once
// more instead, since it may have been read before the change.
func (p *sessionsPane) freshen(ctx *Context, c Change) tea.Cmd {
	if !p.sieve.expr.Empty() || p.reading {
		return p.ask(ctx)
	}
	for _, t := range sessionTouched {
		for _, e := range c.Events {
			if e.Type == t && e.SessionID != "" {
				p.touched[e.SessionID] = true
			}
		}
	}
	var ids []string
	for _, r := range p.list.Items() {
		if p.touched[r.ID] {
			ids = append(ids, r.ID)
		}
	}
	if len(ids) == 0 {
		clear(p.touched) // none of them is loaded
		return nil
	}
	return p.fresh.ask(ctx, func(tx *store.Tx) (rows []sessionRow, err error) {
		var heads []trace.Session
		for _, id := range ids {
			h, ok, err := tx.Session(id)
			if err != nil {
				return nil, err
			}
			if ok {
				heads = append(heads, h)
			}
		}
		rows, _, err = judged(tx, heads, len(heads))
		return rows, err
	})
}

// freshened puts rows that were read again into the list.
func (p *sessionsPane) freshened(rows []sessionRow) {
	clear(p.touched)
	for _, r := range rows {
		p.list.Update(r)
	}
	p.bump()
}
