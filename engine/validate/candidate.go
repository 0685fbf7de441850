package validate

import (
	"context"
	"errors"
	"fmt"

	"vise/engine/event"
	"vise/engine/evidence"
	"vise/engine/rule"
	"vise/store"
)

// candidate gives one candidate its turn of the round.
func (v *Validator) candidate(ctx context.Context, id string, t turn, round *Round) error {
	r, ok, err := v.fresh(id)
	if err != nil {
		return err
	}
	if !ok {
		return nil // decided since the round began
	}
	attempts := 0
	if r.Trial != nil {
		attempts = r.Trial.ReplayAttempts
	}
	verdict := evidence.Verdict{Outcome: evidence.PendingStill}
	replayed, paired := false, false
	if v.canReplay() && t.allow && (attempts < MaxAttempts || !v.seedRule()) {
		if err := v.started(ctx, id, "replay", attempts); err != nil {
			return err
		}
		tctx, end := v.test(ctx, id)
		verdict, err = v.strategy(tctx, r, t)
		withdrawn := errors.Is(context.Cause(tctx), errWithdrawn)
		end()
		if ctx.Err() != nil {
			return fmt.Errorf("validate rule %s: %w", id, context.Cause(ctx))
		}
		if withdrawn {
			return nil // no verdict, and the next rule's turn
		}
		var lost notStarted
		if errors.As(err, &lost) {
			// Another case, another rule, another attempt would end the same.
			return v.lost(ctx, r, lost, round)
		}
		if err != nil {
			// Nothing is decided and no attempt is used up; the others go on.
			return v.failed(ctx, id, err)
		}
		// A paired test knows no attempts and no forward trial after it: it goes on where
		// it is, or has said what there is to say.
		paired = verdict.Evidence == "paired" && verdict.PendingReason != evidence.NoReplayableCase
		replayed = true
		if !paired {
			verdict.Attempt = attempts + 1
		}
		if verdict.Outcome == evidence.PendingStill && !paired && attempts < MaxAttempts {
			if err := v.bump(ctx, id); err != nil {
				return err
			}
			attempts++
		}
	}
	if verdict.Outcome == evidence.PendingStill && !paired && !(v.canReplay() && !t.allow && !v.seedRule()) {
		if err := v.started(ctx, id, "forward_trial", attempts-b2i(replayed)); err != nil {
			return err
		}
		trial := evidence.TrialVerdict(id, r.Trial, v.Config.TrialMin, v.Config.PromoteMargin)
		switch {
		case trial.Outcome == evidence.PendingStill:
			trial.Cases, trial.Usage, trial.Excluded = verdict.Cases, verdict.Usage, verdict.Excluded
			if replayed && verdict.PendingReason != "" {
				trial.Reason = verdict.Reason + "; " + trial.Reason
			}
			verdict = trial
		case replayed && attempts < MaxAttempts:
			// Replay has attempts left: a complete forward trial must not decide
			// past an inconclusive replay, least of all one that never read the rule.
		default:
			verdict = trial
		}
	}
	if verdict.Outcome == evidence.PendingStill && !t.allow && v.canReplay() {
		if verdict.PendingReason = evidence.RoundBudgetExhausted; verdict.Validator == "" {
			verdict.Validator, verdict.Evidence, verdict.Cases = "replay", "paired", []evidence.CaseResult{}
			verdict.Reason = "the budget of the round was used up before its turn came"
		}
	}
	if verdict.PendingReason == evidence.RoundBudgetExhausted {
		round.BudgetExhausted = true
	}
	verdict.RuleID, verdict.At, verdict.Agent = id, v.Store.Now(), v.Agent
	verdict.ID = v.Store.NewID("v")
	if verdict.Identity == nil {
		if err := v.identify(&verdict); err != nil {
			return err
		}
	}
	applied, alive, err := v.apply(ctx, &verdict)
	if err != nil {
		return err
	}
	if !alive {
		return nil // retired by somebody else while it was tested: no verdict
	}
	round.Verdicts = append(round.Verdicts, verdict)
	switch {
	case applied && verdict.Outcome == evidence.Promote:
		round.Promoted++
		round.progress = true
	case applied:
		round.Retired++
		round.progress = true
	default:
		round.Pending++
		if replayed && !paired && attempts < MaxAttempts && r.Trial != nil && repeatable(verdict) {
			round.progress = true
		}
	}
	return nil
}

// identify notes what a verdict holds for.
func (v *Validator) identify(verdict *evidence.Verdict) error {
	var id evidence.Identity
	if err := v.Store.View(func(tx *store.Tx) (err error) {
		id, err = v.Identity(tx, verdict.RuleID)
		return err
	}); err != nil {
		return fmt.Errorf("validate rule %s: %w", verdict.RuleID, err)
	}
	verdict.Identity = &id
	return nil
}

// seedRule: one replay per case against its stored score decides.
func (v *Validator) seedRule() bool {
	return v.replay != nil || v.Config.Evidence == "" || v.Config.Evidence == "seed"
}

// strategy reaches a verdict by replays, in the configured way.
func (v *Validator) strategy(ctx context.Context, r rule.Rule, t turn) (evidence.Verdict, error) {
	switch {
	case v.replay != nil:
		return v.replay(ctx, r)
	case v.seedRule():
		return v.replayCases(ctx, r)
	case v.Config.Evidence == "paired":
		return v.Test(ctx, r, t.options, t.deadline)
	}
	s, err := v.setting(r, t.options)
	if err != nil {
		return evidence.Verdict{}, err
	}
	return v.inTime(ctx, s, t.deadline, v.auto)
}

// repeatable: another replay could end differently without anything changing outside.
func repeatable(v evidence.Verdict) bool {
	return v.PendingReason != "no_matching_replayable_case" && len(v.Cases) > 0
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// fresh reads a rule and tells whether it is still a candidate.
func (v *Validator) fresh(id string) (r rule.Rule, ok bool, err error) {
	err = v.Store.View(func(tx *store.Tx) error {
		r, ok, err = tx.Rule(id)
		ok = ok && r.Status == rule.Candidate
		return err
	})
	if err != nil {
		return r, false, fmt.Errorf("read rule %s: %w", id, err)
	}
	return r, ok, nil
}

func (v *Validator) started(ctx context.Context, id, validator string, attempts int) error {
	if err := v.Store.Update(ctx, func(tx *store.Tx) error {
		return tx.Emit(event.Event{Type: event.ValidationCandidate, RuleID: id,
			Data: map[string]any{"validator": validator, "replay_attempts": attempts}})
	}); err != nil {
		return fmt.Errorf("validate rule %s: %w", id, err)
	}
	return nil
}

// failed journals that a candidate could not be tested at all.
func (v *Validator) failed(ctx context.Context, id string, cause error) error {
	if err := v.Store.Update(ctx, func(tx *store.Tx) error {
		return tx.Emit(event.Event{Type: event.Skip, RuleID: id,
			Data: map[string]any{"what": "validation", "reason": short(cause.Error(), 300)}})
	}); err != nil {
		return fmt.Errorf("validate rule %s: %w", id, err)
	}
	return nil
}

// bump counts one replay attempt on the fresh record: sessions observed while
// the replay ran must not be lost.
func (v *Validator) bump(ctx context.Context, id string) error {
	if err := v.Store.Update(ctx, func(tx *store.Tx) error {
		r, ok, err := tx.Rule(id)
		if err != nil || !ok || r.Status != rule.Candidate {
			return err
		}
		if r.Trial == nil {
			// A candidate without a record could never run out of attempts.
			r.Trial = &rule.Trial{}
		}
		r.Trial.ReplayAttempts++
		return tx.PutRule(r)
	}); err != nil {
		return fmt.Errorf("count attempt of rule %s: %w", id, err)
	}
	return nil
}

// apply stores a verdict and, when it is terminal, moves the rule, all in one
// transaction. alive is false when the rule is no longer a candidate: then
// nothing is stored, since the verdict speaks of a rule that is gone.
func (v *Validator) apply(ctx context.Context, verdict *evidence.Verdict) (applied, alive bool, err error) {
	err = v.Store.Update(ctx, func(tx *store.Tx) error {
		r, ok, err := tx.Rule(verdict.RuleID)
		if err != nil || !ok || r.Status != rule.Candidate {
			return err
		}
		alive = true
		if err := yield(tx, r, verdict); err != nil {
			return err
		}
		data := map[string]any{"outcome": verdict.Outcome, "validator": verdict.Validator, "evidence": verdict.Evidence,
			"reason": short(verdict.Reason, 300), "verdict_id": verdict.ID}
		if verdict.PendingReason != "" {
			data["pending_reason"] = verdict.PendingReason
		}
		if verdict.Outcome != evidence.PendingStill {
			verdict.Applied = true
		}
		if same, err := unchanged(tx, *verdict); err != nil {
			return err
		} else if !same {
			if err := tx.PutVerdict(*verdict); err != nil {
				return err
			}
		}
		if err := tx.Emit(event.Event{Type: event.ValidationVerdict, RuleID: r.ID, Data: data}); err != nil {
			return err
		}
		if verdict.Outcome == evidence.PendingStill {
			return nil
		}
		moved := event.Event{Type: event.RulePromote, RuleID: r.ID, Data: map[string]any{
			"scope": r.Scope, "validator": verdict.Validator, "reason": short(verdict.Reason, 300), "verdict_id": verdict.ID}}
		r.Status, r.Reason, r.VerdictID = rule.Active, verdict.Reason, verdict.ID
		stamp := "promoted"
		if verdict.Outcome == evidence.Retire {
			r.Status, stamp = rule.Retired, "retired"
			moved.Type = event.RuleRetire
			moved.Data["deltas"] = deltas(verdict.Cases)
		}
		if r.Trial != nil {
			r.Trial.Verdict = stamp
		}
		applied = true
		if err := tx.PutRule(r); err != nil {
			return err
		}
		return tx.Emit(moved)
	})
	if err != nil {
		return false, false, fmt.Errorf("apply verdict on rule %s: %w", verdict.RuleID, err)
	}
	return applied, alive, nil
}

// yield keeps a rule that was to be promoted a candidate while an active one seems to say
// the opposite: of the two at most one is in force, and a person says which.
func yield(tx *store.Tx, r rule.Rule, verdict *evidence.Verdict) error {
	if verdict.Outcome != evidence.Promote {
		return nil
	}
	other, why, found, err := rule.Contradicted(tx, r)
	if err != nil || !found {
		return err
	}
	verdict.Outcome, verdict.PendingReason = evidence.PendingStill, evidence.ContradictsActive
	verdict.Reason = "it earned its place (" + verdict.Reason + ") but active rule " + other.ID + " seems to say the opposite: " + why
	return nil
}

// unchanged reports whether a verdict only repeats that nothing is known yet: it is
// journalled, but not kept beside the one before.
func unchanged(tx *store.Tx, v evidence.Verdict) (bool, error) {
	if v.Outcome != evidence.PendingStill || len(v.Cases) > 0 && v.Paired == nil {
		return false, nil
	}
	before, err := tx.Verdicts(v.RuleID)
	if err != nil || len(before) == 0 {
		return false, err
	}
	last := before[0]
	for _, b := range before[1:] {
		if b.At.After(last.At) {
			last = b
		}
	}
	if v.Identity != nil && (last.Identity == nil || *last.Identity != *v.Identity) {
		return false, nil
	}
	if v.Paired != nil && last.Paired != nil {
		// A test that is not run again says what it said.
		return v.PendingReason == last.PendingReason && v.Paired.TestID == last.Paired.TestID &&
			v.Paired.Counted+v.Paired.Guarded+v.Paired.Excluded == last.Paired.Counted+last.Paired.Guarded+last.Paired.Excluded, nil
	}
	return last.Outcome == v.Outcome && last.Validator == v.Validator && last.PendingReason == v.PendingReason &&
		last.Reason == v.Reason && len(last.Cases) == 0, nil
}

// deltas is the evidence behind a retirement: case → metric → change.
func deltas(cases []evidence.CaseResult) map[string]map[string]float64 {
	out := map[string]map[string]float64{}
	for _, c := range cases {
		if len(c.Deltas) > 0 {
			out[c.CaseID] = c.Deltas
		}
	}
	return out
}

func short(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return s
}
