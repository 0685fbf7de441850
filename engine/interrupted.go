package engine

import (
	"context"
	"fmt"

	"vise/engine/episode"
	"vise/engine/event"
	"vise/engine/trace"
	"vise/store"
)

// recent bounds how many of the newest episodes, and live sessions, are looked at when a
// harness opens: one process runs few at a time, so those that it left are among them.
const recent = 256

// closeInterrupted ends what a killed process left running. Nobody runs its repairs any
// more: their notices stay pending, so that they can be repaired again, at
// once, since most processes are killed by something else than their work. But an
// episode whose runs end with the process again and again may be what kills it: such
// an end counts as a failure, and repair.max_attempts of them make a dead letter. Its live
// sessions get the end that they never had.
func (h *Harness) closeInterrupted(ctx context.Context) error {
	var open []episode.Episode
	var alive []trace.Session
	if err := h.store.View(func(tx *store.Tx) error {
		list, err := tx.Episodes(store.Window{Limit: recent})
		for _, e := range list {
			if e.Status == episode.Running || e.Status == episode.Open && e.Fork != nil {
				open = append(open, e)
			}
		}
		if err != nil {
			return err
		}
		heads, err := tx.Sessions(store.Window{Origin: trace.Live, Limit: recent})
		for _, s := range heads {
			if s.Ended.IsZero() {
				alive = append(alive, s)
			}
		}
		return err
	}); err != nil {
		return fmt.Errorf("look for what was interrupted: %w", err)
	}
	if len(open) == 0 && len(alive) == 0 {
		return nil
	}
	if err := h.store.Update(ctx, func(tx *store.Tx) error {
		for _, s := range alive {
			if err := h.endKilled(tx, s); err != nil {
				return err
			}
		}
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
		return fmt.Errorf("close what was interrupted: %w", err)
	}
	return nil
}

// endKilled gives a session the end of a run whose process was killed. It ended when it
// was last heard of, as far as that is known.
func (h *Harness) endKilled(tx *store.Tx, s trace.Session) error {
	runID, _ := s.Attrs["run_id"].(string)
	s.Ended = s.Started
	if n := s.Counts.Turns; n > 0 {
		turns, err := tx.TurnHeads(s.ID, n-1, 1)
		if err != nil {
			return err
		}
		if len(turns) > 0 && turns[0].End.After(s.Ended) {
			s.Ended = turns[0].End
		}
	}
	if s.Ended.IsZero() {
		s.Ended = h.store.Now()
	}
	s = s.Kill()
	if err := tx.PutSession(s); err != nil {
		return err
	}
	return tx.Emit(event.Event{Type: event.AgentExited, SessionID: s.ID, RunID: runID,
		Data: map[string]any{"turns": s.Counts.Turns, "exit": "killed", "reason": "killed", "error": "the vise that ran it was killed"}})
}
