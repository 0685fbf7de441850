package engine

import (
	"context"
	"sync"
)

// turnstile lets many live runs of the agent in at once, or one round of evidence alone: a
// round never runs beside a live turn. Whoever waits hears its context, so that what is
// called off does not wait for the end of a run of minutes. A round that waits goes before
// live runs that come after it.
type turnstile struct {
	mu      sync.Mutex
	live    int
	alone   bool
	waiting int           // rounds that wait
	changed chan struct{} // closed at the next change; nil = nobody waits
}

// enter waits until a live run, or a round alone, may begin. Its error is the cause of the
// context's end.
func (t *turnstile) enter(ctx context.Context, alone bool) (leave func(), err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if alone {
		t.waiting++
		defer func() { t.waiting--; t.tell() }()
	}
	for {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		switch {
		case alone && !t.alone && t.live == 0:
			t.alone = true
			return func() { t.leave(func() { t.alone = false }) }, nil
		case !alone && !t.alone && t.waiting == 0:
			t.live++
			return func() { t.leave(func() { t.live-- }) }, nil
		}
		if t.changed == nil {
			t.changed = make(chan struct{})
		}
		changed := t.changed
		t.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
		}
		t.mu.Lock()
	}
}

func (t *turnstile) leave(change func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	change()
	t.tell()
}

// tell wakes those who wait; t.mu is held.
func (t *turnstile) tell() {
	if t.changed != nil {
		close(t.changed)
		t.changed = nil
	}
}
