package tui

import (
	"context"
	"slices"

	tea "charm.land/bubbletea/v2"

	"vise/engine/trace"
	"vise/store"
	"vise/tui/vlist"
)

// A search looks at no more heads than this, so many at a time.
const (
	sessionsSought = 20000
	sessionsStride = 500
)

// place is where a page that was jumped to puts the cursor.
type place int

// The places: on what the page says, on the first row of the list, on the last.
const (
	placeKey place = iota
	placeHome
	placeEnd
)

// sessionsJump is a page from elsewhere in the list that takes the place of the window.
type sessionsJump struct {
	sessionsWindow
	place place
	key   string
	total int  // matches in the store; -1 when the jump was no search, or stopped at the first
	whole bool // the search has seen every session
	query string
}

// leap asks for the first page or the last one.
func (p *sessionsPane) leap(ctx *Context, to place) tea.Cmd {
	p.stopSeeking()
	return p.jump.ask(ctx, func(tx *store.Tx) (j sessionsJump, err error) {
		j.place, j.total = to, -1
		last := to == placeEnd
		heads, err := tx.Sessions(store.Window{Own: true, Pinned: true, Limit: sessionsPage + 1, Oldest: last})
		if err != nil {
			return j, err
		}
		var more bool
		if j.rows, more, err = judged(tx, heads, sessionsPage); last {
			slices.Reverse(j.rows)
			j.before = more
		} else {
			j.after = more
		}
		return j, err
	})
}

// stopSeeking ends a search of the store that is under way.
func (p *sessionsPane) stopSeeking() {
	if p.stop != nil {
		p.stop()
		p.stop = nil
	}
	p.jump.drop()
}

// SearchFar implements farSearcher: it counts the matches in the whole store and
// goes to the newest when none is loaded (dir 0), or to the next one in a direction.
func (p *sessionsPane) SearchFar(ctx *Context, dir int) tea.Cmd {
	p.stopSeeking()
	p.bump()
	before, after := p.list.More()
	if p.find == "" || dir == 0 && !before && !after || dir > 0 && !after || dir < 0 && !before {
		return nil
	}
	alive, stop := context.WithCancel(ctx.Ctx)
	p.stop = stop
	query, from := p.find, ""
	switch {
	case dir > 0:
		from = p.list.Last()
	case dir < 0:
		from = p.list.First()
	}
	return p.jump.ask(ctx, func(tx *store.Tx) (j sessionsJump, err error) {
		defer stop()
		j.query = query
		if err := j.seek(alive, tx, from, dir); err != nil || j.key == "" {
			return j, err
		}
		err = j.around(tx)
		return j, err
	})
}

// leapTo asks for the page that begins with a session.
func (p *sessionsPane) leapTo(ctx *Context, id string) tea.Cmd {
	p.stopSeeking()
	return p.jump.ask(ctx, func(tx *store.Tx) (j sessionsJump, err error) {
		j.key, j.total = id, -1
		err = j.around(tx)
		return j, err
	})
}

// around reads the page that begins with the session of the key; no rows when it is gone.
func (j *sessionsJump) around(tx *store.Tx) error {
	head, ok, err := tx.Session(j.key)
	if err != nil || !ok {
		return err
	}
	newer, err := tx.Sessions(store.Window{Own: true, Pinned: true, After: j.key, Limit: 1, Oldest: true})
	if err != nil {
		return err
	}
	older, err := tx.Sessions(store.Window{Own: true, Pinned: true, After: j.key, Limit: sessionsPage})
	if err != nil {
		return err
	}
	j.before = len(newer) > 0
	j.rows, j.after, err = judged(tx, append([]trace.Session{head}, older...), sessionsPage)
	return err
}

// seek goes through the heads page by page until it is told to stop.
func (j *sessionsJump) seek(alive context.Context, tx *store.Tx, from string, dir int) error {
	for seen := 0; seen < sessionsSought && alive.Err() == nil; {
		heads, err := tx.Sessions(store.Window{Own: true, Pinned: true, After: from, Limit: sessionsStride, Oldest: dir < 0})
		if err != nil {
			return err
		}
		for _, h := range heads {
			if !sessionHolds(h, j.query) {
				continue
			}
			if j.key == "" {
				j.key = h.ID
			}
			if dir != 0 {
				j.total = -1
				return nil
			}
			j.total++
		}
		if len(heads) < sessionsStride {
			j.whole = true
			return nil
		}
		seen += len(heads)
		from = heads[len(heads)-1].ID
	}
	return nil
}

// landed puts a page that was jumped to into the list.
func (p *sessionsPane) landed(ctx *Context, j sessionsJump) tea.Cmd {
	p.bump()
	if j.query != "" {
		if j.query != p.find {
			return nil
		}
		if j.total >= 0 {
			p.total, p.whole = j.total, j.whole
		}
		// A match that is loaded is where the cursor is already.
		if n := p.loadedMatches(); j.key == "" || j.total >= 0 && n > 0 {
			return nil
		}
	}
	if len(j.rows) == 0 {
		return nil // it is gone, or not stored yet
	}
	p.wanted = ""
	p.more.drop()
	p.asking = false
	p.list.Set(j.rows, j.before, j.after)
	switch j.place {
	case placeHome:
		p.list.Home()
	case placeEnd:
		p.list.End()
	default:
		p.list.SelectKey(j.key)
	}
	p.choose(ctx)
	// What was asked for around the old place would put it back.
	return tea.Batch(p.ask(ctx), p.load(ctx))
}

func (p *sessionsPane) loadedMatches() (n int) {
	for _, r := range p.list.Items() {
		if p.match(r) {
			n++
		}
	}
	return n
}

// Found implements farSearcher.
func (p *sessionsPane) Found() string {
	before, after := p.list.More()
	switch {
	case p.stop != nil:
		return itoa(p.loadedMatches()) + " in the " + itoa(p.list.Len()) + " loaded, looking through the store"
	case p.total >= 0 && p.whole:
		return matchCount(p.total)
	case p.total >= 0:
		return matchCount(p.total) + " in the newest " + itoa(sessionsSought)
	}
	return foundIn(p.loadedMatches(), p.list.Len(), before || after)
}

func (p *sessionsPane) match(r sessionRow) bool {
	return p.find != "" && sessionHolds(r.Session, p.find)
}

// sessionHolds reports whether a session is one that was searched for.
func sessionHolds(s trace.Session, query string) bool {
	return matches(s.ID+" "+s.Name+" "+s.Title+" "+s.ReplayOf, query)
}

// ends reports whether a move must load the list's end first.
func ends[T any](l *vlist.List[T], to place) bool {
	before, after := l.More()
	return to == placeHome && before || to == placeEnd && after
}
