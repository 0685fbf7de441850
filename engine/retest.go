package engine

import (
	"context"
	"fmt"
	"slices"

	"vise/engine/event"
	"vise/engine/evidence"
	"vise/engine/rule"
	"vise/engine/validate"
	"vise/store"
)

const retestName = "retest"

// maxRetests bounds the queue of rules that wait for a new test.
const maxRetests = 1000

// Retests returns the active rules that somebody queued for a new test, oldest first.
func Retests(tx *store.Tx) ([]string, error) {
	ids := []string{}
	if _, err := tx.State(retestName, &ids); err != nil {
		return nil, fmt.Errorf("read the queue of new tests: %w", err)
	}
	return ids, nil
}

// QueueRetest queues an active rule for a new test; the next validation until idle
// makes it. A rule that waits already stays where it is.
func (h *Harness) QueueRetest(ctx context.Context, id string) error {
	if err := h.store.Update(ctx, func(tx *store.Tx) error {
		r, ok, err := tx.Rule(id)
		switch {
		case err != nil:
			return err
		case !ok:
			return fmt.Errorf("no rule %q; vise rules ls lists them", id)
		case r.Status != rule.Active:
			return fmt.Errorf("rule %s is %s; only active rules are tested again", id, r.Status)
		}
		ids, err := Retests(tx)
		if err != nil || slices.Contains(ids, id) {
			return err
		}
		if len(ids) >= maxRetests {
			return fmt.Errorf("%d rules wait already; vise validate --until-idle tests them", len(ids))
		}
		if err := tx.PutState(retestName, append(ids, id)); err != nil {
			return err
		}
		return tx.Emit(event.Event{Type: event.RetestQueued, RuleID: id, Data: map[string]any{"waiting": len(ids) + 1}})
	}); err != nil {
		return fmt.Errorf("queue a new test: %w", err)
	}
	return nil
}

// DropRetest takes a rule off the queue; one that does not wait is an error.
func (h *Harness) DropRetest(ctx context.Context, id string) error {
	if err := h.store.Update(ctx, func(tx *store.Tx) error {
		ids, err := Retests(tx)
		if err != nil {
			return err
		}
		i := slices.Index(ids, id)
		if i < 0 {
			return fmt.Errorf("rule %s does not wait for a new test", id)
		}
		if err := tx.PutState(retestName, slices.Delete(ids, i, i+1)); err != nil {
			return err
		}
		return tx.Emit(event.Event{Type: event.RetestDropped, RuleID: id, Data: map[string]any{"waiting": len(ids) - 1}})
	}); err != nil {
		return fmt.Errorf("drop the new test: %w", err)
	}
	return nil
}

// ValidateActives tests the rules in force again, each left out of its control runs;
// o.Rules names some of them. See validate.Validator.Retest.
func (h *Harness) ValidateActives(ctx context.Context, o validate.Options) (validate.Round, error) {
	if !h.cfg.Validate.Enabled {
		return validate.Round{}, errValidationOff
	}
	done, err := h.alone(ctx)
	if err != nil {
		return validate.Round{}, err
	}
	defer done()
	return h.retest(ctx, o)
}

// retest tests rules in force again and takes the tested ones off the queue. The
// caller holds alone.
func (h *Harness) retest(ctx context.Context, o validate.Options) (validate.Round, error) {
	round, err := h.valid.Retest(ctx, o)
	if err != nil || len(round.Verdicts) == 0 {
		return round, err
	}
	done := func(id string) bool {
		return slices.ContainsFunc(round.Verdicts, func(v evidence.Verdict) bool { return v.RuleID == id })
	}
	if err := h.store.Update(ctx, func(tx *store.Tx) error {
		ids, err := Retests(tx)
		if err != nil || !slices.ContainsFunc(ids, done) {
			return err
		}
		return tx.PutState(retestName, slices.DeleteFunc(ids, done))
	}); err != nil {
		return round, fmt.Errorf("test active rules again: %w", err)
	}
	return round, nil
}

// retestQueued makes the queued tests of rules that are still active.
func (h *Harness) retestQueued(ctx context.Context, o validate.Options) (validate.Round, error) {
	if h.replayer == nil {
		return validate.Round{}, nil
	}
	o.Rules = nil
	var gone []string
	if err := h.store.View(func(tx *store.Tx) error {
		ids, err := Retests(tx)
		if err != nil {
			return err
		}
		for _, id := range ids {
			r, ok, err := tx.Rule(id)
			if err != nil {
				return err
			}
			if ok && r.Status == rule.Active {
				o.Rules = append(o.Rules, id)
			} else {
				gone = append(gone, id)
			}
		}
		return nil
	}); err != nil {
		return validate.Round{}, err
	}
	if len(gone) > 0 {
		if err := h.store.Update(ctx, func(tx *store.Tx) error { return tx.PutState(retestName, slices.Clone(o.Rules)) }); err != nil {
			return validate.Round{}, err
		}
	}
	if len(o.Rules) == 0 {
		return validate.Round{}, nil
	}
	return h.retest(ctx, o)
}
