package patch

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"vise/engine/event"
	"vise/engine/patch/policy"
	"vise/engine/patch/risk"
	"vise/engine/patch/run"
	"vise/engine/patch/tree"
)

// Apply writes a proven patch to the project. It is refused when its commands did not
// pass, when the policy denies it, when a person must look at it and none did
// (reviewed; that is the answer to a policy that says review), and when the
// project is not the base any more: the proof speaks of the base only. A path that
// changes in the moment it is written is left alone. A failure on the way takes
// everything back; after a crash the next Apply or Undo does. One patch is written
// at a time.
func (b *Bench) Apply(ctx context.Context, id string, reviewed bool) (run.Run, error) {
	fail := func(r run.Run, format string, a ...any) (run.Run, error) {
		return r, fmt.Errorf("apply %s: "+format, append([]any{id}, a...)...)
	}
	free, err := b.alone(ctx)
	if err != nil {
		return fail(run.Run{}, "%w", err)
	}
	defer free()
	r, base, err := b.settled(ctx, id)
	if err != nil {
		return fail(r, "%w", err)
	}
	switch {
	case r.Applied != nil && r.Applied.Undone.IsZero():
		return fail(r, "it is applied already; vise patch apply --undo %s takes it back", id)
	case r.Outcome == policy.Deny:
		return fail(r, "the policy denies it: %s; change the policy and run the agent again", causesText(r.Causes))
	case r.Proof == nil || !r.Proof.Passes():
		return fail(r, "it is not proven; vise patch prove %s, or vise repair %s", id, id)
	case r.Patch == nil || len(r.Patch.Entries) == 0:
		return fail(r, "it changes nothing")
	case (len(r.Causes) > 0 || r.Proof.Verdict != run.Proven) && !reviewed:
		return fail(r, "a person must look at it: %s; vise patch diff %s shows it, --reviewed says that you did", causesText(r.Causes), id)
	case !r.Patch.Complete || len(r.Unseen) > 0:
		return fail(r, "it is not complete")
	}
	moved, err := b.moved(ctx, base, "")
	if err != nil {
		return fail(r, "%w", err)
	}
	if moved != "" {
		return fail(r, "the project is not what the proof was made on: %s changed since; run the agent again on it", moved)
	}
	r.Applied = &run.Applied{}
	if err := b.put(ctx, r, event.Event{Type: event.PatchState, Data: map[string]any{"state": "applying", "files": len(r.Patch.Entries)}}); err != nil {
		return r, err
	}
	if err := tree.Write(b.o.Root, r.Patch.Entries, tree.Objects(b.objects(r.ID))); err != nil {
		if _, back := b.takeBack(context.WithoutCancel(ctx), r, base); back != nil {
			return fail(r, "%w; taking it back failed, too: %w", err, back)
		}
		return fail(r, "%w; everything was taken back", err)
	}
	r.Applied.At = b.now()
	return r, b.put(context.WithoutCancel(ctx), r, event.Event{Type: event.PatchApplied, Data: map[string]any{"files": len(r.Patch.Entries), "reviewed": reviewed}})
}

// moved names the first paths of the project that are not what a snapshot has, but
// for one that may differ ("" = none may); "" when all are.
func (b *Bench) moved(ctx context.Context, base *tree.Tree, but string) (string, error) {
	now, err := tree.Look(ctx, b.o.Root, b.outside())
	if err != nil {
		return "", err
	}
	const most = 5
	list := tree.Moved(base, now, most+2)
	if i := slices.Index(list, but); i >= 0 {
		list = slices.Delete(list, i, i+1)
	}
	if len(list) > most {
		return strings.Join(list[:most], ", ") + " and others", nil
	}
	return strings.Join(list, ", "), nil
}

// Undo takes an applied patch back. It is refused when a path that the patch
// touched was changed since. A failure on the way writes the patch again; after a
// crash, and when that fails, too, the next Apply or Undo goes on.
func (b *Bench) Undo(ctx context.Context, id string) (run.Run, error) {
	fail := func(r run.Run, err error) (run.Run, error) { return r, fmt.Errorf("undo %s: %w", id, err) }
	free, err := b.alone(ctx)
	if err != nil {
		return fail(run.Run{}, err)
	}
	defer free()
	r, err := b.Run(id)
	if err != nil {
		return fail(r, err)
	}
	cut := r.Applied != nil && r.Applied.Undoing
	r, base, err := b.settled(ctx, id)
	switch {
	case err != nil:
		return fail(r, err)
	case cut: // settled has ended what was cut off
		return r, nil
	case r.Applied == nil || !r.Applied.Undone.IsZero():
		return fail(r, errors.New("it is not applied"))
	}
	if p := tree.At(b.o.Root, r.Patch.Entries, true); p != "" {
		return fail(r, fmt.Errorf("%s was changed since; nothing was touched", p))
	}
	r.Applied.Undoing = true
	if err := b.put(ctx, r, event.Event{Type: event.PatchState, Data: map[string]any{"state": "undoing", "files": len(r.Patch.Entries)}}); err != nil {
		return r, err
	}
	ctx = context.WithoutCancel(ctx)
	undone, err := b.takeBack(ctx, r, base)
	if err == nil {
		return undone, nil
	}
	if again := b.bringBack(r); again != nil {
		return fail(r, fmt.Errorf("%w; writing it again failed, too: %w; undo goes on where it was", err, again))
	}
	r.Applied.Undoing = false
	return fail(r, errors.Join(fmt.Errorf("%w; the patch is applied as before", err), b.put(ctx, r, event.Event{Type: event.PatchState, Data: map[string]any{"state": "applied"}})))
}

// settled returns a run and its base, after taking back what an application or an
// undo that was cut off had left.
func (b *Bench) settled(ctx context.Context, id string) (run.Run, *tree.Tree, error) {
	r, err := b.Run(id)
	if err != nil {
		return r, nil, err
	}
	base, err := tree.Open(b.bases(), r.BaseDigest)
	if err == nil && r.Applied != nil && (r.Applied.At.IsZero() || r.Applied.Undoing) {
		r, err = b.takeBack(ctx, r, base)
	}
	return r, base, err
}

// takeBack restores the paths of a patch from the base, whatever part of them was
// written or restored before. Paths that somebody else changed meanwhile hold
// neither state and are left alone, with an error.
func (b *Bench) takeBack(ctx context.Context, r run.Run, base *tree.Tree) (run.Run, error) {
	back, err := b.not(r, false)
	if err != nil {
		return r, err
	}
	if err := tree.Write(b.o.Root, tree.Reverse(base, back), base.Originals); err != nil {
		return r, err
	}
	data := map[string]any{"files": len(back)}
	if r.Applied.At.IsZero() {
		r.Applied, data["cut_off"] = nil, true
	} else {
		r.Applied = &run.Applied{At: r.Applied.At, Undone: b.now()}
	}
	return r, b.put(ctx, r, event.Event{Type: event.PatchUndone, Data: data})
}

// bringBack writes those paths of a patch that are what the base has.
func (b *Bench) bringBack(r run.Run) error {
	rest, err := b.not(r, true)
	if err != nil {
		return err
	}
	return tree.Write(b.o.Root, rest, tree.Objects(b.objects(r.ID)))
}

// not returns the entries of a patch whose paths do not hold their result (or their
// base) in the project, after clearing up what a cut-off write had staged. A path
// that holds neither is an error.
func (b *Bench) not(r run.Run, result bool) ([]run.Entry, error) {
	if err := tree.Clean(b.o.Root, r.Patch.Entries); err != nil {
		return nil, err
	}
	var out []run.Entry
	for _, e := range r.Patch.Entries {
		one := []run.Entry{e}
		switch {
		case tree.At(b.o.Root, one, result) == "":
		case tree.At(b.o.Root, one, !result) == "":
			out = append(out, e)
		default:
			return nil, fmt.Errorf("%s is neither what it was nor what the patch makes of it; put it right by hand", e.Path)
		}
	}
	return out, nil
}

func causesText(causes []risk.Cause) string {
	var out []string
	for _, c := range causes {
		out = append(out, c.Says())
	}
	return strings.Join(out, "; ")
}
