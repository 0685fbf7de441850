package patch

import (
	"context"
	"fmt"
	"path/filepath"

	"vise/engine/event"
	"vise/engine/patch/run"
	"vise/store"
)

// Sweep clears up behind a process that was killed: workspaces are removed, and
// runs and proofs that still say that they go on are told to have been cut off. The coming run of an
// unfinished loop is left to the loop. It is for the owner of the store, before
// anything is started.
func (b *Bench) Sweep(ctx context.Context) error {
	var cut []run.Run
	var unproven []string
	err := b.o.Store.View(func(tx *store.Tx) error {
		loops, err := tx.PatchLoops()
		if err != nil {
			return err
		}
		next := map[string]bool{}
		for _, l := range loops {
			if l.Status == "" {
				next[l.Next] = true
			}
		}
		list, err := tx.PatchRuns(store.Window{})
		for _, r := range list {
			if r.Status == run.Running && !next[r.ID] {
				cut = append(cut, r)
			}
			if r.Proving {
				unproven = append(unproven, r.ID)
			}
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("clear up patch runs: %w", err)
	}
	for _, r := range cut {
		r.Status, r.Error, r.Ended = run.Error, "the process that ran it ended before it did", b.now()
		if err := b.put(ctx, r, event.Event{Type: event.PatchDriven, Data: map[string]any{"status": string(r.Status), "files": 0, "outcome": "none", "exit": "cut off"}}); err != nil {
			return err
		}
	}
	for _, id := range unproven {
		if err := b.proofCut(ctx, id); err != nil {
			return fmt.Errorf("clear up patch runs: %w", err)
		}
	}
	for _, kind := range []string{"work", "proof"} {
		left, err := filepath.Glob(filepath.Join(b.o.Dir, "patch", "runs", "*", kind))
		if err != nil {
			return fmt.Errorf("clear up patch runs: %w", err)
		}
		for _, dir := range left {
			removeTree(dir)
		}
	}
	return nil
}
