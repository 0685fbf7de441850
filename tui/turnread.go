package tui

import (
	tea "charm.land/bubbletea/v2"

	"vise/engine/event"
	scoring "vise/engine/score"
	"vise/store"
)

// ask reads the turns around the one in scope.
func (p *turnsPane) ask(ctx *Context) tea.Cmd { return p.askAt(ctx, placeKey) }

// askAt reads the turns around the one in scope, or those at an end of the session.
func (p *turnsPane) askAt(ctx *Context, to place) tea.Cmd {
	session, compare, turn, expr := p.session, p.compare, ctx.Scope.Turn, p.expr
	if session == "" {
		p.q.drop()
		return nil
	}
	return p.q.ask(ctx, func(tx *store.Tx) (w turnsWindow, err error) {
		w.session, w.to = session, to
		head, _, err := tx.Session(session)
		if err != nil {
			return w, err
		}
		w.sandbox, w.total = badgeOf(head), head.Counts.Turns
		from := 0
		switch {
		case to == placeEnd:
			from = max(0, head.Counts.Turns-turnsPage)
		case to == placeKey && turn > turnsPage/2:
			from = turn - turnsPage/2
		}
		if !expr.Empty() {
			w.rows, w.of, err = siftTurns(ctx.Ctx, tx, session, compare, expr)
			return w, err
		}
		w.before = from > 0
		w.rows, w.after, err = turnRows(tx, session, compare, from)
		return w, err
	})
}

// turnRows reads a page of turns with what their reports say; more: there are further ones.
func turnRows(tx *store.Tx, session, compare string, from int) (rows []turnRow, more bool, err error) {
	heads, err := tx.TurnHeads(session, from, turnsPage+1)
	if err != nil {
		return nil, false, err
	}
	if len(heads) > turnsPage {
		heads, more = heads[:turnsPage], true
	}
	reports, err := tx.Reports(session, from, turnsPage)
	if err != nil {
		return nil, false, err
	}
	fired, err := tx.Events(0, 1000, store.EventFilter{SessionID: session, Types: []event.Type{event.Notice}})
	if err != nil {
		return nil, false, err
	}
	before := map[int]*float64{}
	if compare != "" {
		old, err := tx.Reports(compare, from, turnsPage)
		if err != nil {
			return nil, false, err
		}
		for _, r := range old {
			before[r.TurnIndex] = worst(r)
		}
	}
	rows = make([]turnRow, len(heads))
	at := map[int]int{}
	for i, t := range heads {
		at[t.Index] = i
		rows[i] = turnRow{Index: t.Index, Input: firstLine(t.Input), Synthetic: t.Synthetic, Calls: t.Counts.Calls,
			Errors: t.Counts.Errors, Before: before[t.Index]}
		if t.CutShort() {
			rows[i].CutOff = t.StopReason
		}
	}
	for _, r := range reports {
		i, ok := at[r.TurnIndex]
		if !ok || rows[i].CutOff != "" {
			continue
		}
		rows[i].Worst = worst(r)
		for _, s := range r.Scores {
			rows[i].Stalled = rows[i].Stalled || s.Stalled
			rows[i].Regressed = rows[i].Regressed || s.Regressed
		}
	}
	for _, e := range fired {
		if e.TurnIndex == nil {
			continue
		}
		if i, ok := at[*e.TurnIndex]; ok {
			rows[i].Notice = e.NoticeID
		}
	}
	return rows, more, nil
}

// worst is the lowest score of a report.
func worst(r scoring.Report) *float64 {
	var out *float64
	for _, s := range r.Scores {
		if s.Value != nil && (out == nil || *s.Value < *out) {
			out = s.Value
		}
	}
	return out
}
