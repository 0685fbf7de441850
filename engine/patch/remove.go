package patch

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"vise/engine/event"
	"vise/engine/patch/run"
	"vise/store"
)

// Remove deletes a run with its files, the loop that began with it, the repairs of
// that loop, and bases that no other run needs. It is refused while one of them is
// at work, and, without force, when one is applied to the project: it could not be
// taken back any more.
func (b *Bench) Remove(ctx context.Context, id string, force bool) error {
	fail := func(err error) error { return fmt.Errorf("remove %s: %w", id, err) }
	free, err := b.alone(ctx) // no run takes a base meanwhile
	if err != nil {
		return fail(err)
	}
	defer free()
	r, err := b.Run(id)
	if err != nil {
		return err
	}
	gone, bases := []run.Run{r}, map[string]bool{r.BaseDigest: true}
	err = b.o.Store.Update(ctx, func(tx *store.Tx) error {
		gone, bases = []run.Run{r}, map[string]bool{r.BaseDigest: true}
		all, err := tx.PatchRuns(store.Window{})
		if err != nil {
			return err
		}
		for _, o := range all {
			if o.RepairOf == id && o.ID != id {
				gone = append(gone, o)
				bases[o.BaseDigest] = true
			}
		}
		for _, o := range gone {
			if err := b.removable(o, force); err != nil {
				return err
			}
		}
		for _, o := range all {
			if !slices.ContainsFunc(gone, func(g run.Run) bool { return g.ID == o.ID }) {
				delete(bases, o.BaseDigest)
			}
		}
		for _, o := range gone {
			if err := errors.Join(tx.DeletePatchRun(o.ID), tx.DeletePatchLoop(o.ID), tx.Emit(event.Event{Type: event.PatchRemoved, RunID: o.ID})); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fail(err)
	}
	for _, o := range gone {
		if err := errors.Join(removeTree(b.home(o.ID)), os.RemoveAll(b.RepairDir(o.ID))); err != nil {
			return fail(err)
		}
	}
	for digest := range bases {
		if digest == "" || b.needs(digest) {
			continue
		}
		if err := os.RemoveAll(filepath.Join(b.bases(), digest)); err != nil {
			return fail(err)
		}
	}
	return nil
}

// removable says why a run must stay.
func (b *Bench) removable(r run.Run, force bool) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.loops[r.ID] || r.RepairOf != "" && b.loops[r.RepairOf]:
		return errors.New("it is being repaired")
	case b.active[r.ID]:
		return errors.New("it is at work")
	case r.Applied == nil || !r.Applied.Undone.IsZero():
		return nil
	case r.Applied.At.IsZero() || r.Applied.Undoing:
		return fmt.Errorf("writing it to the project, or taking it back, was cut off; vise patch apply --undo %s puts that right", r.ID)
	case !force:
		return fmt.Errorf("%s is applied; vise patch apply --undo %s takes it back, --force removes it and leaves the project as it is", r.ID, r.ID)
	}
	return nil
}
