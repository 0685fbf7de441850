package store

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"

	badger "github.com/dgraph-io/badger/v4"
	"golang.org/x/sys/unix"
)

// UnwritableError tells that the store's folder cannot be written, by this user or at
// all. A store that was closed cleanly can still be read there.
type UnwritableError struct {
	Dir string
	Err error
}

func (e *UnwritableError) Error() string {
	return fmt.Sprintf("store %s cannot be written: make the folder writable or choose another one (store.path): %v", e.Dir, e.Err)
}

func (e *UnwritableError) Unwrap() error { return e.Err }

// unwritable turns a refusal of the system to write into *UnwritableError.
func unwritable(dir string, err error) error {
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, unix.EROFS) || errors.Is(err, unix.ENOTDIR) {
		return &UnwritableError{Dir: dir, Err: err}
	}
	return fmt.Errorf("open store: %w", err)
}

// openReadOnly opens a store that cannot be written. Badger shares its lock among
// readers and refuses while a writer has it.
func openReadOnly(o Options, why *UnwritableError) (*Store, error) {
	if err := examineFiles(o.dbDir()); err != nil {
		return nil, err
	}
	db, err := badger.Open(badgerOptions(o).WithReadOnly(true))
	// Badger wraps by text.
	if err != nil && (strings.Contains(err.Error(), badger.ErrTruncateNeeded.Error()) || errors.Is(err, fs.ErrPermission)) {
		return nil, fmt.Errorf("%w; nor can it be read there: it was not closed cleanly, and opening it has to write first: copy the folder to where you may write", why)
	}
	if err != nil {
		return nil, fmt.Errorf("read store: %s: %w", o.dbDir(), err)
	}
	s := &Store{o: o, db: db, readOnly: why, writer: make(chan struct{}, 1)}
	txn := db.NewTransaction(false)
	defer txn.Discard()
	schema, _, err := readSchema(localSnapshot{txn})
	if err == nil && schema > schemaVersion {
		err = &SchemaError{Dir: o.Dir, Found: schema, Known: schemaVersion}
	}
	if err == nil {
		s.tail.seq, err = lastSeq(localSnapshot{txn})
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("read store: %w", err), db.Close())
	}
	return s, nil
}

// readBarred reads a store that cannot be written: through its owner if there is one
// (another user may have it open), else from the files.
func readBarred(o Options, why *UnwritableError) (*Store, error) {
	s := &Store{o: o}
	if err := s.view(func(*Tx) error { return nil }, false); err == nil {
		return s, nil
	}
	return openReadOnly(o, why)
}

// refuseWrite says why this store takes no writes; nil when it is the owner's.
func (s *Store) refuseWrite() error {
	switch {
	case s.readOnly != nil:
		return s.readOnly
	case s.db == nil:
		return &BusyError{PID: s.ownerPID(), Dir: s.o.Dir}
	}
	return nil
}
