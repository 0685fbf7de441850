package event_test

import (
	"context"
	"errors"
	"testing"

	"vise/engine/event"
)

// A slow reader loses ephemeral events first, then the oldest of the journal, and is told
// how many of those: it can read them from the store.
func TestFullSubscription(t *testing.T) {
	bus := event.NewBus()
	sub := bus.Subscribe(16)
	defer sub.Close()
	for i := range uint64(12) {
		bus.Publish(event.Event{Type: event.SpanProgress}, event.Event{Seq: i + 1, Type: event.Notice})
	}
	b, ok := sub.TryNext()
	if journal := count(b); !ok || journal != 12 || b.Lost != 0 || len(b.Events) != 16 {
		t.Errorf("%d events, %d of the journal, %d lost; want 16, 12 and 0", len(b.Events), journal, b.Lost)
	}
	for i := range uint64(20) {
		bus.Publish(event.Event{Seq: i + 1, Type: event.Notice})
	}
	if b, _ = sub.TryNext(); b.Lost != 4 || len(b.Events) != 16 || b.Events[0].Seq != 5 {
		t.Errorf("%d events from %d, %d lost; want 16 from 5, 4 lost", len(b.Events), b.Events[0].Seq, b.Lost)
	}
}

func count(b event.Batch) (n int) {
	for _, e := range b.Events {
		if !e.Ephemeral() {
			n++
		}
	}
	return n
}

// A reader is behind until it has come back for more and found nothing.
func TestBehind(t *testing.T) {
	bus := event.NewBus()
	sub := bus.Subscribe(16)
	is := func(when string, want bool) {
		t.Helper()
		if got := sub.Behind(); got != want {
			t.Errorf("%s: behind is %v", when, got)
		}
	}
	is("at first", false)
	bus.Publish(event.Event{Type: event.Notice})
	is("with an event that waits", true)
	if _, err := sub.Next(t.Context()); err != nil {
		t.Fatal(err)
	}
	is("while it is handled", true)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := sub.Next(ended); !errors.Is(err, context.Canceled) {
		t.Fatalf("Next of what has ended: %v", err)
	}
	is("when the reader has come back", false)
}
