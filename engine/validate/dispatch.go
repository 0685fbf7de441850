package validate

import (
	"context"
	"fmt"

	"vise/engine/evidence"
)

// Dispatcher runs replays on a pool of workers in this process, a bounded number at
// once. A job is a value that holds all that the run needs, and a run is a value: a
// worker never opens the store.
type Dispatcher struct {
	replayer Replayer
	slots    chan struct{}
}

// NewDispatcher makes a pool of parallel workers (at least one).
func NewDispatcher(r Replayer, parallel int) *Dispatcher {
	return &Dispatcher{replayer: r, slots: make(chan struct{}, max(1, parallel))}
}

// Parallel is how many jobs run at once.
func (d *Dispatcher) Parallel() int { return cap(d.slots) }

// Dispatch waits for a worker and runs the job. Its error means that the context
// ended; everything else that went wrong is in the Run.
func (d *Dispatcher) Dispatch(ctx context.Context, job evidence.Job) (evidence.Run, error) {
	select {
	case d.slots <- struct{}{}:
		defer func() { <-d.slots }()
	case <-ctx.Done():
		return evidence.Run{}, fmt.Errorf("run %s: no worker was free: %w", job.RunID, context.Cause(ctx))
	}
	return d.replayer.Replay(ctx, job)
}
