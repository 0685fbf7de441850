package engine

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"path/filepath"

	"vise/engine/event"
	"vise/engine/trace"
	"vise/store"
)

// Importer stores recorded sessions as they are read: one turn in memory at a
// time, the head last, so that a session cut off in the middle stays invisible.
// It implements the sink of the session formats.
type Importer struct {
	h      *Harness
	ctx    context.Context
	dryRun bool

	head  trace.Session
	prior trace.Session // what was stored under this id before
	// doubted: prior came from a file of the same name in another folder. Whether that was
	// moved, or is another recording, its first turn tells.
	doubted bool
	changed bool // a turn of prior was written over
	digest  hash.Hash
	turns   int

	// New, Updated, Unchanged count the sessions handled so far.
	New, Updated, Unchanged int
	// IDs of the sessions handled so far, in order, bounded to the first 1000.
	IDs []string
}

// Import returns an importer. With dryRun nothing is stored.
func (h *Harness) Import(ctx context.Context, dryRun bool) *Importer {
	return &Importer{h: h, ctx: ctx, dryRun: dryRun}
}

// Begin opens a session. A recording whose id is already taken by another file
// is stored beside it, under its id and a mark of its own file. A file of the same name in
// another folder is the same recording, moved, when their first turns are the same.
func (im *Importer) Begin(s trace.Session) error {
	if err := im.find(&s, false); err != nil {
		return err
	}
	im.head, im.digest, im.turns, im.changed = s, sha256.New(), 0, false
	return nil
}

// find looks for what is stored of a session, and gives it an id of its own where that of
// the recording is taken. elsewhere: a file of the same name in another folder is another one.
func (im *Importer) find(s *trace.Session, elsewhere bool) error {
	s.Origin = trace.Recorded
	im.prior, im.doubted = trace.Session{}, false
	name := filepath.Base(s.File)
	if elsewhere {
		name = s.File
	}
	if err := im.h.store.View(func(tx *store.Tx) error {
		for {
			old, ok, err := tx.Session(s.ID)
			if err != nil {
				return err
			}
			if !ok {
				// What was removed comes back with its recording.
				gone, was, err := tx.RemovedSession(s.ID)
				if err != nil || !was {
					return err
				}
				old, old.Digest = gone.Session, ""
			}
			if old.Origin == trace.Recorded && (old.File == s.File || !elsewhere && filepath.Base(old.File) == name) {
				im.prior, im.doubted = old, old.File != s.File
				return nil
			}
			mark := sha256.Sum256([]byte(s.ID + "\x00" + name))
			s.ID = bound(s.ID, 128-9) + "-" + hex.EncodeToString(mark[:4])
		}
	}); err != nil {
		return fmt.Errorf("import session %s: %w", s.ID, err)
	}
	return nil
}

// Turn stores one turn.
func (im *Importer) Turn(t trace.Turn) error {
	sum, err := im.mark(&t)
	if err != nil {
		return err
	}
	same, err := im.stored(t, sum)
	if err != nil {
		return err
	}
	if im.doubted && !same {
		if err := im.find(&im.head, true); err != nil {
			return err
		}
		if sum, err = im.mark(&t); err != nil {
			return err
		}
		if same, err = im.stored(t, sum); err != nil {
			return err
		}
	}
	im.doubted = false
	im.digest.Write(sum)
	im.turns = max(im.turns, t.Index+1)
	if im.dryRun || same {
		return nil
	}
	staged, err := im.h.store.StageTurn(im.ctx, t)
	if err != nil {
		return fmt.Errorf("import session %s turn %d: %w", im.head.ID, t.Index, err)
	}
	if err := im.h.store.Bulk(im.ctx, func(tx *store.Tx) error {
		if im.prior.ID != "" && !im.changed {
			// The scores are about other content from here on, even when the import ends early.
			if err := tx.DeleteState(stateName(im.head.ID)); err != nil {
				return err
			}
		}
		return tx.PutTurn(staged)
	}); err != nil {
		return fmt.Errorf("import session %s turn %d: %w", im.head.ID, t.Index, err)
	}
	im.changed = true
	return nil
}

// mark makes a turn one of the session that is being imported, and returns its digest.
func (im *Importer) mark(t *trace.Turn) ([]byte, error) {
	t.SessionID = im.head.ID
	t.TraceID = traceID(im.head.ID, t.Index)
	mark := sha256.New()
	if err := t.Digest(mark); err != nil {
		return nil, fmt.Errorf("import session %s turn %d: %w", im.head.ID, t.Index, err)
	}
	return mark.Sum(nil), nil
}

// stored reports whether a turn stands in the store as it is: a recording that
// grows is read again from its beginning, and only what is new is written.
func (im *Importer) stored(t trace.Turn, sum []byte) (bool, error) {
	if im.prior.ID == "" {
		return false, nil
	}
	same := false
	err := im.h.store.View(func(tx *store.Tx) error {
		old, ok, err := tx.Turn(t.SessionID, t.Index)
		if err != nil || !ok {
			return err
		}
		was := sha256.New()
		if err := old.Digest(was); err != nil {
			return err
		}
		same = bytes.Equal(was.Sum(nil), sum)
		return nil
	})
	if err != nil {
		return false, fmt.Errorf("import session %s turn %d: %w", t.SessionID, t.Index, err)
	}
	return same, nil
}

// End stores the head. Importing the same content again changes nothing.
func (im *Importer) End(s trace.Session) error {
	s.ID, s.Origin = im.head.ID, trace.Recorded
	s.Digest = hex.EncodeToString(im.digest.Sum(nil))
	if len(im.IDs) < 1000 {
		im.IDs = append(im.IDs, s.ID)
	}
	same := im.prior.Digest == s.Digest && im.prior.ID != ""
	switch {
	case same:
		im.Unchanged++
	case im.prior.ID != "":
		im.Updated++
	default:
		im.New++
	}
	if im.dryRun || same {
		return nil
	}
	s = im.h.withHints(s)
	if err := im.forgetOld(); err != nil {
		return fmt.Errorf("import session %s: %w", s.ID, err)
	}
	if err := im.h.store.Bulk(im.ctx, func(tx *store.Tx) error {
		if im.prior.ID != "" {
			if err := tx.DeleteState(stateName(s.ID)); err != nil {
				return err
			}
		}
		return tx.PutSession(s)
	}); err != nil {
		return fmt.Errorf("import session %s: %w", s.ID, err)
	}
	return nil
}

// forgetBatch is how many turns one transaction removes.
const forgetBatch = 200

// forgetOld removes the turns that a rewritten recording no longer holds. An import that
// ends meanwhile is taken up by the next one: the head still has the old digest.
func (im *Importer) forgetOld() error {
	for left := im.prior.ID != ""; left; {
		if err := im.h.store.Bulk(im.ctx, func(tx *store.Tx) error {
			rest, err := tx.TurnHeads(im.head.ID, im.turns, forgetBatch)
			if err != nil {
				return err
			}
			left = len(rest) == forgetBatch
			for _, t := range rest {
				if err := tx.DeleteTurn(im.head.ID, t.Index); err != nil {
					return err
				}
			}
			return nil
		}); err != nil {
			return err
		}
	}
	return nil
}

// Finish makes everything durable and journals what was imported.
func (im *Importer) Finish(data map[string]any) error {
	if im.dryRun {
		return nil
	}
	data["new"], data["updated"], data["unchanged"] = im.New, im.Updated, im.Unchanged
	if err := im.h.store.Update(im.ctx, func(tx *store.Tx) error {
		return tx.Emit(event.Event{Type: event.ImportFinished, Data: data})
	}); err != nil {
		return fmt.Errorf("finish import: %w", err)
	}
	return nil
}

// traceID names the one trace of a turn.
func traceID(session string, turn int) string { return fmt.Sprintf("%s.%d", session, turn) }

func bound(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n])
	}
	return s
}
