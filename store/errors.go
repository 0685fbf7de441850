package store

import (
	"errors"
	"fmt"
)

// ErrClosed is returned by every call after Close.
var ErrClosed = errors.New("store: closed")

// ErrReadOnly is returned by the write methods of a Tx that belongs to a View.
var ErrReadOnly = errors.New("store: write in a read-only transaction: use Update")

// ErrNotDurable is wrapped by the error of an Update that committed, and was seen by all,
// but could not be synced to disk: the change is made, only a power cut may lose it.
var ErrNotDurable = errors.New("committed, but the sync to disk failed")

// BusyError tells that another process owns the store.
type BusyError struct {
	PID     int // 0 when the owner did not say
	Dir     string
	passing bool // it ends by itself within moments
}

func (e *BusyError) Error() string {
	who := "another process"
	if e.PID != 0 {
		who = fmt.Sprintf("process %d", e.PID)
	}
	return fmt.Sprintf("store %s is owned by %s: end it first; commands that only read work beside it", e.Dir, who)
}

// FullError tells that too little disk space is free to write safely. The store
// still reads, and writes again as soon as there is space.
type FullError struct {
	Dir        string
	Free, Need uint64 // bytes
}

func (e *FullError) Error() string {
	return fmt.Sprintf("store %s is read-only: %d bytes free on its disk, %d needed: free some space, nothing else needs to be done", e.Dir, e.Free, e.Need)
}

// SchemaError tells that a newer vise wrote the store.
type SchemaError struct {
	Dir          string
	Found, Known uint32
}

func (e *SchemaError) Error() string {
	return fmt.Sprintf("store %s has schema version %d, this vise knows up to %d: use the newer vise", e.Dir, e.Found, e.Known)
}

// damage is the reason why one record cannot be read. It never leaves the package:
// the record reads as absent and goes to quarantine.
type damage struct{ reason string }

func (d *damage) Error() string { return d.reason }

func damaged(format string, args ...any) error { return &damage{fmt.Sprintf(format, args...)} }
