package replay

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// The time limits of a replay, with and without a signal that execution began.
func TestClock(t *testing.T) {
	const never = -1
	for _, c := range []struct {
		name        string
		wait, limit time.Duration
		begin       time.Duration
		end         time.Duration // when the clock ends the replay
		why         error
	}{
		{"no wait: from the start", 0, 10 * time.Second, never, 10 * time.Second, errReplayTime},
		{"no wait: a signal changes nothing", 0, 10 * time.Second, 4 * time.Second, 10 * time.Second, errReplayTime},
		{"never signalled", time.Minute, 10 * time.Second, never, time.Minute, errEnvWait},
		{"from the signal on", time.Minute, 10 * time.Second, 40 * time.Second, 50 * time.Second, errReplayTime},
		{"a signal at once", time.Minute, 10 * time.Second, 0, 10 * time.Second, errReplayTime},
		{"too late", time.Minute, 10 * time.Second, 61 * time.Second, time.Minute, errEnvWait},
		{"a limit longer than the wait", time.Second, time.Hour, 500 * time.Millisecond, time.Hour + 500*time.Millisecond, errReplayTime},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				begun := time.Now()
				ctx, clock := startClock(t.Context(), c.wait, c.limit)
				if c.begin >= 0 {
					time.AfterFunc(c.begin, clock.begin)
				}
				<-ctx.Done()
				if took := time.Since(begun); took != c.end || context.Cause(ctx) != c.why {
					t.Errorf("ended after %v with %v, want %v with %v", took, context.Cause(ctx), c.end, c.why)
				}
				if infrastructure(ctx, context.Cause(ctx)) != "timeout" {
					t.Errorf("told as %q", infrastructure(ctx, context.Cause(ctx)))
				}
				time.Sleep(2 * time.Minute) // a late signal must not revive it
				clock.begin()
				clock.stop()
			})
		})
	}
}

// A replay that ends before any limit is not touched, signalled or not.
func TestClockStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, clock := startClock(t.Context(), time.Minute, time.Second)
		time.Sleep(59 * time.Second)
		if ctx.Err() != nil {
			t.Fatal(context.Cause(ctx))
		}
		if clock.stop() {
			t.Error("it never began")
		}
		time.Sleep(time.Hour)
		if !errors.Is(context.Cause(ctx), context.Canceled) {
			t.Errorf("cause %v", context.Cause(ctx))
		}
	})
}
