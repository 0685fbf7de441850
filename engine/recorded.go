package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"vise/engine/score"
	"vise/engine/trace"
	"vise/store"
)

// Recorded is what scoring a recording brought.
type Recorded struct {
	SessionID string `json:"session_id"`
	Turns     int    `json:"turns"`
	// Scored counts the turns that were evaluated now, Unscored those that have no score
	// after it, such as turns that were cut short.
	Scored   int `json:"scored"`
	Unscored int `json:"unscored"`
	// Again says why turns that had been evaluated before were evaluated again; "" = none were.
	Again       string `json:"again,omitempty"`
	EvaluatedBy string `json:"evaluated_by"`
}

// ReplayRecorded scores the recorded turns of a session themselves, without an
// agent, settling after each as a live run would. Recorded sessions feed
// notices, cases and baselines, but no trial (no rule was there to be read) and
// never the breaker. Turns scored before are not scored again, unless they have no score
// or one of another evaluator or verifier.
func (h *Harness) ReplayRecorded(ctx context.Context, s trace.Session) (Recorded, error) {
	out := Recorded{SessionID: s.ID, EvaluatedBy: h.identity()}
	fail := func(err error) (Recorded, error) {
		return out, fmt.Errorf("replay recorded session %s: %w", s.ID, err)
	}
	var turns []store.TurnHead
	var state sessionState
	if err := h.store.Update(ctx, func(tx *store.Tx) error {
		head, ok, err := tx.Session(s.ID)
		if err != nil {
			return err
		}
		if !ok {
			return fmt.Errorf("no such session; vise sessions ls lists them")
		}
		if turns, err = tx.TurnHeads(s.ID, 0, 0); err != nil {
			return err
		}
		state = sessionState{}
		if _, err := tx.State(stateName(s.ID), &state); err != nil {
			return err
		}
		reports, err := tx.Reports(s.ID, 0, 0)
		if err != nil {
			return err
		}
		var from int
		if from, out.Again = h.stale(turns, reports, state.Next); out.Again != "" {
			state = state.back(from, reports)
			if err := tx.PutState(stateName(s.ID), state); err != nil {
				return err
			}
		}
		// What the command line says about the task stays with the session.
		head.TaskSummary, head.ScopeHints = s.TaskSummary, s.ScopeHints
		return tx.PutSession(h.withHints(head))
	}); err != nil {
		return fail(err)
	}
	out.Turns = len(turns)
	defer h.forget(s.ID)
	for _, t := range turns {
		if t.Index < state.Next {
			continue
		}
		h.limit(s.ID, t.Index+1)
		settled, err := h.Settle(ctx, s.ID)
		if err != nil {
			return out, err
		}
		if err := ctx.Err(); err != nil {
			return fail(context.Cause(ctx))
		}
		if settled.Outage != "" {
			return fail(errors.New(settled.Outage))
		}
		if !settled.Evaluated {
			return fail(fmt.Errorf("turn %d was not scored within settle.barrier_timeout (%s)", t.Index, h.cfg.Settle.BarrierTimeout))
		}
	}
	if err := h.store.Update(ctx, func(tx *store.Tx) error {
		reports, err := tx.Reports(s.ID, 0, 0)
		if err != nil {
			return err
		}
		out.Scored, out.Unscored = 0, len(turns)
		for _, r := range reports {
			if r.Empty() {
				continue
			}
			out.Unscored--
			if r.TurnIndex >= state.Next {
				out.Scored++
			}
		}
		return h.offer(tx, s)
	}); err != nil {
		return fail(err)
	}
	return out, nil
}

// stale finds the first turn of those evaluated (before next) that must be evaluated
// again, and says why; "" = none. A platform scores a trace once, and what was left out
// by sampling stays left out.
func (h *Harness) stale(turns []store.TurnHead, reports []score.Report, next int) (turn int, why string) {
	if h.platform != nil {
		return 0, ""
	}
	sampled := h.cfg.Evaluate.SampleEvery > 1 || h.cfg.Evaluate.SessionMinInterval > 0
	by := map[int]score.Report{}
	for _, r := range reports {
		by[r.TurnIndex] = r
	}
	for _, t := range turns {
		if t.Index >= next {
			break
		}
		r, stored := by[t.Index]
		outcome := false
		for _, s := range r.Scores {
			want := h.by
			if s.Metric == score.OutcomeCorrect {
				outcome = true
				if want = ""; h.verifier != nil {
					want = h.verifier.Identity()
				}
			}
			if s.Value != nil && s.By != "" && want != "" && s.By != want {
				return t.Index, "its scores came from another evaluator or verifier (" + s.By + ")"
			}
		}
		switch {
		case t.CutShort() || !stored && sampled:
		case !stored || r.Empty():
			return t.Index, "turns of it had no score"
		case h.verifier != nil && !outcome:
			return t.Index, "turns of it had no outcome of the verifier"
		}
	}
	return 0, ""
}

// back is the state of a session whose turns are evaluated again from a turn on. When
// nothing behind it was scored the gate goes on where it was; else the whole session is
// folded anew.
func (s sessionState) back(turn int, reports []score.Report) sessionState {
	behind := slices.ContainsFunc(reports, func(r score.Report) bool { return r.TurnIndex >= turn && !r.Empty() })
	if !behind {
		s.Next, s.Again = turn, true
		return s
	}
	return sessionState{Alerted: s.Alerted, Again: true}
}

// limit lets the lane of a session go no further than before this turn.
func (h *Harness) limit(session string, until int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.lane(session).until = until
}
