package store

import (
	"bytes"
	"errors"
	"fmt"

	"vise/engine/score"
	"vise/engine/trace"
)

// turnRecord is a turn without its spans, which lie in chunks under its stage.
type turnRecord struct {
	trace.Turn
	Stage  uint64       `json:"stage"`
	Chunks int          `json:"chunks"`
	Count  int          `json:"span_count"`
	Counts trace.Counts `json:"counts"`
}

// TurnHead is a turn without its spans, for lists.
type TurnHead struct {
	trace.Turn              // Spans is nil
	SpanCount  int          // spans the turn has
	Counts     trace.Counts // what the turn adds to its session's counts
}

var turns = &table[turnRecord]{
	kind: kindTurn, name: "turn", numbers: true,
	key: func(r *turnRecord) []byte { return turnKey(r.SessionID, r.Index) },
	index: func(r *turnRecord) [][]byte {
		if r.TraceID == "" {
			return nil
		}
		return [][]byte{index(key(kindTrace, r.TraceID, r.SessionID), r.Index)}
	},
}

// spanChunk is some consecutive spans of a turn.
type spanChunk struct {
	Stage uint64       `json:"stage"`
	Chunk int          `json:"chunk"`
	Spans []trace.Span `json:"spans"`
}

var spanChunks = &table[spanChunk]{
	kind: kindSpans, name: "spans", numbers: true,
	key: func(c *spanChunk) []byte { return spansKey(c.Stage, c.Chunk) },
}

// PutTurn makes a staged turn visible, replacing an earlier one of the same session
// and index, and brings the session's counts up to date.
func (tx *Tx) PutTurn(staged Staged) error {
	const op = "put turn"
	if err := tx.writable(); err != nil {
		return fmt.Errorf("%s: %w", op, err)
	}
	r := staged.record
	if r.Stage == 0 {
		return tx.fail(op, errors.New("the turn was not staged: call StageTurn first"))
	}
	if err := tx.notRemoving(op, r.SessionID); err != nil {
		return err
	}
	k := turnKey(r.SessionID, r.Index)
	old, found, err := load(tx, turns, k)
	if err != nil {
		return tx.fail(op, err)
	}
	var before trace.Counts
	var entries [][]byte
	if found {
		before, entries = old.Counts, turns.index(old)
		if old.Stage != r.Stage {
			if err := tx.dropSpans(old); err != nil {
				return tx.fail(op, err)
			}
		}
	}
	again := found && old.Stage == r.Stage // put twice, which changes nothing
	if err := tx.putStage(r.Stage, staged.marked && !again, staged.inline); err != nil {
		return tx.fail(op, err)
	}
	tx.lifted = staged.lifted
	err = write(tx, turns, k, &r, entries)
	tx.lifted = lifted{}
	if err != nil {
		return err
	}
	if err := tx.addCounts(r.SessionID, before, r.Counts); err != nil {
		return tx.fail(op, err)
	}
	return nil
}

// dropInline is how many span chunks are deleted in the transaction that drops their
// turn; more are left to the sweep, so that the transaction stays small.
const dropInline = 64

func (tx *Tx) dropSpans(r *turnRecord) error {
	if r.Chunks > dropInline {
		return tx.set(stageKey(r.Stage), nil)
	}
	for i := range r.Chunks {
		if err := tx.delete(spansKey(r.Stage, i)); err != nil {
			return err
		}
	}
	return nil
}

// removeTurn deletes the turn under the key with its spans.
func (tx *Tx) removeTurn(k []byte) error {
	r, found, err := load(tx, turns, k)
	if err == nil && found {
		err = tx.dropSpans(r)
	}
	if err != nil {
		return tx.fail("delete turn", err)
	}
	return remove(tx, turns, k)
}

// Turn returns a turn with all its spans, blobs resolved. A turn of which any part is
// damaged reads as absent: half a trace would score differently.
func (tx *Tx) Turn(session string, turn int) (trace.Turn, bool, error) {
	r, found, err := tx.turnRecord(session, turn)
	if err == nil && found {
		var t trace.Turn
		if t, found, err = tx.assemble(r, 0); err == nil {
			return t, found, nil
		}
	}
	if err != nil {
		return trace.Turn{}, false, fmt.Errorf("read turn %s:%d: %w", session, turn, err)
	}
	return trace.Turn{}, false, nil
}

// turnRecord is load for turns: a long input is in memory once.
func (tx *Tx) turnRecord(session string, turn int) (*turnRecord, bool, error) {
	k := turnKey(session, turn)
	v, found, err := tx.snap.get(k)
	if err != nil || !found {
		return nil, false, err
	}
	r, err := decodeTurn(tx.snap, k, v, 0)
	if tx.quarantine(k, v, err) {
		return nil, false, nil
	}
	return r, err == nil, err
}

// assemble adds the spans to a turn; texts over 1 MiB are cut to bound bytes, 0 = not at
// all.
func (tx *Tx) assemble(r *turnRecord, bound int) (trace.Turn, bool, error) {
	t := r.Turn
	t.Spans = make([]trace.Span, 0, min(r.Count, 1<<20))
	for i := range r.Chunks {
		k := spansKey(r.Stage, i)
		v, found, err := tx.snap.get(k)
		if err != nil {
			return t, false, err
		}
		var c *spanChunk
		if !found {
			err = damaged("chunk %d of its spans is missing", i)
		} else {
			c, err = decodeSpans(tx.snap, k, v, bound)
		}
		if err != nil {
			whole := turnKey(r.SessionID, r.Index)
			value, _, gerr := tx.snap.get(whole)
			if gerr != nil {
				return t, false, gerr
			}
			if tx.quarantine(whole, value, err) {
				return t, false, nil
			}
			return t, false, err
		}
		t.Spans = append(t.Spans, c.Spans...)
	}
	return t, true, nil
}

// TurnByTrace returns the turn whose trace has the id.
func (tx *Tx) TurnByTrace(traceID string) (trace.Turn, bool, error) {
	var r *turnRecord
	err := walk(tx, turns, scan{prefix: key(kindTrace, traceID)}, func(v *turnRecord) (bool, error) {
		r = v
		return false, nil
	})
	if err != nil {
		return trace.Turn{}, false, fmt.Errorf("read turn of trace %s: %w", traceID, err)
	}
	if r == nil {
		return trace.Turn{}, false, nil
	}
	return tx.Turn(r.SessionID, r.Index)
}

// TurnHeads returns the turns of a session from an index on, in order, at most limit
// of them (0 = all), without their spans.
func (tx *Tx) TurnHeads(session string, from, limit int) ([]TurnHead, error) {
	out := []TurnHead{}
	err := tx.eachTurnRecord(session, from, 0, func(r *turnRecord) (bool, error) {
		out = append(out, TurnHead{Turn: r.Turn, SpanCount: r.Count, Counts: r.Counts})
		return limit <= 0 || len(out) < limit, nil
	})
	if err != nil {
		return nil, fmt.Errorf("list turns of session %s: %w", session, err)
	}
	return out, nil
}

// eachTurnRecord hands the records of turns to fn.
func (tx *Tx) eachTurnRecord(session string, from, bound int, fn func(*turnRecord) (more bool, err error)) error {
	s := scan{prefix: key(kindTurn, session), from: turnKey(session, from)}
	return tx.snap.scan(s, func(k, v []byte) (bool, error) {
		r, err := decodeTurn(tx.snap, k, v, bound)
		if tx.quarantine(k, v, err) {
			return true, nil
		}
		if err != nil {
			return false, err
		}
		return fn(r)
	})
}

// Turns returns the turns of a session from an index on, in order, at most limit of
// them (0 = all), each with all its spans.
func (tx *Tx) Turns(session string, from, limit int) ([]trace.Turn, error) {
	out := []trace.Turn{}
	err := tx.EachTurn(session, from, 0, func(t trace.Turn) (bool, error) {
		out = append(out, t)
		return limit <= 0 || len(out) < limit, nil
	})
	return out, err
}

// TurnsBefore returns the turns of a session from an index on and before another one,
// fewer than that where turns are missing or damaged.
func (tx *Tx) TurnsBefore(session string, from, before int) ([]trace.Turn, error) {
	out := []trace.Turn{}
	if from >= before {
		return out, nil
	}
	err := tx.EachTurn(session, from, 0, func(t trace.Turn) (bool, error) {
		if t.Index < before {
			out = append(out, t)
		}
		return t.Index+1 < before, nil
	})
	return out, err
}

// EachTurn hands the turns of a session from an index on to fn, in order and with all
// their spans, one in memory at a time, for as long as fn wants more. fn must not read
// lists of the store. With atMost > 0 texts over 1 MiB are read, and cut, to about so many
// bytes, for readers that show beginnings: what is left out is not looked at, damage in it
// neither.
func (tx *Tx) EachTurn(session string, from, atMost int, fn func(trace.Turn) (more bool, err error)) error {
	err := tx.eachTurnRecord(session, from, atMost, func(r *turnRecord) (bool, error) {
		t, found, err := tx.assemble(r, atMost)
		if err != nil {
			return false, fmt.Errorf("turn %d: %w", r.Index, err)
		}
		if !found {
			return true, nil
		}
		return fn(t)
	})
	if err != nil {
		return fmt.Errorf("read turns of session %s: %w", session, err)
	}
	return nil
}

var reports = &table[score.Report]{
	kind: kindReport, name: "report",
	key: func(r *score.Report) []byte { return index(key(kindReport, r.SessionID), r.TurnIndex) },
}

// PutReport stores what the evaluation of a turn yielded.
func (tx *Tx) PutReport(r score.Report) error {
	if err := tx.need("put report", r.SessionID); err != nil {
		return err
	}
	return put(tx, reports, &r)
}

// Report returns the report of a turn.
func (tx *Tx) Report(session string, turn int) (score.Report, bool, error) {
	return one(tx, reports, index(key(kindReport, session), turn))
}

// Reports returns the reports of a session from a turn on, in order, at most limit (0 = all).
func (tx *Tx) Reports(session string, from, limit int) ([]score.Report, error) {
	return records(tx, reports, scan{prefix: key(kindReport, session), from: index(key(kindReport, session), from)}, limit)
}

// one returns a record by its key, as a value.
func one[T any](tx *Tx, t *table[T], key []byte) (T, bool, error) {
	v, found, err := load(tx, t, key)
	if err != nil || !found {
		var zero T
		if err != nil {
			err = fmt.Errorf("read %s: %w", keyText(key), err)
		}
		return zero, false, err
	}
	return *v, true, nil
}

// records returns the records of a key range itself, not of an index.
func records[T any](tx *Tx, t *table[T], s scan, limit int) ([]T, error) {
	var out []T
	err := tx.snap.scan(s, func(k, v []byte) (bool, error) {
		r, err := t.decode(tx.snap, bytes.Clone(k), v)
		if tx.quarantine(k, v, err) {
			return true, nil
		}
		if err != nil {
			return false, err
		}
		out = append(out, *r)
		return limit <= 0 || len(out) < limit, nil
	})
	if err != nil {
		return nil, fmt.Errorf("list %ss: %w", t.name, err)
	}
	return out, nil
}

// DeleteTurn removes one turn with its spans and its report and brings the session's
// counts up to date. It is no error when there is none.
func (tx *Tx) DeleteTurn(session string, index int) error {
	const op = "delete turn"
	if err := tx.writable(); err != nil {
		return fmt.Errorf("%s: %w", op, err)
	}
	k := turnKey(session, index)
	r, found, err := load(tx, turns, k)
	if err != nil {
		return tx.fail(op, err)
	}
	if !found {
		return nil
	}
	if err := tx.removeTurn(k); err != nil {
		return err
	}
	if err := remove(tx, reports, reports.key(&score.Report{SessionID: session, TurnIndex: index})); err != nil {
		return err
	}
	return tx.addCounts(session, r.Counts, trace.Counts{})
}
