package cli

import (
	"context"
	"strconv"
	"strings"

	"vise/engine/event"
	"vise/engine/process"
	"vise/store"
)

func recordProcess(ctx context.Context, st *store.Store, runID string, rec process.Record, gone bool) error {
	return st.Update(ctx, func(tx *store.Tx) error {
		p := store.ProcessRecord{PID: rec.PID, PGID: rec.PGID, StartTime: rec.StartTime, Mark: rec.Mark, Command: rec.Command, Started: rec.Started, RunID: runID}
		if gone {
			return tx.DeleteProcess(p)
		}
		return tx.PutProcess(p)
	})
}

// reap ends what an earlier process of ours left running when it was killed.
func (a *app) reap(ctx context.Context, st *store.Store) {
	var left []store.ProcessRecord
	if err := st.View(func(tx *store.Tx) (err error) {
		left, err = tx.Processes()
		return err
	}); err != nil {
		a.log.Warn("read process records", "err", err)
		return
	}
	for _, p := range left {
		rec := process.Record{PID: p.PID, PGID: p.PGID, StartTime: p.StartTime, Mark: p.Mark, Command: p.Command, Started: p.Started}
		killed, err := process.Reap(rec)
		if err != nil {
			a.log.Warn("reap a leftover agent", "pid", p.PID, "err", err)
			continue
		}
		var names []string
		var list []map[string]any
		for _, k := range killed {
			names = append(names, strconv.Itoa(k.PID))
			command, _ := a.red.Text(k.Command)
			list = append(list, map[string]any{"pid": k.PID, "command": show(command, 200)})
		}
		if len(killed) > 0 {
			a.note("ended what an earlier run left behind: pid %s (%s)", strings.Join(names, " "), show(p.Command, 80))
		}
		if err := st.Update(ctx, func(tx *store.Tx) error {
			if len(list) > 0 {
				command, _ := a.red.Text(p.Command)
				if err := tx.Emit(event.Event{Type: event.ProcessesReaped, RunID: p.RunID, Data: map[string]any{"command": show(command, 200), "killed": list}}); err != nil {
					return err
				}
			}
			return tx.DeleteProcess(p)
		}); err != nil {
			a.log.Warn("forget a leftover agent", "pid", p.PID, "err", err)
		}
	}
}

// tellRecovery says what became of the store when its last owner was killed.
func (a *app) tellRecovery(st *store.Store) {
	r, crashed := st.Recovery()
	if !crashed {
		return
	}
	lost := "nothing else was being written"
	if r.Dropped > 0 {
		lost = counted(r.Dropped, "turn") + " that was being written is dropped"
	}
	a.note("process %d ended without closing the store: every acknowledged change is there (up to event %d), %s", r.PID, r.LastSeq, lost)
}
