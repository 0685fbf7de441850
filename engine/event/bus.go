package event

import (
	"context"
	"sync"
)

// Bus hands committed events to subscribers. Publishing never blocks: each
// subscriber has a bounded buffer; when it is full the oldest ephemeral events
// give way first, then the oldest journal events, which the subscriber can read
// again from the store (Batch.Lost says that it must).
type Bus struct {
	mu   sync.Mutex
	subs map[*Subscription]struct{}
}

// NewBus returns a bus without subscribers.
func NewBus() *Bus { return &Bus{subs: map[*Subscription]struct{}{}} }

// Publish hands the events to every subscriber, in order.
func (b *Bus) Publish(events ...Event) {
	if len(events) == 0 {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for s := range b.subs {
		s.push(events)
	}
}

// Subscribe returns a subscription that holds at most size events between two
// reads. Close it when done.
func (b *Bus) Subscribe(size int) *Subscription {
	s := &Subscription{bus: b, max: max(size, 16), ready: make(chan struct{}, 1)}
	b.mu.Lock()
	b.subs[s] = struct{}{}
	b.mu.Unlock()
	return s
}

// Subscription is one reader of the bus.
type Subscription struct {
	bus   *Bus
	max   int
	mu    sync.Mutex
	queue []Event
	lost  int
	out   bool // what was taken last is still being handled
	ready chan struct{}
}

// Batch is what has come since the last read.
type Batch struct {
	Events []Event
	// Lost counts journal events dropped because the reader was slow; read them
	// from the store by sequence.
	Lost int
}

func (s *Subscription) push(events []Event) {
	s.mu.Lock()
	s.queue = append(s.queue, events...)
	if over := len(s.queue) - s.max; over > 0 {
		s.drop(over)
	}
	s.mu.Unlock()
	select {
	case s.ready <- struct{}{}:
	default:
	}
}

func (s *Subscription) drop(over int) {
	kept := s.queue[:0]
	for _, e := range s.queue {
		if over > 0 && e.Ephemeral() {
			over--
			continue
		}
		kept = append(kept, e)
	}
	s.queue = kept
	if over > 0 {
		s.lost += over
		s.queue = append(s.queue[:0], s.queue[over:]...)
	}
}

// Wait waits until there may be events, and takes none; the context's error when
// it ends first.
func (s *Subscription) Wait(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-s.ready:
		return nil
	}
}

// Next waits for events and returns all that are there; the context's error when it ends first.
func (s *Subscription) Next(ctx context.Context) (Batch, error) {
	for {
		if b, ok := s.TryNext(); ok {
			return b, nil
		}
		select {
		case <-ctx.Done():
			return Batch{}, context.Cause(ctx)
		case <-s.ready:
		}
	}
}

// TryNext returns what is there without waiting.
func (s *Subscription) TryNext() (Batch, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.queue) == 0 && s.lost == 0 {
		s.out = false
		return Batch{}, false
	}
	b := Batch{Events: s.queue, Lost: s.lost}
	s.queue, s.lost, s.out = nil, 0, true
	return b, true
}

// Behind reports whether there are events that the reader has not handled yet: it has
// handled what it took when it comes back and finds nothing.
func (s *Subscription) Behind() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.out || len(s.queue) > 0 || s.lost > 0
}

// Close ends the subscription; a waiting Next ends with its context only.
func (s *Subscription) Close() {
	s.bus.mu.Lock()
	delete(s.bus.subs, s)
	s.bus.mu.Unlock()
}
