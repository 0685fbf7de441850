package engine

import (
	"context"
	"fmt"

	"vise/engine/episode"
	"vise/engine/event"
	"vise/store"
)

// recent bounds how many of the newest episodes are looked at when a harness opens:
// one process runs few repairs at a time, so those that it left are among them.
const recent = 256

// closeInterrupted ends the repairs that a killed process left running: nobody runs
// them any more. Their notices stay pending, so that they can be repaired again, at
// once, since most processes are killed by something else than their work. But an
// episode whose runs end with the process again and again may be what kills it: such
// an end counts as a failure, and repair.max_attempts of them make a dead letter.
func (h *Harness) closeInterrupted(ctx context.Context) error {
	var open []episode.Episode
	if err := h.store.View(func(tx *store.Tx) error {
		list, err := tx.Episodes(store.Window{Limit: recent})
		for _, e := range list {
			if e.Status == episode.Running || e.Status == episode.Open && e.Fork != nil {
				open = append(open, e)
			}
		}
		return err
	}); err != nil {
		return fmt.Errorf("look for interrupted repairs: %w", err)
	}
	if len(open) == 0 {
		return nil
	}
	if err := h.store.Update(ctx, func(tx *store.Tx) error {
		for _, e := range open {
			steps, err := tx.Steps(e.ID)
			if err != nil {
				return err
			}
			result := episode.Result{EpisodeID: e.ID, NoticeIDs: e.NoticeIDs, Status: episode.Cancelled, CandidateRuleIDs: []string{},
				ConsideredRuleIDs: []string{}, ErrorCategory: "interrupted", Error: "the process that ran it ended", Ended: h.store.Now()}
			if e.CandidateID != "" {
				result.CandidateRuleIDs = append(result.CandidateRuleIDs, e.CandidateID)
			}
			for _, s := range steps {
				if s.Attempt == e.Attempts {
					result.Turns = max(result.Turns, s.Turn)
					if !s.Kept {
						result.ToolCalls += len(s.Calls)
					}
					result.Usage = result.Usage.Add(s.Usage)
				}
			}
			e.Status, e.Result = episode.Cancelled, &result
			data := map[string]any{"status": episode.Cancelled, "error_category": "interrupted", "notice_ids": e.NoticeIDs,
				"turns": result.Turns, "tool_calls": result.ToolCalls}
			if e.Fork != nil {
				data["fork_of"] = e.Fork.Of
			}
			if err := tx.Emit(event.Event{Type: event.RepairFailed, SessionID: e.SessionID, TurnIndex: event.Turn(e.TurnIndex), EpisodeID: e.ID, Data: data}); err != nil {
				return err
			}
			if e.Fork != nil {
				err = tx.PutEpisode(e) // it is not run again, so nothing is counted
			} else {
				err = h.failed(tx, e)
			}
			if err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		return fmt.Errorf("close interrupted repairs: %w", err)
	}
	return nil
}
