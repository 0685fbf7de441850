package engine

import (
	"context"
	"errors"
	"fmt"

	"vise/engine/trace"
	"vise/store"
)

// ReplayRecorded scores the recorded turns of a session themselves, without an
// agent, settling after each as a live run would. Recorded sessions feed
// notices, cases and baselines, but no trial (no rule was there to be read) and
// never the breaker. Turns scored before are not scored again.
func (h *Harness) ReplayRecorded(ctx context.Context, s trace.Session) error {
	fail := func(err error) error { return fmt.Errorf("replay recorded session %s: %w", s.ID, err) }
	var turns []store.TurnHead
	var state sessionState
	if err := h.store.Update(ctx, func(tx *store.Tx) error {
		head, ok, err := tx.Session(s.ID)
		if err != nil {
			return err
		}
		if !ok {
			return fmt.Errorf("no such session; vise sessions ls lists them")
		}
		if turns, err = tx.TurnHeads(s.ID, 0, 0); err != nil {
			return err
		}
		if _, err := tx.State(stateName(s.ID), &state); err != nil {
			return err
		}
		// What the command line says about the task stays with the session.
		head.TaskSummary, head.ScopeHints = s.TaskSummary, s.ScopeHints
		return tx.PutSession(h.withHints(head))
	}); err != nil {
		return fail(err)
	}
	defer h.forget(s.ID)
	for _, t := range turns {
		if t.Index < state.Next {
			continue
		}
		h.limit(s.ID, t.Index+1)
		settled, err := h.Settle(ctx, s.ID)
		if err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return fail(context.Cause(ctx))
		}
		if settled.Outage != "" {
			return fail(errors.New(settled.Outage))
		}
		if !settled.Evaluated {
			return fail(fmt.Errorf("turn %d was not scored within settle.barrier_timeout (%s)", t.Index, h.cfg.Settle.BarrierTimeout))
		}
	}
	if err := h.store.Update(ctx, func(tx *store.Tx) error { return h.offer(tx, s) }); err != nil {
		return fail(err)
	}
	return nil
}

// limit lets the lane of a session go no further than before this turn.
func (h *Harness) limit(session string, until int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.lane(session).until = until
}
