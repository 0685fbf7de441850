package store

import (
	"bytes"
	"fmt"
	"slices"

	"vise/engine/trace"
)

// ownSessions lists recorded and live sessions; with w.Pinned the pinned ones first.
func (tx *Tx) ownSessions(w Window) ([]trace.Session, error) {
	var cursor *sessionRecord
	if w.After != "" {
		r, found, err := load(tx, sessions, key(kindSession, w.After))
		if err != nil {
			return nil, fmt.Errorf("list sessions: %w", err)
		}
		if !found {
			return nil, fmt.Errorf("list sessions after %q: %w", w.After, ErrCursor)
		}
		cursor = r
	}
	if !w.Pinned {
		list, err := tx.byTime(w, cursor, nil)
		if err != nil {
			return nil, err
		}
		return tx.heads(list)
	}
	pinned := func(limit int, cursor *sessionRecord) ([]sessionRecord, error) {
		s := scan{prefix: []byte{kindPinned}, reverse: !w.Oldest}
		if cursor != nil {
			s.after = pinnedKey(cursor)
		}
		return collect(tx, sessions, s, limit)
	}
	others := func(limit int, cursor *sessionRecord) ([]sessionRecord, error) {
		w := w
		w.Limit = limit
		return tx.byTime(w, cursor, func(r *sessionRecord) bool { return !r.Pinned })
	}
	first, second := pinned, others
	inSecond := cursor != nil && !cursor.Pinned
	if w.Oldest {
		first, second = others, pinned
		inSecond = cursor != nil && cursor.Pinned
	}
	var list []sessionRecord
	var err error
	if !inSecond {
		if list, err = first(w.Limit, cursor); err != nil {
			return nil, err
		}
		cursor = nil
	}
	if left := w.Limit - len(list); w.Limit <= 0 || left > 0 {
		rest, err := second(max(0, left), cursor)
		if err != nil {
			return nil, err
		}
		list = append(list, rest...)
	}
	return tx.heads(list)
}

// pinnedKey is the place of a session among the pinned ones.
func pinnedKey(r *sessionRecord) []byte { return part(at([]byte{kindPinned}, r.Order), r.ID) }

// byTime merges recorded and live sessions after the cursor: the index by time holds
// replays too, and passing over them would cost more with every validation. Those that
// keep refuses are left out; nil keeps all.
func (tx *Tx) byTime(w Window, cursor *sessionRecord, keep func(*sessionRecord) bool) ([]sessionRecord, error) {
	place := func(origin trace.Origin, r *sessionRecord) []byte {
		return part(at(key(kindOriginTime, string(origin)), r.Order), r.ID)
	}
	var list []sessionRecord
	for _, origin := range []trace.Origin{trace.Recorded, trace.Live} {
		s := scan{prefix: key(kindOriginTime, string(origin)), reverse: !w.Oldest}
		if cursor != nil {
			s.after = place(origin, cursor)
		}
		n := 0
		if err := walk(tx, sessions, s, func(r *sessionRecord) (bool, error) {
			if keep == nil || keep(r) {
				list = append(list, *r)
				n++
			}
			return w.Limit <= 0 || n < w.Limit, nil
		}); err != nil {
			return nil, fmt.Errorf("list sessions: %w", err)
		}
	}
	slices.SortFunc(list, func(a, b sessionRecord) int {
		n := bytes.Compare(place("", &a), place("", &b))
		if !w.Oldest {
			n = -n
		}
		return n
	})
	if w.Limit > 0 && len(list) > w.Limit {
		list = list[:w.Limit]
	}
	return list, nil
}

// CountOwnSessions counts recorded and live sessions, reading keys only.
func (tx *Tx) CountOwnSessions() (n int, err error) {
	for _, origin := range []trace.Origin{trace.Recorded, trace.Live} {
		if err := tx.snap.scan(scan{prefix: key(kindOriginTime, string(origin)), keys: true}, func(_, _ []byte) (bool, error) {
			n++
			return true, nil
		}); err != nil {
			return 0, fmt.Errorf("count sessions: %w", err)
		}
	}
	return n, nil
}
