package engine

import (
	"context"
	"errors"
	"fmt"

	"vise/engine/trace"
	"vise/store"
)

// backlogSessions is how many of the newest live sessions are looked at for turns
// that were never scored.
const backlogSessions = 256

// ScoreBacklog scores the turns of live sessions that an earlier process had stored
// and not scored when it ended, and returns the sessions that had any, newest first.
// Their sessions will not be settled again, so that nobody else would. It looks at
// the newest 256 live sessions; turns that sampling or a budget left out count as scored.
func (h *Harness) ScoreBacklog(ctx context.Context) ([]string, error) {
	var behind []string
	if err := h.store.View(func(tx *store.Tx) error {
		heads, err := tx.Sessions(store.Window{Origin: trace.Live, Limit: backlogSessions})
		if err != nil {
			return err
		}
		for _, s := range heads {
			var state sessionState
			if _, err := tx.State(stateName(s.ID), &state); err != nil {
				return err
			}
			if state.Next < s.Counts.Turns {
				behind = append(behind, s.ID)
			}
		}
		return nil
	}); err != nil {
		return nil, fmt.Errorf("score backlog: %w", err)
	}
	for _, id := range behind {
		done, err := h.await(ctx, id)
		if down := (*Outage)(nil); errors.As(err, &down) {
			h.log.Warn("score backlog", "err", err)
			done, err = true, nil // the others may fare better, and so may the next start
		}
		if err == nil && !done {
			err = fmt.Errorf("session %s was not scored in time", id)
		}
		h.forget(id)
		if err != nil {
			return behind, fmt.Errorf("score backlog: %w", err)
		}
	}
	return behind, nil
}
