package store_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"vise/engine/event"
	"vise/store"
)

// TestAViewNeverKeepsTheStore: a long-lived reader lets owners come and go, and
// sees what each of them wrote.
func TestAViewNeverKeepsTheStore(t *testing.T) {
	dir := t.TempDir()
	view, err := store.OpenView(t.Context(), store.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer view.Close()
	got := make(chan event.Event)
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	done := make(chan error, 1)
	go func() {
		done <- view.Follow(ctx, 0, func(e event.Event) error {
			select {
			case got <- e:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		})
	}()
	for _, id := range []string{"first", "second"} {
		owner, err := store.Open(t.Context(), store.Options{Dir: dir})
		if err != nil {
			t.Fatalf("the %s owner: %v", id, err)
		}
		if err := owner.Update(t.Context(), func(tx *store.Tx) error {
			return tx.Emit(event.Event{Type: event.Recovery, SessionID: id})
		}); err != nil {
			t.Fatal(err)
		}
		if err := owner.Close(); err != nil {
			t.Fatal(err)
		}
		select {
		case e := <-got:
			if e.SessionID != id {
				t.Errorf("followed %q, want %q", e.SessionID, id)
			}
		case <-ctx.Done():
			t.Fatalf("the follower never saw the event of the %s owner", id)
		}
		var busy *store.BusyError
		if err := view.Update(t.Context(), func(*store.Tx) error { return nil }); !errors.As(err, &busy) && !errors.Is(err, store.ErrReadOnly) {
			t.Errorf("a view wrote: %v", err)
		}
	}
	stop()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("follow ended with %v", err)
	}
}
