package engine

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
)

// TestTurnstile: live runs beside each other, a round alone and before those that come
// after it, and nobody who was called off keeps waiting.
func TestTurnstile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s turnstile
		ctx := t.Context()
		in := func(ctx context.Context, alone bool) func() {
			t.Helper()
			leave, err := s.enter(ctx, alone)
			if err != nil {
				t.Fatal(err)
			}
			return leave
		}
		first, second := in(ctx, false), in(ctx, false)

		gone, stop := context.WithCancelCause(ctx)
		off := errors.New("called off")
		refused := make(chan error, 1)
		go func() {
			_, err := s.enter(gone, true)
			refused <- err
		}()
		var order []string
		go func() {
			leave := in(ctx, true)
			order = append(order, "round")
			leave()
		}()
		synctest.Wait()
		go func() {
			leave := in(ctx, false)
			order = append(order, "live")
			leave()
		}()
		synctest.Wait()
		stop(off)
		if err := <-refused; !errors.Is(err, off) {
			t.Errorf("called off: %v", err)
		}
		first()
		synctest.Wait()
		if len(order) != 0 {
			t.Errorf("%q ran beside a live run", order)
		}
		second()
		synctest.Wait()
		if len(order) != 2 || order[0] != "round" {
			t.Errorf("order %q, want the round first", order)
		}
		if s.live != 0 || s.alone || s.waiting != 0 || s.changed != nil {
			t.Errorf("left behind: %+v", &s)
		}
	})
}
