package store

import (
	"context"
	"encoding/binary"
	"fmt"

	badger "github.com/dgraph-io/badger/v4"
)

func readSchema(snap snapshot) (version uint32, found bool, err error) {
	v, found, err := snap.get(metaKey("schema"))
	if err != nil || !found {
		return 0, false, err
	}
	if len(v) != 4 {
		return 0, true, fmt.Errorf("schema version of %d bytes: the store is damaged", len(v))
	}
	return binary.BigEndian.Uint32(v), true, nil
}

// sweepBatch is how many keys one transaction of a sweep deletes.
const sweepBatch = 2000

// finishRemovals ends the removals of sessions that were begun and not finished.
func (s *Store) finishRemovals(ctx context.Context) error {
	var removals []string
	txn := s.db.NewTransaction(false)
	err := localSnapshot{txn}.scan(scan{prefix: []byte{kindRemoving}}, func(_, v []byte) (bool, error) {
		removals = append(removals, string(v))
		return true, nil
	})
	txn.Discard()
	for _, id := range removals {
		if err == nil {
			err = s.clearSession(ctx, id)
		}
	}
	return err
}

// sweepStages clears stages that nothing came to refer to, and returns their number.
// Nobody may write meanwhile: a stage that is put between the look at its marker and the
// removal would lose its content.
func (s *Store) sweepStages() (dropped int, err error) {
	stages := map[uint64]bool{} // true = never put, false = replaced or removed
	txn := s.db.NewTransaction(false)
	err = localSnapshot{txn}.scan(scan{prefix: []byte{kindStage}}, func(k, v []byte) (bool, error) {
		if len(k) == 9 {
			stages[binary.BigEndian.Uint64(k[1:])] = len(v) > 0
		}
		return true, nil
	})
	txn.Discard()
	if err != nil {
		return 0, err
	}
	for stage, unput := range stages {
		if s.stages.isOpen(stage) {
			continue
		}
		if err := s.deleteAll(u64([]byte{kindSpans}, stage)); err != nil {
			return dropped, err
		}
		if err := s.db.Update(func(txn *badger.Txn) error { return txn.Delete(stageKey(stage)) }); err != nil {
			return dropped, err
		}
		if unput {
			dropped++
		}
	}
	return dropped, nil
}

// deleteAll deletes every key with the prefix in bounded transactions.
func (s *Store) deleteAll(prefix []byte) error {
	for {
		var keys [][]byte
		txn := s.db.NewTransaction(false)
		err := localSnapshot{txn}.scan(scan{prefix: prefix, keys: true}, func(k, _ []byte) (bool, error) {
			keys = append(keys, k)
			return len(keys) < sweepBatch, nil
		})
		txn.Discard()
		if err != nil {
			return err
		}
		if err := s.deleteKeys(keys); err != nil {
			return err
		}
		if len(keys) < sweepBatch {
			return nil
		}
	}
}

func (s *Store) deleteKeys(keys [][]byte) error {
	for len(keys) > 0 {
		n := min(len(keys), sweepBatch)
		err := s.db.Update(func(txn *badger.Txn) error {
			for _, k := range keys[:n] {
				if err := txn.Delete(k); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		keys = keys[n:]
	}
	return nil
}
