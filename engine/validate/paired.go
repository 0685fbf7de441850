package validate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"vise/engine/event"
	"vise/engine/evidence"
	"vise/engine/rule"
	"vise/store"
)

// Test runs a paired test of one rule until it is decided, the context ends or the
// deadline comes (zero = none); a test of the same rule under the same identity goes on
// where it was. The rule may be active: then the control runs do without it. Nothing is
// applied: the verdict is the caller's.
func (v *Validator) Test(ctx context.Context, r rule.Rule, o Options, deadline time.Time) (evidence.Verdict, error) {
	s, err := v.setting(r, o)
	if err != nil {
		return evidence.Verdict{}, err
	}
	return v.inTime(ctx, s, deadline, v.paired)
}

// inTime runs a way to reach a verdict, and leaves the rule open when the time is up
// before. What was stored until then stays.
func (v *Validator) inTime(ctx context.Context, s setting, deadline time.Time, reach func(context.Context, setting) (evidence.Verdict, error)) (evidence.Verdict, error) {
	if !deadline.IsZero() {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeoutCause(ctx, deadline.Sub(v.Store.Now()), errBudget)
		defer stop()
	}
	verdict, err := reach(ctx, s)
	if err != nil && errors.Is(context.Cause(ctx), errBudget) {
		if verdict, err = v.standing(s); err != nil {
			return verdict, err
		}
		verdict.PendingReason = evidence.RoundBudgetExhausted
		verdict.Reason = "the budget of the round ran out; the next round goes on where this one was"
	}
	return verdict, err
}

// open is a verdict that leaves the rule as it is.
func (v *Validator) open(s setting, pending, reason string) evidence.Verdict {
	return evidence.Verdict{RuleID: s.rule.ID, Outcome: evidence.PendingStill, Validator: "replay", Evidence: "paired",
		PendingReason: pending, Reason: reason, Cases: []evidence.CaseResult{}, EvaluatedBy: v.EvaluatedBy, Identity: &s.identity}
}

// standing is what the stored pairs of a rule say while its test is not decided.
func (v *Validator) standing(s setting) (evidence.Verdict, error) {
	t, pairs, err := v.begun(s)
	if err != nil || len(pairs) == 0 {
		return v.open(s, "", ""), err
	}
	return v.verdict(s, t, evidence.Weigh(t, pairs))
}

// begun returns the test of a rule under this identity with its pairs; without one ID is
// "", and only Draw is set.
func (v *Validator) begun(s setting) (t evidence.Test, pairs []evidence.Pair, err error) {
	err = v.Store.View(func(tx *store.Tx) error {
		list, err := tx.Tests(s.rule.ID)
		if err != nil {
			return err
		}
		t.Draw = fmt.Sprintf("%s/%d", s.rule.ID, len(list)+1)
		for _, x := range slices.Backward(list) {
			if x.Identity == s.identity {
				t = x
				pairs, err = tx.Pairs(x.ID)
				return err
			}
		}
		return nil
	})
	if err != nil {
		err = fmt.Errorf("validate rule %s: %w", s.rule.ID, err)
	}
	return t, pairs, err
}

// prepare returns the test to run: the one that was begun, or a new one. What was fixed
// before its first pair stays; limits and cases follow the project.
func (v *Validator) prepare(ctx context.Context, s setting) (evidence.Test, []evidence.Pair, error) {
	t, pairs, err := v.begun(s)
	if err != nil {
		return t, nil, err
	}
	if t.ID == "" {
		t = evidence.Test{ID: v.Store.NewID("t"), RuleID: s.rule.ID, Started: v.Store.Now(), Draw: t.Draw, Identity: s.identity,
			Scales: map[string]float64{}, Noise: map[string]evidence.MetricNoise{}, Preference: s.preference()}
		for _, r := range s.measured.Readings {
			// Scores of another agent or evaluator scatter differently.
			if sd, ok := s.measured.AgentSD(r.Metric); ok && s.measured.EvaluatedBy == v.EvaluatedBy && s.measured.Agent == v.Agent {
				t.Scales[r.Metric], t.Noise[r.Metric] = evidence.Scale(sd, true), *r.Agent
			}
		}
	}
	profile := v.Config.Profile
	if s.opts.Profile != "" {
		profile = s.opts.Profile
	}
	if profile == "" {
		profile = evidence.Full
	}
	t.Profile, t.Margin, t.AcceptOwn = profile, v.Config.PromoteMargin, s.opts.OwnCase
	t.Threshold, t.Cap = evidence.Limits(profile, v.Config.PromoteE, v.Config.PairsCap)
	t.Global = s.rule.Applicability == rule.Global || s.rule.Scope == rule.Global
	t.Cases = nil
	for _, c := range s.cases() {
		t.Cases = append(t.Cases, evidence.TestCase{ID: c.ID, Kind: c.Kind, Own: s.own[c.ID]})
	}
	for _, p := range pairs {
		t.Resumed = max(t.Resumed, p.Number)
	}
	if err := v.Store.Update(ctx, func(tx *store.Tx) error { return tx.PutTest(t) }); err != nil {
		return t, nil, fmt.Errorf("begin test of rule %s: %w", s.rule.ID, err)
	}
	return t, pairs, nil
}

// paired runs pairs until they decide.
func (v *Validator) paired(ctx context.Context, s setting) (evidence.Verdict, error) {
	switch {
	case len(s.failures) == 0:
		d := evidence.DecideReplay(s.rule, nil, evidence.Margins{})
		return v.open(s, d.Verdict.PendingReason, d.Verdict.Reason), nil
	case !s.heldOut() && !s.opts.OwnCase:
		return v.open(s, evidence.NoHeldOutCase, "the only failure that can be replayed is the one the rule was written from"), nil
	case len(s.preference()) == 0:
		return v.open(s, evidence.MetricInforms, "no metric of the rule may decide: measured to be too noisy, or not to tell your agent from one that does nothing"), nil
	}
	t, pairs, err := v.prepare(ctx, s)
	if err != nil {
		return evidence.Verdict{}, err
	}
	if err := v.planned(ctx, s.rule.ID, s.cases()); err != nil {
		return evidence.Verdict{}, err
	}
	before := len(pairs)
	pairs, err = v.play(ctx, s, t, pairs)
	if err != nil {
		return evidence.Verdict{}, err
	}
	verdict, err := v.verdict(s, t, evidence.Weigh(t, pairs))
	if err != nil {
		return evidence.Verdict{}, err
	}
	for _, c := range verdict.Cases {
		if len(pairs) == before {
			break // nothing new to tell
		}
		if err := v.journalCase(ctx, s.rule.ID, c); err != nil {
			return evidence.Verdict{}, err
		}
	}
	return verdict, nil
}

// played is a pair that has ended.
type played struct {
	slot    evidence.Slot
	pair    evidence.Pair
	control *evidence.Control // to be kept for others
	err     error
}

// play runs the pairs of a test, as many at once as there are workers, and stores each
// with its event in one step. Pairs that are under way when the test is decided or the
// context ends are given up: nothing of them is stored but their sessions.
func (v *Validator) play(ctx context.Context, s setting, t evidence.Test, pairs []evidence.Pair) ([]evidence.Pair, error) {
	run, stop := context.WithCancel(ctx)
	results := make(chan played)
	var started []evidence.Slot
	defer func() {
		stop()
		for range started {
			<-results
		}
	}()
	cases := map[string]evidence.Case{}
	for _, c := range s.cases() {
		cases[c.ID] = c
	}
	for {
		for len(started) < v.pool().Parallel() {
			slot, ok := t.Next(pairs, started)
			if !ok {
				break
			}
			started = append(started, slot)
			go func() { results <- v.pair(run, s, t, slot, cases[slot.Case.ID]) }()
		}
		if len(started) == 0 || evidence.Weigh(t, pairs).Stop {
			return pairs, nil
		}
		p := <-results
		started = slices.DeleteFunc(started, func(x evidence.Slot) bool { return x.Number == p.slot.Number })
		if ctx.Err() != nil {
			return pairs, fmt.Errorf("validate rule %s: %w", s.rule.ID, context.Cause(ctx))
		}
		if p.err != nil {
			return pairs, fmt.Errorf("validate rule %s: pair %d: %w", s.rule.ID, p.slot.Number, p.err)
		}
		pairs = append(pairs, p.pair)
		if err := v.putPair(ctx, t, pairs, p); err != nil {
			return pairs, err
		}
	}
}

// pair runs the two arms of one pair, in the order that was drawn.
func (v *Validator) pair(ctx context.Context, s setting, t evidence.Test, slot evidence.Slot, c evidence.Case) (out played) {
	out.slot = slot
	out.pair = evidence.Pair{TestID: t.ID, RuleID: s.rule.ID, Number: slot.Number, CaseID: c.ID, Kind: c.Kind, Repeat: slot.Repeat, Own: slot.Case.Own, Turns: len(c.Input.Turns),
		Order: slot.Order, At: v.Store.Now()}
	p := &out.pair
	treat := func() { p.Treatment, out.err = v.treatment(ctx, s, c, slot.Treatment) }
	keep := func() {
		var x evidence.Control
		var shared bool
		x, shared, out.err = v.control(ctx, s, c, slot.Repeat)
		p.Control = x.Arm
		switch {
		case shared:
			p.Order = evidence.ControlShared
		case out.err == nil && x.Arm.Infrastructure == "":
			out.control = &x
		}
	}
	first, second := keep, treat
	if slot.Order == evidence.TreatmentFirst {
		if have, err := v.banked(s, c, slot.Repeat); err != nil {
			out.err = err
			return out
		} else if !have {
			first, second = treat, keep
		}
	}
	first()
	if out.err == nil && p.Control.Infrastructure == "" && p.Treatment.Infrastructure == "" {
		second()
	}
	for _, a := range []*evidence.Arm{&p.Control, &p.Treatment} {
		if a.Scores == nil {
			a.Scores = map[string]float64{}
		}
		fail(a, t.Preference)
		for _, m := range s.inform {
			delete(a.Scores, m)
		}
	}
	p.Judge(t.Preference, t.Scales)
	return out
}

// banked reports whether a control run is in the bank already.
func (v *Validator) banked(s setting, c evidence.Case, number int) (ok bool, err error) {
	err = v.Store.View(func(tx *store.Tx) error {
		_, ok, err = tx.Control(s.identity.Digest(), c.ID, number)
		return err
	})
	return ok, err
}

// putPair stores the newest pair with its event.
func (v *Validator) putPair(ctx context.Context, t evidence.Test, pairs []evidence.Pair, p played) error {
	f := evidence.Weigh(t, pairs)
	x := p.pair
	data := map[string]any{"test": t.ID, "pair": x.Number, "kind": x.Kind, "order": x.Order, "read": x.Treatment.Read,
		"counted": f.Counted, "cap": t.Cap, "e_gain": f.EGain, "e_harm": f.EHarm, "threshold": t.Threshold}
	switch {
	case x.Excluded != "":
		data["excluded"] = x.Excluded
	case x.Kind == evidence.Win:
		data["guard"], data["e_guard"] = x.Guard, f.EGuard
	default:
		data["metric"], data["difference"], data["graded"], data["credit"] = x.Metric, x.Difference, x.Graded, x.Credit
		data["control"], data["treatment"] = x.Control.Scores[x.Metric], x.Treatment.Scores[x.Metric]
	}
	if err := v.Store.Update(ctx, func(tx *store.Tx) error {
		if p.control != nil {
			if err := tx.PutControl(*p.control); err != nil {
				return err
			}
		}
		if err := tx.PutPair(x); err != nil {
			return err
		}
		return tx.Emit(event.Event{Type: event.ValidationPair, RuleID: x.RuleID, CaseID: x.CaseID, RunID: x.Treatment.RunID, Data: data})
	}); err != nil {
		return fmt.Errorf("store pair %d of rule %s: %w", x.Number, x.RuleID, err)
	}
	return nil
}

// verdict puts a finding into words and numbers.
func (v *Validator) verdict(s setting, t evidence.Test, f evidence.Finding) (evidence.Verdict, error) {
	if err := v.Store.View(func(tx *store.Tx) (err error) {
		f.Tests, err = tx.CountTests()
		return err
	}); err != nil {
		return evidence.Verdict{}, fmt.Errorf("validate rule %s: %w", s.rule.ID, err)
	}
	f.Bound = float64(f.Tests) / t.Threshold
	out := f.Verdict(t)
	out.EvaluatedBy, out.Identity = v.EvaluatedBy, &s.identity
	return out, nil
}
