package store

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"sync"

	badger "github.com/dgraph-io/badger/v4"

	"vise/engine/trace"
)

const (
	chunkBytes  = 256 << 10 // JSON bytes of spans per chunk
	chunkSpans  = 1024      // spans per chunk
	inlineBytes = 256 << 10 // packed bytes up to which a turn is written with its PutTurn
	batchBytes  = 4 << 20   // bytes of values per transaction written ahead
	batchCount  = 256       // entries per transaction written ahead
)

// Staged is a turn whose payload is on disk but which nothing refers to yet. Only
// PutTurn makes it visible; one that is never put is swept away at the next open.
type Staged struct {
	record turnRecord
	inline []entry
	marked bool
	lifted lifted // texts of the record that are blobs already
}

type entry struct{ key, value []byte }

// stages hands out stage numbers and knows which stages of this process are open,
// so that GC leaves their blobs alone.
type stages struct {
	mu   sync.Mutex
	next uint64
	// open holds, per stage that is not put yet, the blobs it refers to.
	open map[uint64][][32]byte
	// writing is held for reading while a stage writes, by GC while it sweeps.
	writing sync.RWMutex
}

func (g *stages) begin() uint64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.next++
	if g.open == nil {
		g.open = map[uint64][][32]byte{}
	}
	g.open[g.next] = nil
	return g.next
}

func (g *stages) done(stage uint64) {
	g.mu.Lock()
	delete(g.open, stage)
	g.mu.Unlock()
}

func (g *stages) refer(stage uint64, sum [32]byte) {
	g.mu.Lock()
	g.open[stage] = append(g.open[stage], sum)
	g.mu.Unlock()
}

func (g *stages) isOpen(stage uint64) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	_, open := g.open[stage]
	return open
}

func lastStage(snap snapshot) (uint64, error) {
	spans, err := lastNumber(snap, kindSpans, 1)
	if err != nil {
		return 0, err
	}
	marked, err := lastNumber(snap, kindStage, 1)
	return max(spans, marked), err
}

// StageTurn writes the spans and long strings of a turn ahead, in as many
// transactions as it takes: a turn may hold 200,000 spans or values of 80 MB, while a
// transaction is bounded. A small turn is not written ahead but with its PutTurn.
// Nothing is visible until then. Call it before the Update that puts the turn, not inside.
func (s *Store) StageTurn(ctx context.Context, t trace.Turn) (Staged, error) {
	if t.SessionID == "" {
		return Staged{}, errors.New("stage turn: the turn has no session id")
	}
	w, end, err := s.beginStage(ctx)
	if err != nil {
		return Staged{}, err
	}
	staged, err := w.turn(t)
	end(err)
	if err != nil {
		return Staged{}, fmt.Errorf("stage turn %s:%d: %w", t.SessionID, t.Index, err)
	}
	return staged, nil
}

// beginStage opens a stage for writing until end is called, with what came of it: after
// a failure it is given up.
func (s *Store) beginStage(ctx context.Context) (w *stager, end func(error), err error) {
	if err := s.refuseWrite(); err != nil {
		return nil, nil, err
	}
	if err := s.active.enter(); err != nil {
		return nil, nil, err
	}
	s.stages.writing.RLock()
	leave := func() {
		s.stages.writing.RUnlock()
		s.active.leave()
	}
	if err := s.guard(s.o.MinFree); err != nil {
		leave()
		return nil, nil, err
	}
	w = &stager{s: s, ctx: ctx, stage: s.stages.begin(), lifted: lifted{mark: "\x00t" + rand.Text()}, have: map[[32]byte]bool{}}
	return w, func(err error) {
		if err != nil {
			s.stages.done(w.stage)
		}
		leave()
	}, nil
}

// stager collects the entries of one stage and writes them ahead when they grow.
type stager struct {
	s      *Store
	ctx    context.Context
	stage  uint64
	batch  []entry
	bytes  int
	marked bool
	chunks int
	lifted lifted
	have   map[[32]byte]bool // blobs of this stage: those of its batch are not in the database yet
}

func (w *stager) turn(t trace.Turn) (Staged, error) {
	r := turnRecord{Turn: t, Stage: w.stage, Count: len(t.Spans), Counts: trace.Count([]trace.Turn{t})}
	var spans [][]byte // of the chunk that is being filled
	size := 0
	for i := range t.Spans {
		span, err := w.lift(t.Spans[i])
		if err != nil {
			return Staged{}, fmt.Errorf("span %d: %w", i, err)
		}
		raw, err := marshal(&span)
		if err != nil {
			return Staged{}, fmt.Errorf("span %d: %w", i, err)
		}
		if len(spans) > 0 && (size+len(raw) > chunkBytes || len(spans) >= chunkSpans) {
			if err := w.chunk(spans); err != nil {
				return Staged{}, err
			}
			spans, size = spans[:0], 0
		}
		spans, size = append(spans, raw), size+len(raw)
	}
	if len(spans) > 0 {
		if err := w.chunk(spans); err != nil {
			return Staged{}, err
		}
	}
	r.Turn.Spans, r.Chunks = nil, w.chunks
	if len(t.Input) > liftOver {
		// The long strings of the turn itself become blobs now, so that PutTurn finds them.
		var err error
		if r.Turn.Input, err = w.text(t.Input); err != nil {
			return Staged{}, err
		}
	}
	raw, err := marshal(&r)
	if err != nil {
		return Staged{}, err
	}
	if _, err := spill(raw, w, w.lifted); err != nil {
		return Staged{}, err
	}
	inline, marked, err := w.rest()
	return Staged{record: r, inline: inline, marked: marked, lifted: w.lifted}, err
}

// rest returns what a small stage leaves to the transaction that puts it.
func (w *stager) rest() (inline []entry, marked bool, err error) {
	if w.marked || w.bytes > inlineBytes {
		err = w.flush()
	}
	return w.batch, w.marked, err
}

// putStage writes what a stage left and takes its marker away.
func (tx *Tx) putStage(stage uint64, marked bool, inline []entry) error {
	if marked {
		_, there, err := tx.snap.get(stageKey(stage))
		if err == nil && !there {
			err = errors.New("its content is not there: stage it before the Update, and put it once")
		}
		if err != nil {
			return err
		}
		if err := tx.delete(stageKey(stage)); err != nil {
			return err
		}
	}
	for _, e := range inline {
		if err := tx.set(e.key, e.value); err != nil {
			return err
		}
	}
	tx.committed = append(tx.committed, func() { tx.s.stages.done(stage) })
	return nil
}

// chunk writes spans, each in its JSON, as a spanChunk.
func (w *stager) chunk(spans [][]byte) error {
	raw, err := marshal(&spanChunk{Stage: w.stage, Chunk: w.chunks, Spans: []trace.Span{}})
	if err != nil {
		return err
	}
	raw = append(bytes.TrimSuffix(raw, []byte("]}")), bytes.Join(spans, []byte(","))...)
	value, err := packLifted(append(raw, "]}"...), w, w.lifted)
	if err != nil {
		return err
	}
	k := spansKey(w.stage, w.chunks)
	w.chunks++
	return w.set(k, value)
}

func (w *stager) putBlob(content []byte) ([32]byte, error) {
	sum := sha256.Sum256(content)
	if w.have[sum] {
		return sum, nil
	}
	w.have[sum] = true
	w.s.stages.refer(w.stage, sum)
	err := w.s.db.View(func(txn *badger.Txn) error {
		_, found, err := localSnapshot{txn}.get(blobKey(sum))
		if err != nil || found {
			return err
		}
		return writeBlob(sum, content, w.set)
	})
	return sum, err
}

func (w *stager) set(key, value []byte) error {
	w.batch = append(w.batch, entry{key, value})
	w.bytes += len(key) + len(value)
	if w.bytes > batchBytes || len(w.batch) >= batchCount {
		return w.flush()
	}
	return nil
}

// flush writes the batch ahead. The first one carries the marker by which the sweep
// finds a stage that was never put.
func (w *stager) flush() error {
	if err := w.ctx.Err(); err != nil {
		return context.Cause(w.ctx)
	}
	if err := w.s.guard(w.s.o.MinFree); err != nil {
		return err
	}
	if !w.marked {
		w.batch = append([]entry{{stageKey(w.stage), []byte{1}}}, w.batch...)
		w.marked = true
	}
	for len(w.batch) > 0 {
		n := len(w.batch)
		err := w.s.db.Update(func(txn *badger.Txn) error {
			for len(w.batch) > 0 {
				err := txn.Set(w.batch[0].key, w.batch[0].value)
				if errors.Is(err, badger.ErrTxnTooBig) && len(w.batch) < n {
					return nil // commit what fits; the rest goes into the next
				}
				if err != nil {
					return err
				}
				w.batch = w.batch[1:]
			}
			return nil
		})
		if err != nil {
			return fmt.Errorf("write ahead: %w", err)
		}
	}
	w.batch, w.bytes = nil, 0
	return nil
}
