package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"vise/engine/event"
	"vise/engine/trace"
)

// sessionRecord is a session head with its place in the time order: its start, or
// when it was first stored if the recording does not tell.
type sessionRecord struct {
	trace.Session
	Order time.Time `json:"order"`
	// Stored is when the head was last put: a recording of long ago that was imported
	// today is new. Zero in records of the first versions, which never expire.
	Stored time.Time `json:"stored,omitzero"`
}

var sessions = &table[sessionRecord]{
	kind: kindSession, name: "session", numbers: true,
	key: func(r *sessionRecord) []byte { return key(kindSession, r.ID) },
	index: func(r *sessionRecord) [][]byte {
		keys := [][]byte{
			part(at([]byte{kindSessionTime}, r.Order), r.ID),
			part(at(key(kindOriginTime, string(r.Origin)), r.Order), r.ID),
		}
		if !r.Stored.IsZero() {
			keys = append(keys, part(at([]byte{kindSessionAge}, r.Stored), r.ID))
		}
		if r.Name != "" {
			keys = append(keys, key(kindNamed, r.Name, r.ID))
		}
		if r.Pinned {
			keys = append(keys, pinnedKey(r))
		}
		return keys
	},
}

// PutSession stores a session head. Counts, name and pin are the store's own, whatever
// s says: the sum over the session's stored turns, and what a person gave it. A session
// that was removed is there again.
func (tx *Tx) PutSession(s trace.Session) error {
	const op = "put session"
	if err := tx.need(op, s.ID); err != nil {
		return err
	}
	if err := tx.notRemoving(op, s.ID); err != nil {
		return err
	}
	s.Counts = trace.Counts{}
	r := sessionRecord{Session: s, Order: s.Started, Stored: tx.s.Now()}
	r.Name, r.Pinned = "", false
	old, found, err := load(tx, sessions, key(kindSession, s.ID))
	if err != nil {
		return tx.fail(op, err)
	}
	var entries [][]byte
	if found {
		entries = sessions.index(old)
	} else {
		gone, was, err := load(tx, trash, key(kindTrash, s.ID))
		if err != nil {
			return tx.fail(op, err)
		}
		if was {
			old, found = &gone.sessionRecord, true
			if err := remove(tx, trash, key(kindTrash, s.ID)); err != nil {
				return err
			}
		}
	}
	if found {
		r.Name, r.Pinned = old.Name, old.Pinned
	}
	if r.Order.IsZero() {
		r.Order = tx.s.Now()
		if found {
			r.Order = old.Order
		}
	}
	return write(tx, sessions, key(kindSession, s.ID), &r, entries)
}

// Session returns a session head with the counts over its turns.
func (tx *Tx) Session(id string) (trace.Session, bool, error) {
	r, found, err := load(tx, sessions, key(kindSession, id))
	if err != nil {
		return trace.Session{}, false, fmt.Errorf("read session %s: %w", id, err)
	}
	if !found {
		return trace.Session{}, false, nil
	}
	s := r.Session
	s.Counts, err = tx.counts(id)
	return s, err == nil, err
}

// SessionsNamed returns up to n session heads whose id begins with prefix, by id.
func (tx *Tx) SessionsNamed(prefix string, n int) ([]trace.Session, error) {
	list, err := records(tx, sessions, scan{prefix: escaped([]byte{kindSession}, prefix)}, n)
	if err != nil {
		return nil, err
	}
	out := make([]trace.Session, len(list))
	for i, r := range list {
		out[i] = r.Session
		if out[i].Counts, err = tx.counts(r.ID); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// Sessions returns a page of session heads by time, newest first unless w.Oldest. The
// time of a session is its start, or when it was first stored if it has none.
func (tx *Tx) Sessions(w Window) ([]trace.Session, error) {
	if w.Own && w.Origin == "" {
		return tx.ownSessions(w)
	}
	prefix := []byte{kindSessionTime}
	if w.Origin != "" {
		prefix = key(kindOriginTime, string(w.Origin))
	}
	list, err := page(tx, sessions, prefix, w, key(kindSession, w.After))
	if err != nil {
		return nil, err
	}
	return tx.heads(list)
}

// heads are the session heads of records, with their counts.
func (tx *Tx) heads(list []sessionRecord) (out []trace.Session, err error) {
	out = make([]trace.Session, len(list))
	for i, r := range list {
		out[i] = r.Session
		if out[i].Counts, err = tx.counts(r.ID); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (tx *Tx) counts(session string) (trace.Counts, error) {
	var c trace.Counts
	v, found, err := tx.snap.get(key(kindCounts, session))
	if err == nil && found {
		err = json.Unmarshal(v, &c)
	}
	if err != nil {
		return c, fmt.Errorf("read counts of session %s: %w", session, err)
	}
	return c, nil
}

// addCounts moves the session's counts from what a turn contributed to what it contributes now.
func (tx *Tx) addCounts(session string, before, now trace.Counts) error {
	c, err := tx.counts(session)
	if err != nil {
		return err
	}
	c = trace.Counts{
		Turns:  c.Turns + now.Turns - before.Turns,
		Steps:  c.Steps + now.Steps - before.Steps,
		Calls:  c.Calls + now.Calls - before.Calls,
		Errors: c.Errors + now.Errors - before.Errors,
	}
	raw, err := marshal(c)
	if err != nil {
		return err
	}
	return tx.set(key(kindCounts, session), raw)
}

func (tx *Tx) notRemoving(op, session string) error {
	_, found, err := tx.snap.get(key(kindRemoving, session))
	if err == nil && found {
		err = fmt.Errorf("session %s is still being removed: run its removal again", session)
	}
	if err != nil {
		return tx.fail(op, err)
	}
	return nil
}

// removeBatch is how many turns one transaction of a removal takes.
const removeBatch = 100

// DeleteSession removes a session head, its turns, reports and model calls, and journals
// session_removed with the reason ("" when somebody asked for it). Notices, cases and episodes stay: they are evidence of their own.
// The session is gone from lists with the first transaction; the rest is cleared in
// further ones and, should we be killed between them, at the next open. Removing
// what is not there is no error and no event.
func (s *Store) DeleteSession(ctx context.Context, id, reason string) error {
	if id == "" {
		return errors.New("delete session: no id")
	}
	found := false
	err := s.Update(ctx, func(tx *Tx) error {
		_, ok, err := load(tx, sessions, key(kindSession, id))
		if err != nil {
			return err
		}
		turns, err := tx.has(key(kindTurn, id))
		if err != nil {
			return err
		}
		_, removing, err := tx.snap.get(key(kindRemoving, id))
		if err != nil || !ok && !turns && !removing {
			return err
		}
		found = true
		if err := remove(tx, sessions, key(kindSession, id)); err != nil {
			return err
		}
		if err := remove(tx, trash, key(kindTrash, id)); err != nil {
			return err
		}
		if err := tx.set(key(kindRemoving, id), []byte(id)); err != nil {
			return tx.fail("delete session", err)
		}
		if removing && !ok {
			return nil
		}
		e := event.Event{Type: event.SessionRemoved, SessionID: id}
		if reason != "" {
			e.Data = map[string]any{"reason": reason}
		}
		return tx.Emit(e)
	})
	if err == nil && found {
		// The head is gone: what is left must go whatever becomes of the caller.
		err = s.clearSession(context.WithoutCancel(ctx), id)
	}
	if err != nil {
		return fmt.Errorf("delete session %s: %w", id, err)
	}
	return nil
}

func (tx *Tx) has(prefix []byte) (found bool, err error) {
	err = tx.snap.scan(scan{prefix: prefix, keys: true}, func(_, _ []byte) (bool, error) {
		found = true
		return false, nil
	})
	return found, err
}

// clearSession removes turns and reports of a session whose head is gone.
func (s *Store) clearSession(ctx context.Context, id string) error {
	for done := false; !done; {
		err := s.commit(ctx, func(tx *Tx) error {
			var err error
			done, err = tx.clearSome(id)
			return err
		}, true)
		if err != nil {
			return err
		}
	}
	return nil
}

func (tx *Tx) clearSome(id string) (done bool, err error) {
	var list [][]byte
	for _, kind := range []byte{kindTurn, kindReport, kindExchange} {
		err := tx.snap.scan(scan{prefix: key(kind, id), keys: true}, func(k, _ []byte) (bool, error) {
			list = append(list, k)
			return len(list) < removeBatch, nil
		})
		if err != nil {
			return false, err
		}
	}
	for _, k := range list {
		switch k[0] {
		case kindReport:
			err = remove(tx, reports, k)
		case kindExchange:
			err = remove(tx, exchanges, k)
		default:
			err = tx.removeTurn(k)
		}
		if err != nil {
			return false, err
		}
	}
	if len(list) >= removeBatch {
		return false, nil
	}
	if err := tx.delete(key(kindCounts, id)); err != nil {
		return false, tx.fail("delete session", err)
	}
	if err := tx.delete(key(kindRemoving, id)); err != nil {
		return false, tx.fail("delete session", err)
	}
	return true, nil
}
