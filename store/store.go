// Package store keeps everything vise knows in one Badger database inside the
// project's .vise folder.
//
// The only way to change anything is [Store.Update]: one transaction that writes
// records and appends the journal events which tell of the change, so that state
// and journal cannot disagree. What Update acknowledged survives a kill -9 and,
// because of the sync before the acknowledgement, a power cut.
//
// One process owns the store. Others read it through the owner's unix socket with
// the same [Tx] code (see [OpenRead]); writers among them are told the owner's pid.
// A record that cannot be decoded is quarantined: it reads as absent, is copied
// aside and reported once, and never hides its neighbours.
//
// Some records change without an event of their own, since another one tells of what they
// follow from, or nothing does that a person or a program would wait for: a session's
// scoring state, which a turn's report or skip moves (reset when a recording is imported
// or scored anew: import_finished, session events); episodes as they are opened, which
// their notice announces; a replay's session and turns, told of by its pair or case; what
// a live session adds to forward trials, told of by rule_promote and rule_retire; offers of
// protection that are dismissed or outdated; what a round takes off the queue of tests;
// transcripts of repairs that are older than store.retention; the state of the screen.
package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"sync/atomic"
	"time"

	badger "github.com/dgraph-io/badger/v4"

	"vise/engine/event"
	"vise/engine/guard"
	"vise/engine/rule"
)

// schemaVersion is the layout of keys and values that this program writes.
const schemaVersion = 1

// DefaultMinFree is the free space in bytes below which the store turns read-only.
// Badger writes through memory maps, and a full disk under a memory map kills the
// process with a signal that cannot be caught, so the guard must act long before.
const DefaultMinFree = 512 << 20

// openFloor is the free space in bytes below which the store is not even opened:
// opening replays the log into memory maps of about this size.
const openFloor = 64 << 20

// lockPatience is how long Open waits for an owner that may be just starting to close,
// passingPatience for one that says that it will be gone by itself: a command that only
// reads, or a store that is being closed. On a busy machine either takes its time.
const (
	lockPatience    = 300 * time.Millisecond
	passingPatience = 30 * time.Second
)

// Options say where the store is and what it takes from outside.
type Options struct {
	// Dir is the project's .vise folder; it is made when absent.
	Dir string
	// InMemory keeps nothing on disk: no owner, no socket, no guard unless Free is set.
	InMemory bool
	// MinFree is the free space in bytes below which writes are refused; 0 = DefaultMinFree.
	MinFree uint64
	// Now is the clock; nil = time.Now.
	Now func() time.Time
	// NewID makes a new id from a prefix ("n" gives "n-01J..."); nil = ULIDs.
	NewID func(prefix string) string
	// Bus gets the events of every committed transaction, in journal order; may be nil.
	Bus *event.Bus
	// Redactor masks the texts in the data of every event, whoever emits it; nil masks by
	// key and by value.
	Redactor *guard.Redactor
	// Free returns the bytes free for us under a folder; nil = statfs.
	Free func(dir string) (uint64, error)
}

// Store is an open store: the owner's, or a remote view of it.
type Store struct {
	o        Options
	db       *badger.DB       // nil in a remote view
	readOnly *UnwritableError // why db is open for reading only; nil = it is the owner's
	writer   chan struct{}
	seq      uint64 // of the newest event; writer is held
	flush    flusher
	logs     []logSeries // of whoever syncs
	owner    *ownerLock
	server   *server
	tail     tail
	active   activity
	keeper   *keeper
	stages   stages
	// ruleIndex serves searches among the rules of the owner.
	ruleIndex ruleIndex
	recovery  *Recovery
	handler   atomic.Pointer[Handler] // of requests of other processes
}

// Recovery tells what the store found when its previous owner had not closed it.
type Recovery struct {
	// PID of the process that ended without closing.
	PID int
	// Dropped counts turns that were being written and had not been acknowledged.
	Dropped int
	// LastSeq is the last journal sequence that is there.
	LastSeq uint64
}

// Open becomes the owner of the store. It waits for a command that only reads and for
// an owner that is closing, and fails with *BusyError when another process keeps the store, *FullError when the disk is too full to open it safely, and
// *SchemaError when a newer vise wrote it.
func Open(ctx context.Context, o Options) (*Store, error) {
	o = o.withDefaults()
	if o.InMemory {
		return openDB(o, nil)
	}
	if err := o.prepareDir(); err != nil {
		return nil, err
	}
	begun := time.Now()
	for {
		s, err := openOwned(o, false)
		var busy *BusyError
		if !errors.As(err, &busy) {
			return s, err
		}
		if waited := time.Since(begun); waited > passingPatience || waited > lockPatience && !busy.passing {
			return s, err
		}
		if err := sleep(ctx, 20*time.Millisecond); err != nil {
			return nil, fmt.Errorf("open store: %w", err)
		}
	}
}

// readPatience is how long OpenRead waits for an owner that is starting or closing.
const readPatience = 5 * time.Second

// OpenRead opens the store for reading: as its owner when it is free, else as a
// view through the owner's socket, on which Update fails with *BusyError. In a folder
// that cannot be written it opens the database read-only, if it was closed cleanly;
// Update then fails with *UnwritableError.
func OpenRead(ctx context.Context, o Options) (*Store, error) {
	o = o.withDefaults()
	if o.InMemory {
		return openDB(o, nil)
	}
	if err := o.prepareDir(); err != nil {
		return nil, err // not there yet, and cannot be made
	}
	deadline := time.Now().Add(readPatience)
	for {
		s, err := openOwned(o, true)
		var busy *BusyError
		var barred *UnwritableError
		if errors.As(err, &barred) {
			return readBarred(o, barred)
		}
		if !errors.As(err, &busy) {
			return s, err
		}
		s = &Store{o: o}
		perr := s.View(func(*Tx) error { return nil })
		if perr == nil {
			return s, nil
		}
		var schema *SchemaError
		if errors.As(perr, &schema) {
			return nil, perr
		}
		if time.Now().After(deadline) {
			return nil, fmt.Errorf("read through the owner: %w: %w", perr, busy)
		}
		if err := sleep(ctx, 25*time.Millisecond); err != nil {
			return nil, fmt.Errorf("open store: %w", err)
		}
	}
}

// OpenView opens the store for a long-lived reader, such as an MCP server or a
// follower of the journal. It never keeps the store: each View goes through the
// owner, or opens the store for the length of that call when there is none, so that
// writers can come and go beside it.
func OpenView(ctx context.Context, o Options) (*Store, error) {
	o = o.withDefaults()
	if o.InMemory {
		return openDB(o, nil)
	}
	if err := o.prepareDir(); err != nil {
		return nil, err
	}
	s := &Store{o: o}
	if err := s.View(func(*Tx) error { return nil }); err != nil {
		return nil, fmt.Errorf("open view: %w", err)
	}
	return s, nil
}

func openOwned(o Options, passing bool) (*Store, error) {
	lock, err := acquire(o.Dir, passing)
	if err != nil {
		return nil, err
	}
	s, err := openDB(o, lock)
	if err != nil {
		lock.abandon()
		return nil, err
	}
	return s, nil
}

func openDB(o Options, lock *ownerLock) (*Store, error) {
	s := &Store{o: o, owner: lock, writer: make(chan struct{}, 1)}
	if o.Free != nil {
		if err := s.guard(min(o.MinFree, openFloor)); err != nil {
			return nil, err
		}
	}
	if !o.InMemory {
		if err := dropEmptyLogs(o.dbDir()); err != nil {
			return nil, err
		}
		if err := examineFiles(o.dbDir()); err != nil {
			return nil, err
		}
	}
	db, err := badger.Open(badgerOptions(o))
	switch {
	case errors.Is(err, fs.ErrPermission):
		return nil, unwritable(o.Dir, err)
	case err != nil:
		return nil, &DamageError{File: o.dbDir(), Reason: err.Error(), db: o.dbDir()}
	}
	s.db = db
	if !o.InMemory {
		if s.logs, err = series(o.dbDir()); err != nil {
			return nil, errors.Join(fmt.Errorf("open store: %w", err), db.Close())
		}
	}
	s.keeper = newKeeper(s)
	if err := s.load(); err != nil {
		s.keeper.stop()
		return nil, errors.Join(err, db.Close())
	}
	if lock != nil {
		if s.server, err = listen(s); err != nil {
			s.keeper.stop()
			return nil, errors.Join(err, db.Close())
		}
		if err := lock.announce(s.server.path); err != nil {
			s.server.close()
			s.keeper.stop()
			return nil, errors.Join(err, db.Close())
		}
	}
	return s, nil
}

// load checks the schema, reads the counters and drops what an earlier owner left half-written.
func (s *Store) load() error {
	txn := s.db.NewTransaction(false)
	snap := localSnapshot{txn}
	schema, found, err := readSchema(snap)
	if err == nil {
		s.seq, err = lastSeq(snap)
		s.tail.seq = s.seq
	}
	if err == nil {
		s.stages.next, err = lastStage(snap)
	}
	txn.Discard()
	if err != nil {
		return fmt.Errorf("open store: %w", err)
	}
	if schema > schemaVersion {
		return &SchemaError{Dir: s.o.Dir, Found: schema, Known: schemaVersion}
	}
	writable := s.guard(s.o.MinFree) == nil
	if !found && writable {
		err := s.db.Update(func(txn *badger.Txn) error { return txn.Set(metaKey("schema"), u32(nil, schemaVersion)) })
		if err != nil {
			return fmt.Errorf("open store: write schema version: %w", err)
		}
	}
	dropped := 0
	if writable {
		if dropped, err = s.sweepStages(); err == nil {
			err = s.finishRemovals(context.Background())
		}
		if err != nil {
			return fmt.Errorf("open store: sweep unfinished writes: %w", err)
		}
	}
	if s.owner != nil && s.owner.previous != 0 {
		s.recovery = &Recovery{PID: s.owner.previous, Dropped: dropped, LastSeq: s.tail.seq}
	}
	return nil
}

// Recovery returns what was found when the previous owner had not closed the store
// (a crash, a kill -9); ok is false after a clean close and in a remote view.
func (s *Store) Recovery() (r Recovery, ok bool) {
	if s.recovery == nil {
		return Recovery{}, false
	}
	return *s.recovery, true
}

// Owner reports whether this process owns the store and may write.
func (s *Store) Owner() bool { return s.db != nil && s.readOnly == nil }

// Unwritable tells why the store is open for reading only although nobody else owns
// it; nil in every other case.
func (s *Store) Unwritable() *UnwritableError { return s.readOnly }

// NewID returns a new id with the prefix.
func (s *Store) NewID(prefix string) string { return s.o.NewID(prefix) }

// Now returns the store's time.
func (s *Store) Now() time.Time { return s.o.Now() }

// Close ends the store: waits for running transactions, ends the socket, closes the
// database and gives the ownership up. A second Close does nothing. It must not be
// called from inside a transaction.
func (s *Store) Close() error {
	if !s.active.close() {
		return nil
	}
	if s.db == nil {
		return nil
	}
	if s.owner != nil {
		s.owner.closing()
	}
	if s.server != nil {
		s.server.close()
	}
	if s.keeper != nil {
		s.keeper.stop()
	}
	err := s.db.Close()
	if err != nil {
		err = fmt.Errorf("close store: %w", err)
	}
	switch {
	case s.owner == nil:
	case err == nil:
		s.owner.release()
	default:
		err = errors.Join(err, s.owner.f.Close())
	}
	if err != nil {
		return err
	}
	return nil
}

// ReadRules opens a consistent view of the rules for the length of one call. It
// makes the store a rule.Source.
func (s *Store) ReadRules(fn func(rule.Reader) error) error {
	return s.View(func(tx *Tx) error { return fn(tx) })
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-t.C:
		return nil
	}
}
