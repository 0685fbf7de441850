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

	head   trace.Session
	prior  trace.Session // what was stored under this id before
	digest hash.Hash
	turns  int

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
// is stored beside it, under its id and a mark of its own file.
func (im *Importer) Begin(s trace.Session) error {
	s.Origin = trace.Recorded
	im.prior = trace.Session{}
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
			if old.Origin == trace.Recorded && filepath.Base(old.File) == filepath.Base(s.File) {
				im.prior = old
				return nil
			}
			mark := sha256.Sum256([]byte(s.ID + "\x00" + filepath.Base(s.File)))
			s.ID = bound(s.ID, 128-9) + "-" + hex.EncodeToString(mark[:4])
		}
	}); err != nil {
		return fmt.Errorf("import session %s: %w", s.ID, err)
	}
	im.head, im.digest, im.turns = s, sha256.New(), 0
	return nil
}

// Turn stores one turn.
func (im *Importer) Turn(t trace.Turn) error {
	t.SessionID = im.head.ID
	t.TraceID = traceID(im.head.ID, t.Index)
	mark := sha256.New()
	if err := t.Digest(mark); err != nil {
		return fmt.Errorf("import session %s turn %d: %w", im.head.ID, t.Index, err)
	}
	sum := mark.Sum(nil)
	im.digest.Write(sum)
	im.turns++
	if im.dryRun {
		return nil
	}
	if same, err := im.stored(t, sum); same || err != nil {
		return err
	}
	staged, err := im.h.store.StageTurn(im.ctx, t)
	if err != nil {
		return fmt.Errorf("import session %s turn %d: %w", im.head.ID, t.Index, err)
	}
	if err := im.h.store.Bulk(im.ctx, func(tx *store.Tx) error { return tx.PutTurn(staged) }); err != nil {
		return fmt.Errorf("import session %s turn %d: %w", im.head.ID, t.Index, err)
	}
	return nil
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
	if err := im.h.store.Bulk(im.ctx, func(tx *store.Tx) error {
		if im.prior.ID != "" {
			if err := im.forgetOld(tx); err != nil {
				return err
			}
		}
		return tx.PutSession(s)
	}); err != nil {
		return fmt.Errorf("import session %s: %w", s.ID, err)
	}
	return nil
}

// forgetOld removes what a rewritten recording no longer holds, and lets its
// turns be scored anew: the old scores are about other content.
func (im *Importer) forgetOld(tx *store.Tx) error {
	rest, err := tx.TurnHeads(im.head.ID, im.turns, 0)
	if err != nil {
		return err
	}
	for _, t := range rest {
		if err := tx.DeleteTurn(im.head.ID, t.Index); err != nil {
			return err
		}
	}
	return tx.DeleteState(stateName(im.head.ID))
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
