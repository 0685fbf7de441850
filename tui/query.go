package tui

import (
	tea "charm.land/bubbletea/v2"

	"vise/store"
)

// query asks the store for one kind of window. Questions are numbered: the reply
// to an older one is dropped, so that a slow reading never overwrites a newer one.
type query[T any] struct {
	pane PaneID
	name string // tells the queries of one pane apart
	seq  uint64
}

// reply is the answer to a query; App hands it to the panes.
type reply[T any] struct {
	pane  PaneID
	name  string
	seq   uint64
	value T
	err   error
}

// paneReply is any reply, for App to find its pane.
type paneReply interface{ For() PaneID }

// For is the pane that asked.
func (r reply[T]) For() PaneID { return r.pane }

// ask returns the command that reads.
func (q *query[T]) ask(ctx *Context, read func(tx *store.Tx) (T, error)) tea.Cmd {
	q.seq++
	r := reply[T]{pane: q.pane, name: q.name, seq: q.seq}
	s, end := ctx.Store, ctx.Ctx
	return func() tea.Msg {
		if end.Err() != nil {
			return nil
		}
		r.err = s.View(func(tx *store.Tx) (err error) {
			r.value, err = read(tx)
			return err
		})
		return r
	}
}

// outside is ask for what does not lie in the store.
func (q *query[T]) outside(ctx *Context, read func() (T, error)) tea.Cmd {
	q.seq++
	r, end := reply[T]{pane: q.pane, name: q.name, seq: q.seq}, ctx.Ctx
	return func() tea.Msg {
		if end.Err() != nil {
			return nil
		}
		r.value, r.err = read()
		return r
	}
}

// drop makes the reply to a question that is under way an outdated one.
func (q *query[T]) drop() { q.seq++ }

// take returns the value when the message answers the newest question. mine is
// true for every reply to this query, outdated ones included.
func (q *query[T]) take(msg any) (value T, fresh, mine bool, err error) {
	r, ok := msg.(reply[T])
	if !ok || r.pane != q.pane || r.name != q.name {
		var zero T
		return zero, false, false, nil
	}
	return r.value, r.seq == q.seq, true, r.err
}
