package patch

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"vise/engine/event"
	"vise/engine/patch/risk"
	"vise/engine/patch/run"
	"vise/engine/patch/tree"
	"vise/store"
)

// Apply writes a proven patch to the project. It is refused when the patch is not
// proven, when a person must look at it and none did (reviewed), and when the
// project is not the base any more: the proof speaks of the base only. A failure
// on the way takes everything back; after a crash the next Apply or Undo does.
func (b *Bench) Apply(ctx context.Context, id string, reviewed bool) (run.Run, error) {
	fail := func(r run.Run, format string, a ...any) (run.Run, error) {
		return r, fmt.Errorf("apply %s: "+format, append([]any{id}, a...)...)
	}
	r, base, err := b.settled(ctx, id)
	if err != nil {
		return fail(r, "%w", err)
	}
	switch {
	case r.Applied != nil && r.Applied.Undone.IsZero():
		return fail(r, "it is applied already; vise patch apply --undo %s takes it back", id)
	case r.Proof == nil || r.Proof.Verdict != run.Proven:
		return fail(r, "it is not proven; vise patch prove %s, or vise repair %s", id, id)
	case r.Patch == nil || len(r.Patch.Entries) == 0:
		return fail(r, "it changes nothing")
	case len(r.Causes) > 0 && !reviewed:
		return fail(r, "a person must look at it: %s; vise patch diff %s shows it, --reviewed says that you did", causesText(r.Causes), id)
	case !r.Patch.Complete || len(r.Unseen) > 0:
		return fail(r, "it is not complete")
	}
	now, err := tree.Look(ctx, b.o.Root, b.outside())
	if err != nil {
		return fail(r, "%w", err)
	}
	if moved := tree.Moved(base, now, 6); len(moved) > 0 {
		more := ""
		if len(moved) == 6 {
			moved, more = moved[:5], " and others"
		}
		return fail(r, "the project is not what the proof was made on: %s%s changed since; run the agent again on it", strings.Join(moved, ", "), more)
	}
	r.Applied = &run.Applied{}
	if err := b.put(ctx, r, event.Event{Type: event.PatchState, Data: map[string]any{"state": "applying", "files": len(r.Patch.Entries)}}); err != nil {
		return r, err
	}
	if err := tree.Apply(b.o.Root, r.Patch.Entries, tree.Objects(b.objects(r.ID))); err != nil {
		if _, back := b.takeBack(context.WithoutCancel(ctx), r, base); back != nil {
			return fail(r, "%w; taking it back failed, too: %w", err, back)
		}
		return fail(r, "%w; everything was taken back", err)
	}
	r.Applied.At = b.now()
	return r, b.put(context.WithoutCancel(ctx), r, event.Event{Type: event.PatchApplied, Data: map[string]any{"files": len(r.Patch.Entries), "reviewed": reviewed}})
}

// Undo takes an applied patch back. It is refused when a path that the patch
// touched was changed since.
func (b *Bench) Undo(ctx context.Context, id string) (run.Run, error) {
	r, base, err := b.settled(ctx, id)
	if err != nil {
		return r, fmt.Errorf("undo %s: %w", id, err)
	}
	if r.Applied == nil || !r.Applied.Undone.IsZero() {
		return r, fmt.Errorf("undo %s: it is not applied", id)
	}
	if p := tree.At(b.o.Root, r.Patch.Entries, true); p != "" {
		return r, fmt.Errorf("undo %s: %s was changed since; nothing was touched", id, p)
	}
	if err := tree.Apply(b.o.Root, tree.Reverse(base, r.Patch.Entries), base.Originals); err != nil {
		return r, fmt.Errorf("undo %s: %w", id, err)
	}
	r.Applied.Undone = b.now()
	return r, b.put(context.WithoutCancel(ctx), r, event.Event{Type: event.PatchUndone, Data: map[string]any{"files": len(r.Patch.Entries)}})
}

// settled returns a run and its base, after taking back what an application that
// was cut off had written.
func (b *Bench) settled(ctx context.Context, id string) (run.Run, *tree.Tree, error) {
	r, err := b.Run(id)
	if err != nil {
		return r, nil, err
	}
	base, err := tree.Open(b.bases(), r.BaseDigest)
	if err == nil && r.Applied != nil && r.Applied.At.IsZero() {
		r, err = b.takeBack(ctx, r, base)
	}
	return r, base, err
}

// takeBack restores the paths of a patch from the base. Paths that somebody else
// changed meanwhile hold neither state and are left alone, with an error.
func (b *Bench) takeBack(ctx context.Context, r run.Run, base *tree.Tree) (run.Run, error) {
	if err := tree.Clean(b.o.Root, r.Patch.Entries); err != nil {
		return r, err
	}
	var back []run.Entry
	for _, e := range r.Patch.Entries {
		one := []run.Entry{e}
		switch {
		case tree.At(b.o.Root, one, false) == "":
		case tree.At(b.o.Root, one, true) == "":
			back = append(back, e)
		default:
			return r, fmt.Errorf("%s is neither what it was nor what the patch makes of it; put it right by hand", e.Path)
		}
	}
	if err := tree.Apply(b.o.Root, tree.Reverse(base, back), base.Originals); err != nil {
		return r, err
	}
	r.Applied = nil
	return r, b.put(ctx, r, event.Event{Type: event.PatchUndone, Data: map[string]any{"files": len(back), "cut_off": true}})
}

// Remove deletes a run with its files, the loop that began with it, and the base
// when no other run needs it.
func (b *Bench) Remove(ctx context.Context, id string) error {
	r, err := b.Run(id)
	if err != nil {
		return err
	}
	b.mu.Lock()
	busy := b.loops[id] || r.RepairOf != "" && b.loops[r.RepairOf]
	b.mu.Unlock()
	if busy {
		return fmt.Errorf("remove %s: it is being repaired", id)
	}
	used := false
	err = b.o.Store.Update(ctx, func(tx *store.Tx) error {
		all, err := tx.PatchRuns(store.Window{})
		if err != nil {
			return err
		}
		for _, o := range all {
			used = used || o.ID != id && o.BaseDigest == r.BaseDigest
		}
		if err := tx.DeletePatchRun(id); err != nil {
			return err
		}
		if err := tx.DeletePatchLoop(id); err != nil {
			return err
		}
		return tx.Emit(event.Event{Type: event.PatchRemoved, RunID: id})
	})
	if err != nil {
		return fmt.Errorf("remove %s: %w", id, err)
	}
	removeTree(b.home(id))
	if err := os.RemoveAll(b.RepairDir(id)); err != nil {
		return fmt.Errorf("remove %s: %w", id, err)
	}
	if !used && r.BaseDigest != "" {
		if err := os.RemoveAll(filepath.Join(b.bases(), r.BaseDigest)); err != nil {
			return fmt.Errorf("remove %s: %w", id, err)
		}
	}
	return nil
}

func causesText(causes []risk.Cause) string {
	var out []string
	for _, c := range causes {
		out = append(out, c.Says())
	}
	return strings.Join(out, "; ")
}
