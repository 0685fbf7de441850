package store

import (
	"context"
	"errors"
	"fmt"

	badger "github.com/dgraph-io/badger/v4"
)

// GCReport is what GC removed.
type GCReport struct {
	Stages int `json:"stages"` // turns begun and never put
	Blobs  int `json:"blobs"`
	Index  int `json:"index_entries"` // entries that led nowhere
	Files  int `json:"files"`         // value log files rewritten
}

// GC removes what nothing refers to: spans of turns that were never put, blobs of
// deleted records, index entries of damaged ones; then it lets Badger rewrite value
// log files that are more than half garbage. Writers wait meanwhile. Blobs that a
// quarantined record refers to stay.
func (s *Store) GC(ctx context.Context) (GCReport, error) {
	var r GCReport
	if err := s.refuseWrite(); err != nil {
		return r, err
	}
	if err := s.active.enter(); err != nil {
		return r, err
	}
	defer s.active.leave()
	err := s.collect(ctx, &r)
	if err != nil {
		return r, fmt.Errorf("collect garbage of the store: %w", err)
	}
	if s.o.InMemory {
		return r, nil
	}
	for ctx.Err() == nil {
		err := s.db.RunValueLogGC(0.5)
		if errors.Is(err, badger.ErrNoRewrite) || errors.Is(err, badger.ErrRejected) {
			break
		}
		if err != nil {
			return r, fmt.Errorf("collect garbage of the store: value log: %w", err)
		}
		r.Files++
	}
	return r, nil
}

func (s *Store) collect(ctx context.Context, r *GCReport) error {
	// Removals left by a failure are finished first; that takes the write lock itself.
	if err := s.finishRemovals(ctx); err != nil {
		return err
	}
	unlock, err := s.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	s.stages.writing.Lock()
	defer s.stages.writing.Unlock()
	if err := s.guard(s.o.MinFree); err != nil {
		return err
	}
	if r.Stages, err = s.sweepStages(); err != nil {
		return err
	}
	txn := s.db.NewTransaction(false)
	defer txn.Discard()
	g := &garbage{snap: localSnapshot{txn}, used: s.stages.blobs(), tables: map[byte]anyTable{}}
	for _, t := range tables {
		g.tables[t.kindByte()] = t
	}
	if err := g.find(ctx); err != nil {
		return err
	}
	r.Index, r.Blobs = len(g.index), g.blobs
	if err := s.deleteKeys(g.index); err != nil {
		return err
	}
	return s.deleteKeys(g.keys)
}

// blobs returns the blobs that open stages refer to.
func (g *stages) blobs() map[[32]byte]bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	used := map[[32]byte]bool{}
	for _, sums := range g.open {
		for _, sum := range sums {
			used[sum] = true
		}
	}
	return used
}

// garbage is one pass over the keys. Blob keys sort in front of most records, so that
// the blobs are looked at in a second pass.
type garbage struct {
	snap   snapshot
	tables map[byte]anyTable
	used   map[[32]byte]bool
	index  [][]byte
	keys   [][]byte
	blobs  int
}

func (g *garbage) find(ctx context.Context) error {
	err := g.snap.scan(scan{}, func(k, v []byte) (bool, error) {
		if err := ctx.Err(); err != nil {
			return false, context.Cause(ctx)
		}
		switch k[0] {
		case kindMeta, kindStage, kindRemoving, kindCounts, kindBlob, kindBlobChunk:
			return true, nil
		}
		if g.tables[k[0]] != nil {
			return true, g.refer(k, v)
		}
		lost, err := g.lost(k, v)
		if lost {
			g.index = append(g.index, k)
		}
		return true, err
	})
	if err != nil {
		return err
	}
	for _, kind := range []byte{kindBlob, kindBlobChunk} {
		err := g.snap.scan(scan{prefix: []byte{kind}, keys: true}, func(k, _ []byte) (bool, error) {
			if len(k) < 33 || g.used[[32]byte(k[1:33])] {
				return true, nil
			}
			g.keys = append(g.keys, k)
			if kind == kindBlob {
				g.blobs++
			}
			return true, nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (g *garbage) refer(k, v []byte) error {
	refs, err := blobRefs(g.snap, v)
	for _, sum := range refs {
		g.used[sum] = true
	}
	if k[0] == kindQuarantine && notDamage(err) == nil {
		q, qerr := quarantined.decode(g.snap, k, v)
		if qerr == nil {
			return g.refer([]byte{0}, q.Value)
		}
		return notDamage(qerr)
	}
	return notDamage(err)
}

// lost reports whether an index entry leads to no record that belongs there. An entry
// of a damaged record stays with the record.
func (g *garbage) lost(k, to []byte) (bool, error) {
	if len(to) == 0 || g.tables[to[0]] == nil {
		return false, nil // not ours to judge: Verify names it
	}
	v, found, err := g.snap.get(to)
	if err != nil || !found {
		return err == nil, err
	}
	entries, err := g.tables[to[0]].entries(g.snap, to, v)
	if err != nil {
		return false, notDamage(err)
	}
	return !contains(entries, k), nil
}
