package store

import (
	"context"
	"errors"
	"sync"
	"time"

	"vise/engine/event"
)

// QuarantineEntry is a copy of a record that could not be read, with the reason.
type QuarantineEntry struct {
	Key    []byte    `json:"key"`
	Record string    `json:"record"` // the key for people
	Reason string    `json:"reason"`
	At     time.Time `json:"at"`
	Value  []byte    `json:"value"`
}

var quarantined = &table[QuarantineEntry]{
	kind: kindQuarantine, name: "quarantine entry",
	key: func(q *QuarantineEntry) []byte { return append([]byte{kindQuarantine}, q.Key...) },
}

// Quarantine returns the quarantined records.
func (tx *Tx) Quarantine() ([]QuarantineEntry, error) {
	return records(tx, quarantined, scan{prefix: []byte{kindQuarantine}}, 0)
}

// quarantine reports whether err is damage of the record, and if so hands the record
// to the keeper. The caller then treats it as absent.
func (tx *Tx) quarantine(key, value []byte, err error) bool {
	var d *damage
	if !errors.As(err, &d) {
		return false
	}
	if k := tx.s.keeper; k != nil {
		k.report(QuarantineEntry{Key: key, Record: keyText(key), Reason: d.reason, Value: value})
	}
	return true
}

// keeperQueue bounds the damaged records waiting to be copied; more are found again
// by a later read.
const keeperQueue = 64

// keeperKnown bounds the memory of what was reported.
const keeperKnown = 4096

// keeper copies damaged records aside. Reads find them, possibly inside a View, so
// the copying is its own transaction in its own goroutine.
type keeper struct {
	s     *Store
	mu    sync.Mutex
	known map[string]bool
	queue chan QuarantineEntry
	ended chan struct{}
}

func newKeeper(s *Store) *keeper {
	k := &keeper{s: s, known: map[string]bool{}, queue: make(chan QuarantineEntry, keeperQueue), ended: make(chan struct{})}
	go k.run(k.queue)
	return k
}

func (k *keeper) report(q QuarantineEntry) {
	k.mu.Lock()
	defer k.mu.Unlock()
	id := string(q.Key)
	if q.Key[0] == kindQuarantine || k.known[id] || len(k.known) >= keeperKnown || k.queue == nil {
		return
	}
	select {
	case k.queue <- q:
		k.known[id] = true
	default:
	}
}

func (k *keeper) run(queue <-chan QuarantineEntry) {
	defer close(k.ended)
	for q := range queue {
		if err := k.keep(q); err != nil {
			k.mu.Lock()
			delete(k.known, string(q.Key)) // a full disk, say: the next read tries again
			k.mu.Unlock()
		}
	}
}

func (k *keeper) keep(q QuarantineEntry) error {
	return k.s.commit(context.Background(), func(tx *Tx) error {
		_, found, err := tx.snap.get(quarantined.key(&q))
		if err != nil || found {
			return err
		}
		q.At = k.s.Now()
		if err := put(tx, quarantined, &q); err != nil {
			return err
		}
		return tx.Emit(event.Event{Type: event.StoreQuarantined, At: q.At,
			Data: map[string]any{"record": q.Record, "reason": q.Reason}})
	}, true)
}

// stop ends the keeper after what is queued.
func (k *keeper) stop() {
	k.mu.Lock()
	queue := k.queue
	k.queue = nil
	k.mu.Unlock()
	if queue != nil {
		close(queue)
	}
	<-k.ended
}
