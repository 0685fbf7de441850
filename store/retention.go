package store

import (
	"fmt"
	"time"
)

// SessionsStoredBefore returns the ids of sessions whose head was last stored before
// the time, longest ago first, at most limit of those that keep does not hold back.
func (tx *Tx) SessionsStoredBefore(before time.Time, limit int, keep func(id string) bool) ([]string, error) {
	var out []string
	err := walk(tx, sessions, scan{prefix: []byte{kindSessionAge}}, func(r *sessionRecord) (bool, error) {
		if !r.Stored.Before(before) {
			return false, nil
		}
		if !keep(r.ID) {
			out = append(out, r.ID)
		}
		return len(out) < limit, nil
	})
	if err != nil {
		return nil, fmt.Errorf("list sessions stored before %s: %w", before.Format(time.RFC3339), err)
	}
	return out, nil
}

// DeleteSteps removes the transcript of a repair: the steps of all its runs, at most
// limit of them at a time. It returns how many went; the episode and its result stay.
func (tx *Tx) DeleteSteps(episodeID string, limit int) (int, error) {
	var list [][]byte
	err := tx.snap.scan(scan{prefix: key(kindStep, episodeID), keys: true}, func(k, _ []byte) (bool, error) {
		list = append(list, k)
		return len(list) < limit, nil
	})
	if err != nil {
		return 0, tx.fail("delete steps", err)
	}
	for _, k := range list {
		if err := tx.delete(k); err != nil {
			return 0, tx.fail("delete steps", err)
		}
	}
	return len(list), nil
}
