package tui

import (
	"context"
	"time"

	tea "charm.land/bubbletea/v2"

	"vise/store"
	"vise/tui/action"
)

// writing are the actions that change what the project's store holds, or run something
// that does: a workbench that only reads refuses them.
var writing = map[action.ID]bool{
	action.Replay: true, action.Import: true, action.Score: true, action.Agent: true, action.Validate: true, action.ValidateOne: true,
	action.Step: true, action.Continue: true, action.Cancel: true, action.Breakpoint: true,
	action.Resume: true, action.Acknowledge: true, action.Protect: true, action.Retire: true, action.Restore: true, action.Edit: true, action.Retest: true,
	action.Rename: true, action.Pin: true, action.Remove: true, action.Fork: true, action.Accept: true, action.Discard: true,
	action.PatchRepair: true, action.PatchApply: true, action.PatchUndo: true,
}

// lookEvery is how often a workbench that only reads looks for what others have written:
// without an owner each look opens the store.
const lookEvery = 2 * time.Second

// lookAgain tells of a change whenever the store's newest event is another one, until the
// context ends. A look that fails is made again at the next time: a writer may be starting
// or closing.
func lookAgain(ctx context.Context, s *store.Store, every time.Duration, send func(tea.Msg)) {
	t := time.NewTicker(every)
	defer t.Stop()
	seen, known := uint64(0), false
	for {
		var last uint64
		err := s.View(func(tx *store.Tx) error {
			list, err := tx.LastEvents(1)
			if len(list) > 0 {
				last = list[0].Seq
			}
			return err
		})
		if err == nil {
			if known && last != seen {
				send(feedMsg{lost: true})
			}
			seen, known = last, true
		}
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
	}
}
