package patch

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"

	"vise/engine/event"
	"vise/engine/patch/run"
	"vise/store"
)

// finished returns the run of an id when its agent has ended.
func (s *shop) finished(id string) (run.Run, bool, error) {
	var r run.Run
	found := false
	err := s.o.Store.View(func(tx *store.Tx) (err error) {
		r, found, err = tx.PatchRun(id)
		return err
	})
	return r, found && r.Status != run.Running && r.Status != run.Cancelled, err
}

// Moved reports a policy file that changed since the run that is repaired: what
// the agent may do must not change under the loop.
func (s *shop) Moved(l *run.Loop) (string, error) {
	r, err := s.Run(l.RunID)
	if err != nil {
		return "", err
	}
	file := r.PolicyFile
	if file == "" {
		file = s.o.PolicyFile
	}
	_, digest, _, err := s.policy(file, r.PolicyFile != "")
	switch {
	case err != nil:
		return "the policy cannot be read any more: " + s.mask(err.Error(), 300), nil
	case digest != l.PolicyDigest:
		return "the policy was changed since the run; start the run again under the new one", nil
	}
	return "", nil
}

// Save stores the loop before the effect of its state begins.
func (s *shop) Save(ctx context.Context, l *run.Loop) error {
	e := event.Event{Type: event.PatchState, RunID: l.RunID, Data: map[string]any{"state": string(l.State), "attempt": l.Attempt, "of": l.MaxAttempts}}
	var before []event.Event
	switch l.State {
	case run.StateDone:
		e.Type = event.PatchFinished
		e.Data = map[string]any{"status": l.Status, "code": l.Reason.Code, "attempts": len(l.Attempts), "runs": len(l.Runs), "causes": len(l.Reason.Causes)}
		if l.Reason.Detail != "" {
			e.Data["detail"] = clip(l.Reason.Detail, 200)
		}
		if err := writeJSON(filepath.Join(s.RepairDir(l.RunID), "outcome.json"), OutcomeOf(*l)); err != nil {
			return err
		}
	case run.StateDrive:
		before = append(before, event.Event{Type: event.PatchPacket, RunID: l.RunID, Data: map[string]any{"attempt": l.Attempt + 1, "of_run": l.Current}})
	}
	if l.State == run.StateDone { // how it ended is stored whatever ended it
		ctx = context.WithoutCancel(ctx)
	}
	err := s.o.Store.Update(ctx, func(tx *store.Tx) error {
		if err := tx.PutPatchLoop(*l); err != nil {
			return err
		}
		for _, x := range append(before, e) {
			if err := tx.Emit(x); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("store the loop: %w", err)
	}
	return nil
}

// Hold asks the stepper.
func (s *shop) Hold(ctx context.Context, l *run.Loop) error {
	if s.q.Stepper == nil {
		return ctx.Err()
	}
	c := *l
	c.Attempts, c.Runs = slices.Clone(l.Attempts), slices.Clone(l.Runs)
	return s.q.Stepper.At(ctx, c)
}
