package store

import (
	"errors"
	"fmt"
	"time"

	"vise/engine/event"
	"vise/engine/trace"
)

// ErrNoSession tells that a session is not in the store.
var ErrNoSession = errors.New("no such session")

// trashed is the head of a session that a person removed. Its turns stay until the
// removal is made final (DeleteSession): then it can be restored no more.
type trashed struct {
	sessionRecord
	Removed time.Time `json:"removed"`
}

var trash = &table[trashed]{
	kind: kindTrash, name: "removed session", numbers: true,
	key: func(r *trashed) []byte { return key(kindTrash, r.ID) },
}

// Removed is a session that was removed and can be restored.
type Removed struct {
	trace.Session
	Removed time.Time `json:"removed"`
}

// TrashSession removes a session from every list in such a way that RestoreSession
// brings it back: only its head moves. It emits session_removed. ErrNoSession when there is none.
func (tx *Tx) TrashSession(id string) error {
	const op = "remove session"
	if err := tx.notRemoving(op, id); err != nil {
		return err
	}
	r, found, err := load(tx, sessions, key(kindSession, id))
	if err != nil || !found {
		return tx.fail(op+" "+id, either(err, ErrNoSession))
	}
	if err := remove(tx, sessions, key(kindSession, id)); err != nil {
		return err
	}
	if err := put(tx, trash, &trashed{*r, tx.s.Now()}); err != nil {
		return err
	}
	return tx.Emit(event.Event{Type: event.SessionRemoved, SessionID: id, Data: map[string]any{"restorable": true}})
}

// RestoreSession takes back TrashSession and emits session_restored. ErrNoSession when
// the session was not removed, or for good.
func (tx *Tx) RestoreSession(id string) error {
	const op = "restore session"
	r, found, err := load(tx, trash, key(kindTrash, id))
	if err != nil || !found {
		return tx.fail(op+" "+id, either(err, ErrNoSession))
	}
	if err := remove(tx, trash, key(kindTrash, id)); err != nil {
		return err
	}
	if err := put(tx, sessions, &r.sessionRecord); err != nil {
		return err
	}
	return tx.Emit(event.Event{Type: event.SessionRestored, SessionID: id})
}

// RemovedSession returns a session that was removed and can be restored.
func (tx *Tx) RemovedSession(id string) (Removed, bool, error) {
	r, found, err := load(tx, trash, key(kindTrash, id))
	if err != nil {
		return Removed{}, false, fmt.Errorf("read removed session %s: %w", id, err)
	}
	if !found {
		return Removed{}, false, nil
	}
	return tx.removed(r)
}

// RemovedSessions lists the sessions that can be restored, by id.
func (tx *Tx) RemovedSessions() ([]Removed, error) {
	list, err := records(tx, trash, scan{prefix: []byte{kindTrash}}, 0)
	if err != nil {
		return nil, err
	}
	out := make([]Removed, len(list))
	for i := range list {
		if out[i], _, err = tx.removed(&list[i]); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (tx *Tx) removed(r *trashed) (Removed, bool, error) {
	c, err := tx.counts(r.ID)
	r.Session.Counts = c
	return Removed{r.Session, r.Removed}, err == nil, err
}

func either(err, otherwise error) error {
	if err != nil {
		return err
	}
	return otherwise
}

// NameSession gives a session the name that a person calls it ("" takes it away), emits
// session_renamed and returns the name before. PinSession keeps it at the top of lists
// or no more, emits session_pinned and returns what was. ErrNoSession when there is none;
// what is so already is no event.
func (tx *Tx) NameSession(id, name string) (was string, err error) {
	err = tx.label("name session", id, func(r *sessionRecord) *event.Event {
		if was = r.Name; was == name {
			return nil
		}
		r.Name = name
		return &event.Event{Type: event.SessionRenamed, SessionID: id, Data: map[string]any{"name": name}}
	})
	return was, err
}

// PinSession: see NameSession.
func (tx *Tx) PinSession(id string, on bool) (was bool, err error) {
	err = tx.label("pin session", id, func(r *sessionRecord) *event.Event {
		if was = r.Pinned; was == on {
			return nil
		}
		r.Pinned = on
		return &event.Event{Type: event.SessionPinned, SessionID: id, Data: map[string]any{"pinned": on}}
	})
	return was, err
}

// SessionsCalled returns up to n sessions (0 = all) to which a person has given the name;
// "" stands for any name. It walks the index of named sessions.
func (tx *Tx) SessionsCalled(name string, n int) ([]trace.Session, error) {
	prefix := []byte{kindNamed}
	if name != "" {
		prefix = key(kindNamed, name)
	}
	list, err := collect(tx, sessions, scan{prefix: prefix}, n)
	if err != nil {
		return nil, fmt.Errorf("list sessions called %q: %w", name, err)
	}
	return tx.heads(list)
}

func (tx *Tx) label(op, id string, change func(*sessionRecord) *event.Event) error {
	if err := tx.notRemoving(op, id); err != nil {
		return err
	}
	k := key(kindSession, id)
	r, found, err := load(tx, sessions, k)
	if err != nil || !found {
		return tx.fail(op+" "+id, either(err, ErrNoSession))
	}
	old := sessions.index(r)
	e := change(r)
	if e == nil {
		return nil
	}
	if err := write(tx, sessions, k, r, old); err != nil {
		return err
	}
	return tx.Emit(*e)
}
