package patch

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"vise/engine/patch/run"
	"vise/engine/patch/tree"
)

// onBase runs a plan on the bare base, every command of it, to be compared with.
func (b *Bench) onBase(ctx context.Context, r run.Run, base *tree.Tree, pl run.Plan, how proving) ([]run.Phase, error) {
	dir := filepath.Join(b.home(r.ID), "proof", "base")
	defer removeTree(dir)
	ws := filepath.Join(dir, "project")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("prove %s: %w", r.ID, err)
	}
	if err := base.Materialise(ctx, ws); err != nil {
		return nil, fmt.Errorf("prove %s: run the tests of the base: %w", r.ID, err)
	}
	var p run.Proof
	if err := b.phases(ctx, &p, r, pl, ws, filepath.Join(dir, "tmp"), how, true); err != nil {
		return nil, err
	}
	return p.Phases, nil
}

// baseLacks reports that the bare base fails first in the same phase and for the same
// path that is left out: the patch has no part in it.
func (b *Bench) baseLacks(ctx context.Context, r run.Run, base *tree.Tree, pl run.Plan, how proving, phase, left string) (bool, error) {
	phases, err := b.onBase(ctx, r, base, pl, how)
	if err != nil {
		return false, err
	}
	for _, f := range phases {
		if !f.Passed {
			return f.Phase == phase && missed(b.o.Root, []string{left}, f.Output) != "", nil
		}
	}
	return false, nil
}
