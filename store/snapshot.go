package store

import (
	"bytes"
	"errors"
	"fmt"

	badger "github.com/dgraph-io/badger/v4"
)

// snapshot is a consistent view of the keys. All reading code works on it, so that
// it runs unchanged over a Badger transaction and over the owner's socket.
type snapshot interface {
	get(key []byte) (value []byte, found bool, err error)
	scan(s scan, fn func(key, value []byte) (more bool, err error)) error
}

// scan names a range of keys. Its callback may get, but not scan: a read-write
// Badger transaction has one iterator at a time.
type scan struct {
	prefix []byte
	// from is the first key of interest, included; nil = the end of the prefix that the scan starts at.
	from []byte
	// after is like from, but excluded. It wins over from.
	after   []byte
	reverse bool
	// keys leaves the values out.
	keys bool
}

// localSnapshot is a transaction of our own database.
type localSnapshot struct{ txn *badger.Txn }

func (l localSnapshot) get(key []byte) ([]byte, bool, error) {
	item, err := l.txn.Get(key)
	if errors.Is(err, badger.ErrKeyNotFound) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, fmt.Errorf("read %s: %w", keyText(key), err)
	}
	v, err := item.ValueCopy(nil)
	if err != nil {
		return nil, false, fmt.Errorf("read %s: %w", keyText(key), err)
	}
	return v, true, nil
}

func (l localSnapshot) scan(s scan, fn func(key, value []byte) (bool, error)) error {
	o := badger.DefaultIteratorOptions
	// Records are read by the callback as it needs them; values of indexes lie beside
	// their keys and need no prefetching.
	o.PrefetchValues = false
	o.Reverse = s.reverse
	o.Prefix = s.prefix
	it := l.txn.NewIterator(o)
	defer it.Close()
	for it.Seek(s.seek()); it.Valid(); it.Next() {
		item := it.Item()
		k := item.KeyCopy(nil)
		if s.after != nil && bytes.Equal(k, s.after) {
			continue
		}
		var v []byte
		if !s.keys {
			var err error
			if v, err = item.ValueCopy(nil); err != nil {
				return fmt.Errorf("read %s: %w", keyText(k), err)
			}
		}
		more, err := fn(k, v)
		if err != nil || !more {
			return err
		}
	}
	return nil
}

func (s scan) seek() []byte {
	switch {
	case s.after != nil:
		return s.after
	case s.from != nil:
		return s.from
	case s.reverse:
		return last(s.prefix)
	}
	return s.prefix
}
