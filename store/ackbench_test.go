package store

import (
	"context"
	"encoding/json"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	badger "github.com/dgraph-io/badger/v4"

	"vise/engine/event"
	"vise/engine/notice"
)

// The acknowledged write of the two benchmarks below: a record of about 1 KB and the
// event that tells of it, durable when the call returns.
func acknowledged(i int) (notice.Notice, event.Event) {
	n := notice.Notice{ID: fmt.Sprintf("n-%09d", i), SessionID: fmt.Sprint("s", i%100), CreatedAt: fmt.Sprintf("2026-03-01T%09d", i),
		Severity: notice.Breach, Status: notice.Acknowledged, Summary: noise(i, 700), Signatures: []string{"breach:coherence"}}
	return n, event.Event{Type: event.Notice, SessionID: n.SessionID, NoticeID: n.ID, Data: map[string]any{"severity": "breach"}}
}

// BenchmarkAcknowledgedStore and BenchmarkAcknowledgedBadger are a pair: the same
// record and event, in one transaction, synced before the acknowledgement. Badger
// alone writes two keys; the store adds indexes, guards, order and the bus.
func BenchmarkAcknowledgedStore(b *testing.B) {
	bus := event.NewBus()
	s, err := Open(b.Context(), Options{Dir: b.TempDir(), MinFree: 1, Bus: bus})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	inParallel(b, func(i int) error {
		n, e := acknowledged(i)
		return s.Update(context.Background(), func(tx *Tx) error {
			if err := tx.PutNotice(n); err != nil {
				return err
			}
			return tx.Emit(e)
		})
	})
}

func BenchmarkAcknowledgedBadger(b *testing.B) {
	db, err := badger.Open(badgerOptions(Options{Dir: b.TempDir()}))
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	inParallel(b, func(i int) error {
		n, e := acknowledged(i)
		e.Seq, e.At = uint64(i), time.Now()
		err := db.Update(func(txn *badger.Txn) error {
			record, err := json.Marshal(n)
			if err != nil {
				return err
			}
			if err := txn.Set([]byte("n"+n.ID), record); err != nil {
				return err
			}
			entry, err := json.Marshal(e)
			if err != nil {
				return err
			}
			return txn.Set(eventKey(e.Seq), entry)
		})
		if err != nil {
			return err
		}
		return db.Sync()
	})
}

// inParallel runs a write in 1 and in 16 goroutines.
func inParallel(b *testing.B, write func(i int) error) {
	var n atomic.Int64
	for _, writers := range []int{1, 16} {
		b.Run(fmt.Sprint(writers), func(b *testing.B) {
			b.ReportAllocs()
			b.SetParallelism((writers + 1) / 2) // of two processors
			if writers == 1 {
				for b.Loop() {
					if err := write(int(n.Add(1))); err != nil {
						b.Fatal(err)
					}
				}
				return
			}
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					if err := write(int(n.Add(1))); err != nil {
						b.Error(err)
						return
					}
				}
			})
		})
	}
}
