package store

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sync"

	"vise/engine/event"
)

// maxEvent is the largest journal event in bytes of JSON: events carry ids, kinds,
// counts and reasons, never payloads.
const maxEvent = 64 << 10

var events = &table[event.Event]{
	kind: kindEvent, name: "event",
	key: func(e *event.Event) []byte { return eventKey(e.Seq) },
	index: func(e *event.Event) [][]byte {
		keys := [][]byte{u64(key(kindEventType, string(e.Type)), e.Seq)}
		if e.SessionID != "" {
			keys = append(keys, u64(key(kindEventSession, e.SessionID), e.Seq))
		}
		return keys
	},
}

// Emit appends an event to the journal. It gets its sequence here, and the store's
// time when it has none. An ephemeral event gets no sequence: it is published after
// the commit and not stored.
func (tx *Tx) Emit(e event.Event) error {
	const op = "emit event"
	if err := tx.writable(); err != nil {
		return fmt.Errorf("%s: %w", op, err)
	}
	if e.Type == "" {
		return tx.fail(op, errors.New("the event has no type"))
	}
	if e.At.IsZero() {
		e.At = tx.s.Now()
	}
	// Reasons and errors quote what agents, verifiers and servers have said: whatever
	// comes this way goes to journals, screens and logs.
	if data, n := tx.s.o.Redactor.Texts(e.Data); n > 0 {
		e.Data, _ = data.(map[string]any)
	}
	if e.Ephemeral() {
		e.Seq = 0
		tx.events = append(tx.events, e)
		return nil
	}
	e.Seq = tx.seq + 1
	raw, err := marshal(e)
	if err != nil {
		return tx.fail(op+" "+string(e.Type), err)
	}
	if len(raw) > maxEvent {
		return tx.fail(op, fmt.Errorf("%s event of %d bytes: at most %d: put payloads into records", e.Type, len(raw), maxEvent))
	}
	if err := write(tx, events, eventKey(e.Seq), &e, nil); err != nil {
		return err
	}
	tx.seq++
	tx.events = append(tx.events, e)
	return nil
}

// EventFilter selects journal events; zero fields select everything.
type EventFilter struct {
	Types     []event.Type
	SessionID string
	NoticeID  string
	EpisodeID string
	RuleID    string
	CaseID    string
	RunID     string
}

func (f EventFilter) match(e *event.Event) bool {
	return (len(f.Types) == 0 || slices.Contains(f.Types, e.Type)) &&
		(f.SessionID == "" || f.SessionID == e.SessionID) &&
		(f.NoticeID == "" || f.NoticeID == e.NoticeID) &&
		(f.EpisodeID == "" || f.EpisodeID == e.EpisodeID) &&
		(f.RuleID == "" || f.RuleID == e.RuleID) &&
		(f.CaseID == "" || f.CaseID == e.CaseID) &&
		(f.RunID == "" || f.RunID == e.RunID)
}

// beyondTypes reports that something else than the types is selected by.
func (f EventFilter) beyondTypes() bool {
	return f.SessionID != "" || f.NoticeID != "" || f.EpisodeID != "" || f.RuleID != "" || f.CaseID != "" || f.RunID != ""
}

// Events returns the events with a sequence above after, oldest first, at most limit
// of them (0 = all). A session or types in the filter are found by their index.
func (tx *Tx) Events(after uint64, limit int, f EventFilter) ([]event.Event, error) {
	var out []event.Event
	take := func(e *event.Event) (bool, error) {
		if f.match(e) {
			out = append(out, *e)
		}
		return limit <= 0 || len(out) < limit, nil
	}
	err := func() error {
		switch {
		case f.SessionID != "" && len(f.Types) > 0:
			seqs, err := tx.sessionSeqs(f.SessionID, f.Types, after)
			if err != nil {
				return err
			}
			return tx.loadEvents(seqs, take)
		case f.SessionID != "":
			prefix := key(kindEventSession, f.SessionID)
			return walk(tx, events, scan{prefix: prefix, from: u64(slices.Clone(prefix), after+1)}, take)
		case len(f.Types) > 0:
			bound := limit
			if f.beyondTypes() {
				bound = 0
			}
			seqs, err := tx.typeSeqs(f.Types, after, bound, false)
			if err != nil {
				return err
			}
			return tx.loadEvents(seqs, take)
		}
		return tx.snap.scan(scan{prefix: []byte{kindEvent}, from: eventKey(after + 1)}, func(k, v []byte) (bool, error) {
			e, err := events.decode(tx.snap, k, v)
			if tx.quarantine(k, v, err) {
				return true, nil
			}
			if err != nil {
				return false, err
			}
			return take(e)
		})
	}()
	if err != nil {
		return nil, fmt.Errorf("read journal after %d: %w", after, err)
	}
	return out, nil
}

// sessionSeqs are the sequences above after of a session's events of some types, oldest
// first: those that both indexes name. No event is read, and the index of types only from
// where the session begins, so that a session of many events is as quick to ask as a short
// one.
func (tx *Tx) sessionSeqs(session string, types []event.Type, after uint64) ([]uint64, error) {
	prefix := key(kindEventSession, session)
	var own []uint64
	if err := tx.snap.scan(scan{prefix: prefix, from: u64(slices.Clone(prefix), after+1), keys: true}, func(k, _ []byte) (bool, error) {
		if len(k) == len(prefix)+8 {
			own = append(own, binary.BigEndian.Uint64(k[len(prefix):]))
		}
		return true, nil
	}); err != nil || len(own) == 0 {
		return nil, err
	}
	of, err := tx.typeSeqs(types, own[0]-1, 0, false)
	if err != nil {
		return nil, err
	}
	wanted := make(map[uint64]bool, len(of))
	for _, seq := range of {
		wanted[seq] = true
	}
	return slices.DeleteFunc(own, func(seq uint64) bool { return !wanted[seq] }), nil
}

// typeSeqs merges the type indexes, at most limit sequences of each (0 = all). A caller
// that goes on to match other fields cannot use a limit here.
func (tx *Tx) typeSeqs(types []event.Type, after uint64, limit int, newest bool) ([]uint64, error) {
	var seqs []uint64
	for i, t := range types {
		if slices.Contains(types[:i], t) {
			continue
		}
		prefix := key(kindEventType, string(t))
		s := scan{prefix: prefix, keys: true, reverse: newest}
		if !newest {
			s.from = u64(slices.Clone(prefix), after+1)
		}
		n := 0
		err := tx.snap.scan(s, func(k, _ []byte) (bool, error) {
			seqs = append(seqs, binary.BigEndian.Uint64(k[len(k)-8:]))
			n++
			return limit <= 0 || n < limit, nil
		})
		if err != nil {
			return nil, err
		}
	}
	slices.Sort(seqs)
	if newest {
		slices.Reverse(seqs)
	}
	return seqs, nil
}

func (tx *Tx) loadEvents(seqs []uint64, take func(*event.Event) (bool, error)) error {
	for _, seq := range seqs {
		e, found, err := load(tx, events, eventKey(seq))
		if err != nil {
			return err
		}
		if !found {
			continue
		}
		if more, err := take(e); err != nil || !more {
			return err
		}
	}
	return nil
}

// LastEvents returns the last n events of the types (none given = of any), newest first.
func (tx *Tx) LastEvents(n int, types ...event.Type) ([]event.Event, error) {
	var out []event.Event
	if n <= 0 {
		return nil, nil
	}
	take := func(e *event.Event) (bool, error) {
		out = append(out, *e)
		return len(out) < n, nil
	}
	var err error
	if len(types) > 0 {
		var seqs []uint64
		if seqs, err = tx.typeSeqs(types, 0, n, true); err == nil {
			err = tx.loadEvents(seqs, take)
		}
	} else {
		err = tx.snap.scan(scan{prefix: []byte{kindEvent}, reverse: true}, func(k, v []byte) (bool, error) {
			e, err := events.decode(tx.snap, k, v)
			if tx.quarantine(k, v, err) {
				return true, nil
			}
			if err != nil {
				return false, err
			}
			return take(e)
		})
	}
	if err != nil {
		return nil, fmt.Errorf("read the end of the journal: %w", err)
	}
	return out, nil
}

// LastSeq returns the sequence of the newest event of the snapshot; 0 = none yet.
func (tx *Tx) LastSeq() (uint64, error) {
	if tx.w != nil {
		return tx.seq, nil
	}
	return lastSeq(tx.snap)
}

func lastSeq(snap snapshot) (uint64, error) {
	return lastNumber(snap, kindEvent, 1)
}

// lastNumber returns the u64 that starts at byte from of the last key of a kind; 0 = no key.
func lastNumber(snap snapshot, kind byte, from int) (n uint64, err error) {
	err = snap.scan(scan{prefix: []byte{kind}, reverse: true, keys: true}, func(k, _ []byte) (bool, error) {
		if len(k) < from+8 {
			return true, nil
		}
		n = binary.BigEndian.Uint64(k[from:])
		return false, nil
	})
	return n, err
}

// tail is the end of the journal, for those who wait at it.
type tail struct {
	mu    sync.Mutex
	seq   uint64
	moved chan struct{} // closed when seq moves; nil while nobody waits
}

func (t *tail) last() uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.seq
}

func (t *tail) advance(seq uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if seq <= t.seq {
		return
	}
	t.seq = seq
	if t.moved != nil {
		close(t.moved)
		t.moved = nil
	}
}

// wait returns when the journal is longer than after, or when the context ends.
func (t *tail) wait(ctx context.Context, after uint64) error {
	for {
		t.mu.Lock()
		if t.seq > after {
			t.mu.Unlock()
			return nil
		}
		if t.moved == nil {
			t.moved = make(chan struct{})
		}
		moved := t.moved
		t.mu.Unlock()
		select {
		case <-moved:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
