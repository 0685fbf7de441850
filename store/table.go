package store

import (
	"bytes"
	"errors"
	"fmt"

	"vise/engine/trace"
)

// table describes how one kind of record is kept: its key and the index entries
// that point to it. Every put and every check of Verify goes by it, so that a
// record and its indexes cannot drift apart.
type table[T any] struct {
	kind byte
	name string
	key  func(*T) []byte
	// index returns the keys of the index entries; nil = no index.
	index func(*T) [][]byte
	// fix is applied to every record read: what the stored form leaves open.
	fix func(*T)
	// numbers keeps numbers of untyped values exact (json.Number) when reading.
	numbers bool
}

// anyTable is what Verify and GC need of a table.
type anyTable interface {
	kindByte() byte
	label() string
	// entries decodes a value, checks that it belongs under the key and returns its index keys.
	entries(snap snapshot, key, value []byte) ([][]byte, error)
}

// tables lists every table that packs its values.
var tables = []anyTable{
	events, sessions, trash, turns, spanChunks, reports, states, notices, episodes, steps,
	rules, ruleVersions, scopeTexts, cases, verdicts, tests, pairs, controls, processes, patchRuns, patchLoops, exchanges, quarantined,
}

func (t *table[T]) kindByte() byte { return t.kind }
func (t *table[T]) label() string  { return t.name }

func (t *table[T]) entries(snap snapshot, key, value []byte) ([][]byte, error) {
	v, err := t.decode(snap, key, value)
	if err != nil || t.index == nil {
		return nil, err
	}
	return t.index(v), nil
}

func (t *table[T]) decode(snap snapshot, key, value []byte) (*T, error) {
	raw, err := unpack(snap, value)
	if err != nil {
		return nil, err
	}
	return t.decodeRaw(key, raw)
}

// decodeRaw decodes the JSON of a record.
func (t *table[T]) decodeRaw(key, raw []byte) (*T, error) {
	v := new(T)
	if err := unmarshal(raw, v, t.numbers); err != nil {
		return nil, damaged("not a %s: %v", t.name, err)
	}
	if t.fix != nil {
		t.fix(v)
	}
	if t.key != nil && !bytes.Equal(t.key(v), key) {
		return nil, damaged("the record is another %s (%s)", t.name, keyText(t.key(v)))
	}
	return v, nil
}

// load reads one record. A damaged one goes to quarantine and reads as absent.
func load[T any](tx *Tx, t *table[T], key []byte) (*T, bool, error) {
	value, found, err := tx.snap.get(key)
	if err != nil || !found {
		return nil, false, err
	}
	v, err := t.decode(tx.snap, key, value)
	if tx.quarantine(key, value, err) {
		return nil, false, nil
	}
	return v, err == nil, err
}

// put writes a record and brings its index entries up to date.
func put[T any](tx *Tx, t *table[T], v *T) error {
	key := t.key(v)
	var old [][]byte
	if t.index != nil {
		before, found, err := load(tx, t, key)
		if err != nil {
			return tx.fail("put "+t.name, err)
		}
		if found {
			old = t.index(before)
		}
	}
	return write(tx, t, key, v, old)
}

// write stores a record whose old index entries are known.
func write[T any](tx *Tx, t *table[T], key []byte, v *T, old [][]byte) error {
	op := "put " + t.name
	raw, err := marshal(v)
	if err != nil {
		return tx.fail(op, err)
	}
	value, err := packLifted(raw, tx, tx.lifted)
	if err != nil {
		return tx.fail(op, err)
	}
	if err := tx.set(key, value); err != nil {
		return tx.fail(op, err)
	}
	if t.index == nil {
		return nil
	}
	entries := t.index(v)
	stale := make(map[string]bool, len(old))
	for _, k := range old {
		stale[string(k)] = true
	}
	for _, k := range entries {
		if stale[string(k)] {
			delete(stale, string(k))
			continue
		}
		if err := tx.set(k, key); err != nil {
			return tx.fail(op, err)
		}
	}
	for k := range stale {
		if err := tx.delete([]byte(k)); err != nil {
			return tx.fail(op, err)
		}
	}
	return nil
}

// remove deletes a record and its index entries; it is no error when there is none.
func remove[T any](tx *Tx, t *table[T], key []byte) error {
	op := "delete " + t.name
	if t.index != nil {
		v, found, err := load(tx, t, key)
		if err != nil {
			return tx.fail(op, err)
		}
		var entries [][]byte
		if found {
			entries = t.index(v)
		}
		for _, k := range entries {
			if err := tx.delete(k); err != nil {
				return tx.fail(op, err)
			}
		}
	}
	if err := tx.delete(key); err != nil {
		return tx.fail(op, err)
	}
	return nil
}

// walk calls fn with the records behind an index range, in its order. An entry whose
// record is gone, damaged or no longer belongs there is passed over.
func walk[T any](tx *Tx, t *table[T], s scan, fn func(*T) (more bool, err error)) error {
	return tx.snap.scan(s, func(entry, key []byte) (bool, error) {
		v, found, err := load(tx, t, key)
		if err != nil || !found {
			return err == nil, err
		}
		if !contains(t.index(v), entry) {
			return true, nil
		}
		return fn(v)
	})
}

func contains(keys [][]byte, key []byte) bool {
	for _, k := range keys {
		if bytes.Equal(k, key) {
			return true
		}
	}
	return false
}

// collect returns at most limit records behind an index range; limit <= 0 = all.
func collect[T any](tx *Tx, t *table[T], s scan, limit int) ([]T, error) {
	var out []T
	err := walk(tx, t, s, func(v *T) (bool, error) {
		out = append(out, *v)
		return limit <= 0 || len(out) < limit, nil
	})
	if err != nil {
		return nil, fmt.Errorf("list %ss: %w", t.name, err)
	}
	return out, nil
}

// Window is a page of a list.
type Window struct {
	// After is the id of the last record of the page before; "" = the first page.
	After string
	// Limit is the length of the page; 0 = everything.
	Limit int
	// Oldest lists oldest first; the default is newest first.
	Oldest bool
	// Origin restricts sessions to one origin; other lists ignore it.
	Origin trace.Origin
	// Own leaves out the replays of validations, of which there are many. With Pinned
	// the sessions that a person has pinned come first (last with Oldest).
	Own, Pinned bool
}

// page returns a window over the index with the prefix; the cursor's record is found by its key.
func page[T any](tx *Tx, t *table[T], prefix []byte, w Window, after []byte) ([]T, error) {
	s := scan{prefix: prefix, reverse: !w.Oldest}
	if w.After != "" {
		v, found, err := load(tx, t, after)
		if err != nil {
			return nil, fmt.Errorf("list %ss: %w", t.name, err)
		}
		if found {
			for _, k := range t.index(v) {
				if bytes.HasPrefix(k, prefix) {
					s.after = k
				}
			}
		}
		if s.after == nil {
			return nil, fmt.Errorf("list %ss after %q: %w", t.name, w.After, ErrCursor)
		}
	}
	return collect(tx, t, s, w.Limit)
}

// ErrCursor tells that the record a window continues after is not in the list (any more).
var ErrCursor = errors.New("no such record: start again from the first page")
