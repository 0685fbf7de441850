package engine

import (
	"context"
	"fmt"
	"slices"

	"vise/engine/event"
	"vise/engine/evidence"
	"vise/store"
)

// ShrinkResult is what came of shrinking a case.
type ShrinkResult struct {
	From string `json:"from"` // the case that was shrunk; it is kept
	// Case is the smaller one, "" when none was found.
	Case string `json:"case,omitempty"`
	// Before and After count user inputs.
	Before int `json:"before"`
	After  int `json:"after"`
	Runs   int `json:"runs"`
	// Lost counts runs that said nothing about the agent.
	Lost int `json:"lost"`
	// Minimal: it was shown that leaving out any one input makes the failure go away.
	Minimal bool   `json:"minimal"`
	Why     string `json:"why,omitempty"` // why there is no smaller case
}

// ShrinkCase looks for fewer user inputs with which a captured failure still fails, by
// delta debugging through the agent with the active rules in force. The last input
// stays: the failure is about it. A smaller set counts only when it fails twice, so
// that a noisy agent does not shrink a case to nothing. runs bounds the agent runs.
// The smaller case is stored beside the original.
//
// Errors: no such case, a win, a case without inputs, ErrNoAgent, an agent that does not
// start; a case that does not fail any more is no error but has a Why.
func (h *Harness) ShrinkCase(ctx context.Context, id string, runs int, each func(kept int, fails bool)) (ShrinkResult, error) {
	fail := func(err error) (ShrinkResult, error) {
		return ShrinkResult{}, fmt.Errorf("shrink case %s: %w", id, err)
	}
	var c evidence.Case
	var ok bool
	if err := h.store.View(func(tx *store.Tx) (err error) {
		c, ok, err = tx.Case(id)
		return err
	}); err != nil {
		return fail(err)
	}
	switch {
	case !ok:
		return fail(fmt.Errorf("no such case; vise cases ls lists them"))
	case c.Kind != evidence.Failure:
		return fail(fmt.Errorf("it is a %s; only failures are shrunk", c.Kind))
	case !c.Replayable() || len(c.Input.Turns) == 0:
		return fail(fmt.Errorf("it holds no inputs, so it cannot be replayed"))
	case h.replayer == nil:
		return fail(ErrNoAgent)
	}
	done, err := h.alone(ctx)
	if err != nil {
		return fail(err)
	}
	defer done()
	out := ShrinkResult{From: id, Before: len(c.Input.Turns), After: len(c.Input.Turns)}
	var last reran // of the smallest set that fails
	fails := func(keep []int) (bool, error) {
		smaller := c
		in := *c.Input
		in.Turns = nil
		for _, i := range keep {
			in.Turns = append(in.Turns, c.Input.Turns[i])
		}
		smaller.Input = &in
		still := true
		var r reran
		for n := 0; n < 2 && still; n++ {
			var err error
			r, err = h.rerun(ctx, h.controlJob(smaller, "shrink", out.Runs))
			if err != nil {
				return false, err
			}
			out.Runs++
			if r.skip != "" {
				out.Lost++
				still = false
				break
			}
			bad, known := evidence.Fails(c, r.comparable(c), h.thresholdOf, h.cfg.Validate.PromoteMargin)
			still = bad && known
		}
		if still {
			last = r
		}
		if each != nil {
			each(len(keep), still)
		}
		return still, nil
	}
	all := make([]int, out.Before)
	for i := range all {
		all[i] = i
	}
	still, err := fails(all)
	if err != nil {
		return fail(err)
	}
	switch {
	case out.Lost > 0:
		out.Why = "the run of the whole case ended early, so nothing was learned"
	case !still:
		out.Why = "it does not fail any more with the active rules in force"
	case out.Before == 1:
		out.Why, out.Minimal = "it has one input only", true
	}
	if out.Why != "" {
		return out, h.shrunk(ctx, c, nil, last, &out)
	}
	// Every question takes up to two runs.
	found, err := evidence.Shrink(out.Before, max(0, (runs-out.Runs)/2), fails)
	if err != nil {
		return fail(err)
	}
	out.After, out.Minimal = len(found.Keep), found.Minimal
	switch {
	case out.After == out.Before && found.Minimal:
		out.Why = "every input is needed"
	case out.After == out.Before:
		out.Why = "no smaller one was found within the runs; --runs N allows more"
	}
	return out, h.shrunk(ctx, c, found.Keep, last, &out)
}

// shrunk stores the smaller case, if there is one, and journals the attempt.
func (h *Harness) shrunk(ctx context.Context, c evidence.Case, keep []int, last reran, out *ShrinkResult) error {
	if err := h.store.Update(ctx, func(tx *store.Tx) error {
		out.Case = ""
		if out.Why == "" {
			in := *c.Input
			in.Turns = nil
			for _, i := range keep {
				in.Turns = append(in.Turns, c.Input.Turns[i])
			}
			var err error
			if in.Digest, err = digest(in.Turns); err != nil {
				return err
			}
			stored, err := tx.Cases(evidence.Failure)
			if err != nil {
				return err
			}
			if i := slices.IndexFunc(stored, func(x evidence.Case) bool { return x.Input != nil && x.Input.Digest == in.Digest }); i >= 0 {
				out.Case = stored[i].ID // it was shrunk before
			} else {
				c.ID, c.CreatedAt, c.Input, c.ShrunkFrom = h.store.NewID("c"), h.now(), &in, c.ID
				c.Baseline, c.BaselineBy = last.scores, last.by
				if err := tx.PutCase(c); err != nil {
					return err
				}
				out.Case = c.ID
			}
		}
		data := map[string]any{"before": out.Before, "after": out.After, "runs": out.Runs, "lost": out.Lost, "minimal": out.Minimal, "case": out.Case}
		if out.Why != "" {
			data["why"] = out.Why
		}
		return tx.Emit(event.Event{Type: event.CaseShrunk, CaseID: out.From, SessionID: c.SessionID, Data: data})
	}); err != nil {
		return fmt.Errorf("shrink case %s: %w", out.From, err)
	}
	return nil
}
