package validate

import (
	"context"
	"fmt"

	"vise/engine/evidence"
	"vise/store"
)

// proofs is how many fresh control runs of each case must show every stored score again
// before one run is trusted. One run of an agent that fails at random, but mostly the
// same way, does so too often: the second one is made only when the first did.
const proofs = 2

// auto finds out first whether anything is random, by fresh control runs of every case.
// When they show every stored score again, one run with the rule and one without decide,
// as in the seed rule, with the fresh control as the baseline. Otherwise pairs decide, and
// these runs are the first of them.
func (v *Validator) auto(ctx context.Context, s setting) (evidence.Verdict, error) {
	if len(s.failures) == 0 {
		return v.paired(ctx, s)
	}
	if err := v.planned(ctx, s.rule.ID, s.cases()); err != nil {
		return evidence.Verdict{}, err
	}
	var controls []evidence.Control
	for n := range proofs {
		fresh, err := v.controls(ctx, s, n+1)
		if err != nil {
			return evidence.Verdict{}, err
		}
		for i, x := range fresh {
			c := s.cases()[i]
			if x.Arm.Infrastructure != "" {
				return v.open(s, evidence.Infrastructure, fmt.Sprintf("the control run of case %s said nothing about the agent (%s): %s",
					c.ID, x.Arm.Infrastructure, x.Arm.Error)), nil
			}
			if !x.Reproduces(c) {
				return v.paired(ctx, s)
			}
		}
		controls = fresh
	}
	return v.deterministic(ctx, s, controls)
}

// controls are the number-th control runs of all cases, from the bank or made.
func (v *Validator) controls(ctx context.Context, s setting, number int) ([]evidence.Control, error) {
	cases := s.cases()
	out := make([]evidence.Control, len(cases))
	err := v.each(ctx, len(cases), func(ctx context.Context, i int) error {
		x, shared, err := v.control(ctx, s, cases[i], number)
		out[i] = x
		if err != nil || shared || x.Arm.Infrastructure != "" {
			return err
		}
		return v.Store.Update(ctx, func(tx *store.Tx) error { return tx.PutControl(x) })
	})
	if err != nil {
		return nil, fmt.Errorf("validate rule %s: control runs: %w", s.rule.ID, err)
	}
	return out, nil
}

// deterministic decides by one run per case against its fresh control.
func (v *Validator) deterministic(ctx context.Context, s setting, controls []evidence.Control) (evidence.Verdict, error) {
	cases := s.cases()
	replays := make([]evidence.Replayed, len(cases))
	if err := v.each(ctx, len(cases), func(ctx context.Context, i int) error {
		c := cases[i]
		c.Baseline, c.BaselineBy = controls[i].Last, controls[i].By
		x, err := v.replayCase(ctx, s.rule, c, s.rules)
		if err != nil {
			return err
		}
		replays[i] = x
		return v.replayed(ctx, s.rule.ID, x)
	}); err != nil {
		return evidence.Verdict{}, err
	}
	verdict := evidence.DecideReplay(s.rule, replays, evidence.Margins{Promote: v.Config.PromoteMargin, Regress: v.Config.RegressMargin}).Verdict
	verdict.Evidence, verdict.EvaluatedBy, verdict.Identity, verdict.OwnCaseOnly = "deterministic", v.EvaluatedBy, &s.identity, !s.heldOut()
	for _, c := range verdict.Cases {
		if err := v.journalCase(ctx, s.rule.ID, c); err != nil {
			return evidence.Verdict{}, err
		}
	}
	return verdict, nil
}

// each runs fn for 0 to n-1, as many at once as there are workers, and returns the
// first error; the others are cancelled then.
func (v *Validator) each(ctx context.Context, n int, fn func(ctx context.Context, i int) error) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	errs := make(chan error)
	running, next := 0, 0
	var first error
	for next < n || running > 0 {
		for ; next < n && running < v.pool().Parallel() && first == nil; next, running = next+1, running+1 {
			i := next
			go func() { errs <- fn(ctx, i) }()
		}
		if running == 0 {
			break
		}
		err := <-errs
		running--
		if err != nil && first == nil {
			first = err
			stop()
		}
	}
	return first
}
