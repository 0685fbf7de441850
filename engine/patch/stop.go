package patch

import (
	"context"
	"fmt"
	"maps"
	"slices"
)

// ErrCancelled is the cause of what a person cancelled: a run of an agent, a proof, or
// a loop, which then ends CANCELLED.
var ErrCancelled = errCancelled

// stoppable lets Cancel end what works on a run with the context it returns, until free.
func (b *Bench) stoppable(ctx context.Context, id string) (limited context.Context, free func()) {
	limited, stop := context.WithCancelCause(ctx)
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.stops[id] == nil {
		b.stops[id] = map[*context.CancelCauseFunc]bool{}
	}
	b.stops[id][&stop] = true
	return limited, func() {
		stop(nil)
		b.mu.Lock()
		defer b.mu.Unlock()
		if delete(b.stops[id], &stop); len(b.stops[id]) == 0 {
			delete(b.stops, id)
		}
	}
}

// Cancel ends what works on a run here: its agent, its proof, or the loop that began
// with it. It does not wait for the end. An error tells that nothing does.
func (b *Bench) Cancel(id string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.stops[id]) == 0 {
		return fmt.Errorf("cancel %s: nothing is at work on it", id)
	}
	for stop := range b.stops[id] {
		(*stop)(errCancelled)
	}
	return nil
}

// AtWork are the runs that something works on here (see Cancel), sorted.
func (b *Bench) AtWork() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Sorted(maps.Keys(b.stops))
}
