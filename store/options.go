package store

import (
	"errors"
	"os"
	"path/filepath"
	"time"

	badger "github.com/dgraph-io/badger/v4"

	"vise/engine/guard"
)

func (o Options) withDefaults() Options {
	if o.MinFree == 0 {
		o.MinFree = DefaultMinFree
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Redactor == nil {
		o.Redactor = guard.DefaultRedactor()
	}
	if o.NewID == nil {
		o.NewID = newULIDs(o.Now)
	}
	if o.Free == nil && !o.InMemory {
		o.Free = statfs
	}
	return o
}

func (o Options) prepareDir() error {
	if o.Dir == "" {
		return errors.New("open store: no folder given: set Options.Dir to the project's .vise folder")
	}
	if err := CheckFolder(o.Dir); err != nil {
		return err
	}
	if err := os.MkdirAll(o.dbDir(), 0o700); err != nil {
		return unwritable(o.Dir, err)
	}
	// What is recorded is nothing for the project's history. A file that is there, or
	// cannot be written, is the project's own affair.
	if f, err := os.OpenFile(filepath.Join(o.Dir, ".gitignore"), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600); err == nil {
		_, _ = f.WriteString("*\n")
		_ = f.Close()
	}
	return nil
}

func (o Options) dbDir() string { return filepath.Join(o.Dir, "store") }

// badgerOptions is the profile of a small program: 12 MB of memory and 24 KB on
// disk when empty instead of Badger's server defaults. Writers are serialised by
// the store, so that Badger's own conflict detection would only cost memory.
func badgerOptions(o Options) badger.Options {
	dir, memtable, threshold := o.dbDir(), int64(8<<20), int64(64<<10)
	if o.InMemory {
		// Without a value log all values count towards the limit of a transaction, which
		// is 15 % of the memtable, and no value may be longer than the threshold.
		dir, memtable, threshold = "", 16<<20, 1<<20
	}
	return badger.DefaultOptions(dir).
		WithInMemory(o.InMemory).
		WithLogger(nil).
		WithMetricsEnabled(false).
		WithDetectConflicts(false).
		WithMemTableSize(memtable).
		WithNumMemtables(2).
		WithNumLevelZeroTables(2).
		WithNumLevelZeroTablesStall(6).
		WithNumCompactors(2).
		WithBlockCacheSize(16 << 20).
		WithIndexCacheSize(8 << 20).
		WithValueThreshold(threshold).
		WithValueLogFileSize(64 << 20)
}
