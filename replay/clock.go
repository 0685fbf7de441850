package replay

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// Why a clock ended a replay; both are deadlines to whoever asks.
var (
	errReplayTime = fmt.Errorf("the replay took longer than validate.replay_timeout: %w", context.DeadlineExceeded)
	errEnvWait    = fmt.Errorf("the agent's environment was not up within validate.env_wait: %w", context.DeadlineExceeded)
)

// clock ends a replay in time. With a wait, the replay may take that long until
// its execution begins, or altogether when it never says that it did; limit counts
// from then. Without one, limit counts from the start.
type clock struct {
	limit  time.Duration
	cancel context.CancelCauseFunc

	mu      sync.Mutex
	began   bool
	waiting bool
	timer   *time.Timer
}

func startClock(ctx context.Context, wait, limit time.Duration) (context.Context, *clock) {
	ctx, cancel := context.WithCancelCause(ctx)
	c := &clock{limit: limit, cancel: cancel, waiting: wait > 0}
	if c.waiting {
		c.timer = time.AfterFunc(wait, func() { cancel(errEnvWait) })
	} else {
		c.timer = time.AfterFunc(limit, func() { cancel(errReplayTime) })
	}
	return ctx, c
}

// begin says that execution began.
func (c *clock) begin() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.began = true
	if c.waiting && c.timer.Stop() {
		c.timer = time.AfterFunc(c.limit, func() { c.cancel(errReplayTime) })
	}
	c.waiting = false
}

// stop ends the clock and reports whether execution began.
func (c *clock) stop() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.timer.Stop()
	c.cancel(context.Canceled)
	return c.began
}
