package validate

import (
	"context"
	"fmt"
	"slices"

	"vise/engine/evidence"
	"vise/store"
)

// How many runs of each case must be the same before an agent is taken for one that
// repeats itself: proofs without the rule, repeats with it. An agent whose run fails with a
// chance q, whatever the rule says, looks like one that a rule helps with a chance of
// q²·(1-q)³, which is 0.035 at most: below the one in twenty that pairs allow.
const (
	proofs  = 2
	repeats = 3
)

// auto finds out first whether anything is random. Every case is run twice without the
// rule: both runs must show every stored score again and do the same in every turn, not
// only in the last. Then it is run with the rule, and what would decide about it must
// repeat itself too. Where anything differs pairs decide, and the control runs are the
// first of them.
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
			if !x.Reproduces(c) || controls != nil && !x.Arm.Repeats(controls[i].Arm) {
				return v.paired(ctx, s)
			}
		}
		controls = fresh
	}
	verdict, same, err := v.deterministic(ctx, s, controls)
	if err != nil {
		return evidence.Verdict{}, err
	}
	if !same {
		return v.paired(ctx, s)
	}
	for _, c := range verdict.Cases {
		if err := v.journalCase(ctx, s.rule.ID, c); err != nil {
			return evidence.Verdict{}, err
		}
	}
	return verdict, nil
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

// deterministic decides by runs with the rule against the fresh controls. same is false
// when the rule would be promoted or retired by a run that does not repeat itself.
func (v *Validator) deterministic(ctx context.Context, s setting, controls []evidence.Control) (verdict evidence.Verdict, same bool, err error) {
	cases := s.cases()
	replays, arms := make([]evidence.Replayed, len(cases)), make([]evidence.Arm, len(cases))
	for again := range repeats {
		differs := make([]bool, len(cases))
		if err := v.each(ctx, len(cases), func(ctx context.Context, i int) error {
			c := cases[i]
			c.Baseline, c.BaselineBy = controls[i].Last, controls[i].By
			x, arm, err := v.replayCase(ctx, s.rule, c, s.rules, again)
			if err != nil {
				return err
			}
			if again > 0 {
				differs[i] = !arm.Repeats(arms[i])
				replays[i].Usage, replays[i].ElapsedMS = replays[i].Usage.Add(x.Usage), replays[i].ElapsedMS+x.ElapsedMS
				return nil
			}
			replays[i], arms[i] = x, arm
			return v.replayed(ctx, s.rule.ID, x)
		}); err != nil {
			return evidence.Verdict{}, false, err
		}
		if slices.Contains(differs, true) {
			return evidence.Verdict{}, false, nil
		}
		verdict = evidence.DecideReplay(s.rule, replays, evidence.Margins{Promote: v.Config.PromoteMargin, Regress: v.Config.RegressMargin}).Verdict
		if verdict.Outcome == evidence.PendingStill {
			break // nothing is decided that a repeat could doubt
		}
	}
	verdict.Evidence, verdict.EvaluatedBy, verdict.Identity, verdict.OwnCaseOnly = "deterministic", v.EvaluatedBy, &s.identity, !s.heldOut()
	return verdict, true, nil
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
