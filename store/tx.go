package store

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"

	badger "github.com/dgraph-io/badger/v4"

	"vise/engine/event"
	"vise/engine/rule"
)

// Tx is one transaction. It is valid only inside the function it was given to and
// for one goroutine. Records returned are copies.
type Tx struct {
	s    *Store
	snap snapshot
	w    *badger.Txn // nil in a View
	// failed is the first failure of a write: the transaction then cannot commit,
	// even when the caller overlooks the error.
	failed error
	seq    uint64
	events []event.Event
	// committed run after the commit.
	committed []func()
	rules     []rule.Rule // put in this transaction
	lifted    lifted      // of the staged turn that is being put
	// generation of the rule index before the snapshot was taken.
	generation uint64
}

// Update runs fn in one read-write transaction. When fn returns nil the records and
// the events it emitted are committed together, made durable, and then published on
// the bus in order; when it returns an error nothing has happened and that error is
// returned. fn runs once. Of the errors of Update only ErrNotDurable means that the
// change was made. Writers are serialised: fn must not call Update, Bulk,
// DeleteSession or GC itself and should not wait for anything slow.
//
// Errors: *BusyError in a remote view, *FullError when the disk is too full,
// ErrClosed after Close; a transaction over 1.2 MB fails (long strings do not count,
// they become blobs; for turns see StageTurn).
func (s *Store) Update(ctx context.Context, fn func(*Tx) error) error {
	return s.updateAs(ctx, fn, true)
}

// Bulk is Update without the sync: a power cut may lose it. An import calls it many
// times and Sync once at its end.
func (s *Store) Bulk(ctx context.Context, fn func(*Tx) error) error {
	return s.updateAs(ctx, fn, false)
}

func (s *Store) updateAs(ctx context.Context, fn func(*Tx) error, durable bool) error {
	if err := s.refuseWrite(); err != nil {
		return err
	}
	if err := s.active.enter(); err != nil {
		return err
	}
	defer s.active.leave()
	return s.commit(ctx, fn, durable)
}

// lock waits for the right to write; the returned function gives it back.
func (s *Store) lock(ctx context.Context) (func(), error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("update store: %w", context.Cause(ctx))
	}
	select {
	case s.writer <- struct{}{}:
		return func() { <-s.writer }, nil
	case <-ctx.Done():
		return nil, fmt.Errorf("update store: %w", context.Cause(ctx))
	}
}

func (s *Store) commit(ctx context.Context, fn func(*Tx) error, durable bool) error {
	n, err := s.write(ctx, fn)
	if err != nil {
		return err
	}
	if err := s.settle(n, durable); err != nil {
		return fmt.Errorf("update store: %w", err)
	}
	return nil
}

// write commits a transaction and returns the commit's number.
func (s *Store) write(ctx context.Context, fn func(*Tx) error) (uint64, error) {
	unlock, err := s.lock(ctx)
	if err != nil {
		return 0, err
	}
	defer unlock()
	if err := s.guard(s.o.MinFree); err != nil {
		return 0, err
	}
	generation := s.ruleIndex.generation.Load()
	txn := s.db.NewTransaction(true)
	defer txn.Discard()
	tx := &Tx{s: s, snap: localSnapshot{txn}, w: txn, seq: s.seq, generation: generation}
	if err := fn(tx); err != nil {
		return 0, err
	}
	if tx.failed != nil {
		return 0, fmt.Errorf("update store: an earlier write of the transaction failed: %w", tx.failed)
	}
	if len(tx.rules) > 0 {
		s.ruleIndex.begin()
	}
	err = txn.Commit()
	if len(tx.rules) > 0 {
		if err != nil {
			tx.rules = nil
		}
		s.ruleIndex.end(tx.rules)
	}
	if err != nil {
		return 0, fmt.Errorf("update store: commit: %w", err)
	}
	for _, f := range tx.committed {
		f()
	}
	s.seq = tx.seq
	return s.flush.add(commit{seq: tx.seq, events: tx.events}), nil
}

// View runs fn over a consistent snapshot. Write methods of its Tx fail with ErrReadOnly.
func (s *Store) View(fn func(*Tx) error) error { return s.view(fn, true) }

func (s *Store) view(fn func(*Tx) error, mayOpen bool) error {
	if err := s.active.enter(); err != nil {
		return err
	}
	defer s.active.leave()
	if s.db == nil {
		return s.viewRemote(fn, mayOpen)
	}
	generation := s.ruleIndex.generation.Load()
	txn := s.db.NewTransaction(false)
	defer txn.Discard()
	return fn(&Tx{s: s, snap: localSnapshot{txn}, generation: generation})
}

// OnCommit has f run when the transaction has committed, before the next one begins. f
// must neither use the store nor wait.
func (tx *Tx) OnCommit(f func()) { tx.committed = append(tx.committed, f) }

func (tx *Tx) writable() error {
	if tx.w == nil {
		return ErrReadOnly
	}
	return nil
}

// fail names the operation and makes the transaction unable to commit.
func (tx *Tx) fail(op string, err error) error {
	if errors.Is(err, badger.ErrTxnTooBig) {
		err = fmt.Errorf("the transaction is over the limit of 1.2 MB: split it: %w", err)
	}
	err = fmt.Errorf("%s: %w", op, err)
	if tx.w != nil && tx.failed == nil {
		tx.failed = err
	}
	return err
}

func (tx *Tx) set(key, value []byte) error {
	if tx.w == nil {
		return ErrReadOnly
	}
	return tx.w.Set(key, value)
}

func (tx *Tx) delete(key []byte) error {
	if tx.w == nil {
		return ErrReadOnly
	}
	return tx.w.Delete(key)
}

// putBlob writes a blob in the transaction unless it is there already.
func (tx *Tx) putBlob(content []byte) ([32]byte, error) {
	sum := sha256.Sum256(content)
	_, found, err := tx.snap.get(blobKey(sum))
	if err != nil || found {
		return sum, err
	}
	return sum, writeBlob(sum, content, tx.set)
}

// need refuses a record without an id, or with one that no key should hold.
func (tx *Tx) need(op string, ids ...string) error {
	for _, id := range ids {
		if id == "" {
			return tx.fail(op, errors.New("the record has no id"))
		}
	}
	return nil
}
