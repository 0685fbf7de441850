package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"vise/engine/event"
)

// TestWritersShareTheSyncAndKeepTheOrder: many writers beside each other get their
// acknowledgement after their events were published, in journal order, without a gap.
func TestWritersShareTheSyncAndKeepTheOrder(t *testing.T) {
	bus := event.NewBus()
	sub := bus.Subscribe(4096)
	defer sub.Close()
	s, err := Open(t.Context(), Options{Dir: t.TempDir(), MinFree: 1, Bus: bus})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	const writers, each = 8, 25
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := range each {
				write := s.Update
				if i%5 == 4 {
					write = s.Bulk
				}
				var seq uint64
				err := write(context.Background(), func(tx *Tx) error {
					err := tx.Emit(event.Event{Type: event.Health, SessionID: fmt.Sprint(w)})
					seq = tx.seq
					return err
				})
				if err != nil || s.tail.last() < seq {
					t.Errorf("event %d is acknowledged, and told up to %d: %v", seq, s.tail.last(), err)
				}
			}
		})
	}
	wg.Wait()
	if err := s.Sync(); err != nil {
		t.Error(err)
	}
	var next uint64 = 1
	for batch, ok := sub.TryNext(); ok; batch, ok = sub.TryNext() {
		for _, e := range batch.Events {
			if e.Seq != next {
				t.Fatalf("event %d was published, want %d", e.Seq, next)
			}
			next++
		}
	}
	if next != writers*each+1 {
		t.Errorf("%d events were published, want %d", next-1, writers*each)
	}
	sound(t, s)
}

// TestFullLogsAreSynced: a log that became full since the last sync is found, also
// when several did and the first are gone.
func TestFullLogsAreSynced(t *testing.T) {
	dir := t.TempDir()
	file := func(id int) string { return filepath.Join(dir, fmt.Sprintf("%05d.mem", id)) }
	write := func(ids ...int) {
		for _, id := range ids {
			if err := os.WriteFile(file(id), []byte("x"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	write(3)
	list, err := series(dir)
	if err != nil || list[0].current != 3 {
		t.Fatalf("%+v, %v", list, err)
	}
	l := &list[0]
	for _, step := range []struct {
		add, gone []int
		current   int
	}{
		{nil, nil, 3}, {[]int{4}, nil, 4}, {[]int{5, 6}, []int{3}, 6}, {[]int{9}, []int{4, 5, 6}, 9}, {nil, []int{9}, 9},
	} {
		write(step.add...)
		for _, id := range step.gone {
			if err := os.Remove(file(id)); err != nil {
				t.Fatal(err)
			}
		}
		if err := l.catchUp(); err != nil || l.current != step.current {
			t.Errorf("%+v: at %d, %v", step, l.current, err)
		}
	}
}

// TestLogsAreNumberedAsExpected: the names are Badger's, not part of its interface.
func TestLogsAreNumberedAsExpected(t *testing.T) {
	s := disk(t, t.TempDir())
	for _, l := range s.logs {
		if _, err := os.Stat(l.path(l.current)); err != nil {
			t.Errorf("the log in use: %v", err)
		}
	}
	before := s.logs[0].current
	// More than a memory log holds (8 MB).
	for i := range 300 {
		if err := s.Bulk(t.Context(), func(tx *Tx) error {
			for k := range 20 {
				if err := tx.PutState(fmt.Sprint(i, " ", k), noise(i*20+k, 2000)); err != nil {
					return err
				}
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Sync(); err != nil {
		t.Fatal(err)
	}
	if s.logs[0].current <= before {
		t.Errorf("the memory log is still number %d", before)
	}
}

// TestAFailedSyncIsNoFailedChange: the change is there and is told of; the error says that
// only its safety is missing.
func TestAFailedSyncIsNoFailedChange(t *testing.T) {
	s := disk(t, t.TempDir())
	logs := s.logs
	s.logs = []logSeries{{dir: filepath.Join(t.TempDir(), "gone"), ext: ".x"}}
	err := s.Update(t.Context(), func(tx *Tx) error { return tx.PutState("x", 1) })
	s.logs = logs
	if !errors.Is(err, ErrNotDurable) {
		t.Errorf("error: %v", err)
	}
	if err := s.View(func(tx *Tx) error {
		var n int
		if _, err := tx.State("x", &n); err != nil || n != 1 {
			t.Errorf("state %d, %v", n, err)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}

// Sync makes everything committed so far durable.
func (s *Store) Sync() error {
	if !s.Owner() || s.o.InMemory {
		return nil
	}
	if err := s.active.enter(); err != nil {
		return err
	}
	defer s.active.leave()
	// A commit of nothing: what was staged has no number of its own.
	if err := s.settle(s.flush.add(commit{}), true); err != nil {
		return fmt.Errorf("sync store: %w", err)
	}
	return nil
}
