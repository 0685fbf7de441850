package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"vise/engine/guard"
	"vise/store"
)

// MaxSessionName bounds the name that a person gives a session, in code points.
const MaxSessionName = 60

// RemoveSession removes a session from every list. Its turns and scores stay until
// EmptyTrash or store.retention take them, and until then RestoreSession brings it back.
// Cases and rules made from it stay: they are evidence of their own.
func (h *Harness) RemoveSession(ctx context.Context, id string) error {
	if err := h.store.Update(ctx, func(tx *store.Tx) error { return tx.TrashSession(id) }); err != nil {
		return sessionTrouble("remove", id, err)
	}
	h.forget(id)
	return nil
}

// RestoreSession takes back RemoveSession.
func (h *Harness) RestoreSession(ctx context.Context, id string) error {
	err := h.store.Update(ctx, func(tx *store.Tx) error { return tx.RestoreSession(id) })
	if errors.Is(err, store.ErrNoSession) {
		return fmt.Errorf("restore session: %q was not removed, or its turns have gone since; vise sessions ls --removed lists what can come back", id)
	}
	return sessionTrouble("restore", id, err)
}

// RenameSession gives a session the name that a person calls it, "" takes it away; it
// returns the name before. The id stays what it is.
func (h *Harness) RenameSession(ctx context.Context, id, name string) (was string, err error) {
	if name = strings.Join(strings.Fields(guard.Visible(name)), " "); len([]rune(name)) > MaxSessionName {
		return "", fmt.Errorf("rename session %s: the name has %d characters, at most %d", id, len([]rune(name)), MaxSessionName)
	}
	err = h.store.Update(ctx, func(tx *store.Tx) (err error) {
		was, err = tx.NameSession(id, name)
		return err
	})
	return was, sessionTrouble("rename", id, err)
}

// PinSession keeps a session at the top of lists, or no more; it returns what was.
func (h *Harness) PinSession(ctx context.Context, id string, on bool) (was bool, err error) {
	err = h.store.Update(ctx, func(tx *store.Tx) (err error) {
		was, err = tx.PinSession(id, on)
		return err
	})
	return was, sessionTrouble("pin", id, err)
}

func sessionTrouble(op, id string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, store.ErrNoSession):
		return fmt.Errorf("%s session: no session %q; vise sessions ls lists them", op, id)
	}
	return fmt.Errorf("%s session %s: %w", op, id, err)
}

// byAge is the reason of removals by store.retention: they take the transcripts of
// repairs along.
const byAge = "retention"

// EmptyTrash removes for good what RemoveSession removed; it returns how many went.
func (h *Harness) EmptyTrash(ctx context.Context) (int, error) {
	return h.purge(ctx, "gc", func(store.Removed) bool { return true })
}

// purge removes for good those removed sessions that old picks.
func (h *Harness) purge(ctx context.Context, reason string, old func(store.Removed) bool) (n int, err error) {
	var list []store.Removed
	if err := h.store.View(func(tx *store.Tx) (err error) {
		list, err = tx.RemovedSessions()
		return err
	}); err != nil {
		return 0, fmt.Errorf("remove sessions for good: %w", err)
	}
	for _, r := range list {
		if !old(r) {
			continue
		}
		if reason == byAge {
			if _, err := h.forgetRepairs(ctx, r.ID); err != nil {
				return n, fmt.Errorf("remove session %s for good: %w", r.ID, err)
			}
		}
		if err := h.removeSession(ctx, r.ID, reason); err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

func (h *Harness) removeSession(ctx context.Context, id, reason string) error {
	if err := h.store.DeleteSession(ctx, id, reason); err != nil {
		return fmt.Errorf("remove session %s: %w", id, err)
	}
	if err := h.store.Update(ctx, func(tx *store.Tx) error {
		return errors.Join(tx.DeleteState(stateName(id)), tx.DeleteState(seenName(id)))
	}); err != nil {
		return fmt.Errorf("remove session %s: %w", id, err)
	}
	h.forget(id)
	return nil
}
