package validate

import (
	"context"
	"errors"
	"fmt"
	"time"

	"vise/engine/event"
	"vise/engine/evidence"
	"vise/engine/rule"
	"vise/store"
)

// Retest tests rules in force again, each left out of its control runs: the same
// evidence as for a candidate, from runs of their own. What it means for the rule:
//
//   - it helps: the new verdict takes the place of the old one, and a flag falls;
//   - paired evidence shows harm: the rule is retired;
//   - it does not help any more, or one deterministic run got worse: the rule stays in
//     force and is flagged, since a person may know why;
//   - not decided: nothing changes.
//
// Rules that are not active are an error. o.Rules names the rules, none = all active.
func (v *Validator) Retest(ctx context.Context, o Options) (Round, error) {
	round := Round{Actives: true}
	if !v.canReplay() {
		return round, errors.New("test active rules again: no agent is configured: set agent.command in vise.toml")
	}
	queue, err := v.inForce(o.Rules)
	if err != nil || len(queue) == 0 {
		return round, err
	}
	if err := v.Store.Update(ctx, func(tx *store.Tx) error {
		return tx.Emit(event.Event{Type: event.ValidationRoundStarted, Data: map[string]any{"queued": queue, "actives": true}})
	}); err != nil {
		return round, fmt.Errorf("start round over active rules: %w", err)
	}
	deadline := v.deadline(o)
	o.OwnCase = true // it was accepted when the rule was promoted
	for i, id := range queue {
		t := turn{options: o, allow: true}
		if !deadline.IsZero() {
			now := v.Store.Now()
			if !now.Before(deadline) {
				round.BudgetExhausted = true
				break
			}
			t.deadline = now.Add(deadline.Sub(now) / time.Duration(len(queue)-i))
		}
		if err := v.retest(ctx, id, t, &round); err != nil {
			return round, v.broken(ctx, round, err)
		}
		if round.Stopped != "" {
			round.Pending += len(queue) - i
			break
		}
	}
	return round, v.end(ctx, round)
}

// inForce returns the ids of the active rules, or checks the named ones.
func (v *Validator) inForce(only []string) (ids []string, err error) {
	err = v.Store.View(func(tx *store.Tx) error {
		if len(only) == 0 {
			rules, err := tx.Rules(rule.Active)
			for _, r := range rules {
				ids = append(ids, r.ID)
			}
			return err
		}
		for _, id := range only {
			r, ok, err := tx.Rule(id)
			switch {
			case err != nil:
				return err
			case !ok:
				return fmt.Errorf("no rule %q; vise rules ls lists them", id)
			case r.Status != rule.Active:
				return fmt.Errorf("rule %s is %s; only active rules are tested again", id, r.Status)
			}
			ids = append(ids, id)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("test active rules again: %w", err)
	}
	return ids, nil
}

// retest gives one active rule its turn.
func (v *Validator) retest(ctx context.Context, id string, t turn, round *Round) error {
	var r rule.Rule
	var number int
	if err := v.Store.View(func(tx *store.Tx) error {
		var ok bool
		var err error
		if r, ok, err = tx.Rule(id); err != nil || !ok || r.Status != rule.Active {
			r = rule.Rule{}
			return err
		}
		before, err := tx.Verdicts(id)
		for _, b := range before {
			if b.Validator == evidence.Retested && b.Outcome != evidence.PendingStill {
				number++
			}
		}
		return err
	}); err != nil {
		return fmt.Errorf("test rule %s again: %w", id, err)
	}
	if r.ID == "" {
		return nil // it left since the round began
	}
	if err := v.started(ctx, id, evidence.Retested, number); err != nil {
		return err
	}
	// Runs of its own: another base seed is another test, also to the bank of control
	// runs. One that was cut off goes on, since the number counts decided ones.
	w := &Validator{Store: v.Store, Config: v.Config, Replayer: v.Replayer, Score: v.Score, Redactor: v.Redactor, Process: v.Process,
		Agent: v.Agent, Surroundings: v.Surroundings, EvaluatedBy: v.EvaluatedBy, replay: v.replay}
	w.Config.Seed += int64(number+1) << 32
	tctx, end := v.test(ctx, id)
	verdict, err := w.strategy(tctx, r, t)
	withdrawn := errors.Is(context.Cause(tctx), errWithdrawn)
	end()
	if ctx.Err() != nil {
		return fmt.Errorf("test rule %s again: %w", id, context.Cause(ctx))
	}
	if withdrawn {
		return nil
	}
	var lost notStarted
	if errors.As(err, &lost) {
		round.Stopped = lost.said // it stays in the queue
		return nil
	}
	if err != nil {
		return v.failed(ctx, id, err)
	}
	verdict.RuleID, verdict.At, verdict.Agent, verdict.ID = id, v.Store.Now(), v.Agent, v.Store.NewID("v")
	verdict.Validator, verdict.Attempt, verdict.Identity = evidence.Retested, number+1, nil
	if err := v.identify(&verdict); err != nil {
		return err
	}
	return v.settle(ctx, &verdict, round)
}

// settle stores the verdict on a rule in force with what follows from it.
func (v *Validator) settle(ctx context.Context, verdict *evidence.Verdict, round *Round) error {
	var confirmed, retired, flagged, alive bool
	if err := v.Store.Update(ctx, func(tx *store.Tx) error {
		r, ok, err := tx.Rule(verdict.RuleID)
		if err != nil || !ok || r.Status != rule.Active {
			return err
		}
		alive = true
		result := verdict.Result()
		confirmed, retired, flagged = result == evidence.Confirmed, result == evidence.ResultRetired, result == evidence.ResultFlagged
		verdict.Applied = confirmed || retired
		if err := tx.PutVerdict(*verdict); err != nil {
			return err
		}
		data := map[string]any{"result": verdict.Result(), "outcome": verdict.Outcome, "validator": verdict.Validator, "evidence": verdict.Evidence,
			"reason": short(verdict.Reason, 300), "verdict_id": verdict.ID}
		if verdict.PendingReason != "" {
			data["pending_reason"] = verdict.PendingReason
		}
		if err := tx.Emit(event.Event{Type: event.ValidationVerdict, RuleID: r.ID, Data: data}); err != nil {
			return err
		}
		e := event.Event{RuleID: r.ID}
		switch {
		case confirmed:
			if e.Type = event.RuleCleared; r.Flag != nil {
				e.Data = map[string]any{"why": "a new test shows that it helps; before: " + r.Flag.Why}
			} else {
				e.Type = ""
			}
			r.VerdictID, r.Reason, r.Flag = verdict.ID, verdict.Reason, nil
		case retired:
			r.Status, r.Reason, r.VerdictID = rule.Retired, verdict.Reason, verdict.ID
			e.Type, e.Data = event.RuleRetire, map[string]any{"scope": r.Scope, "validator": verdict.Validator,
				"reason": short(verdict.Reason, 300), "verdict_id": verdict.ID, "deltas": deltas(verdict.Cases)}
		case flagged:
			f := &rule.Flag{At: v.Store.Now().UTC().Format(time.RFC3339Nano), Why: "a new test found: " + short(verdict.Reason, 250)}
			for _, c := range verdict.Cases[:min(len(verdict.Cases), 10)] {
				f.Cases, f.Runs = append(f.Cases, c.CaseID), append(f.Runs, c.RunID)
			}
			r.Flag = f
			e.Type, e.Data = event.RuleFlagged, map[string]any{"why": f.Why, "cases": f.Cases}
		default:
			return nil
		}
		if err := tx.PutRule(r); err != nil || e.Type == "" {
			return err
		}
		return tx.Emit(e)
	}); err != nil {
		return fmt.Errorf("apply the new verdict on rule %s: %w", verdict.RuleID, err)
	}
	if !alive {
		return nil
	}
	round.Verdicts = append(round.Verdicts, *verdict)
	switch {
	case confirmed:
		round.Confirmed++
	case retired:
		round.Retired++
	case flagged:
		round.Flagged++
	default:
		round.Pending++
	}
	return nil
}
