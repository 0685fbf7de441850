package validate

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"vise/engine/event"
	"vise/engine/evidence"
	"vise/engine/rule"
	"vise/engine/trace"
	"vise/store"
)

// replayCases is counterfactual validation: the newest matching failures, then
// protected wins, each run afresh with only this candidate visible beside the
// active rules, one after the other. What one replay read counts for that replay
// only. Replays and their scores are stored like any session.
func (v *Validator) replayCases(ctx context.Context, r rule.Rule) (evidence.Verdict, error) {
	var all []evidence.Case
	var rules snapshot
	if err := v.Store.View(func(tx *store.Tx) (err error) {
		if all, err = tx.Cases(""); err != nil {
			return err
		}
		rules, err = v.snapshot(tx)
		return err
	}); err != nil {
		return evidence.Verdict{}, fmt.Errorf("validate rule %s: read cases: %w", r.ID, err)
	}
	failures, wins := evidence.SelectCases(r, distinct(all))
	var replays []evidence.Replayed
	if len(failures) > 0 {
		queue := slices.Concat(failures, wins)
		if err := v.planned(ctx, r.ID, queue); err != nil {
			return evidence.Verdict{}, err
		}
		for _, c := range queue {
			x, _, err := v.replayCase(ctx, r, c, rules, 0)
			if err != nil {
				return evidence.Verdict{}, err
			}
			if err := v.replayed(ctx, r.ID, x); err != nil {
				return evidence.Verdict{}, err
			}
			replays = append(replays, x)
		}
	}
	margins := evidence.Margins{Promote: v.Config.PromoteMargin, Regress: v.Config.RegressMargin}
	verdict := evidence.DecideReplay(r, replays, margins).Verdict
	verdict.EvaluatedBy = v.EvaluatedBy
	for _, c := range verdict.Cases {
		if err := v.journalCase(ctx, r.ID, c); err != nil {
			return evidence.Verdict{}, err
		}
	}
	return verdict, nil
}

// distinct keeps the newest of cases with equal inputs: they are one case.
func distinct(cases []evidence.Case) []evidence.Case {
	newest := map[string]int{}
	for i, c := range cases { // oldest first
		if c.Input != nil && c.Input.Digest != "" {
			newest[string(c.Kind)+c.Input.Digest] = i
		}
	}
	var out []evidence.Case
	for i, c := range cases {
		if c.Input == nil || c.Input.Digest == "" || newest[string(c.Kind)+c.Input.Digest] == i {
			out = append(out, c)
		}
	}
	return out
}

// replayCase runs one case with the candidate and scores its last turn. again numbers
// the repeats of one attempt, from 0.
func (v *Validator) replayCase(ctx context.Context, r rule.Rule, c evidence.Case, rules snapshot, again int) (evidence.Replayed, evidence.Arm, error) {
	attempt := 0
	if r.Trial != nil {
		attempt = r.Trial.ReplayAttempts
	}
	draw := strconv.Itoa(attempt)
	if again > 0 {
		draw += "/" + strconv.Itoa(again)
	}
	job := v.job(c, "treatment", evidence.RunSeed(v.Config.Seed, c.ID, "treatment", draw))
	job.RuleID, job.Subject, job.Rules, job.Scopes = r.ID, r.ID, rules.with(r), rules.scopes
	run, err := v.run(ctx, job, nil)
	if err != nil {
		return evidence.Replayed{}, evidence.Arm{}, fmt.Errorf("validate rule %s: %w", r.ID, err)
	}
	x := evidence.Replayed{Case: c, RunID: run.run.RunID, Read: run.arm.Read, Infrastructure: run.run.Infrastructure,
		Error: run.err, Usage: run.run.Usage, ElapsedMS: run.run.Elapsed.Milliseconds(),
		WaitTimedOut: v.Config.EnvWait > 0 && !run.run.Started && run.run.Infrastructure == "timeout"}
	if run.last == nil {
		return x, run.arm, nil
	}
	x.Scores = map[string]float64{}
	for m, value := range run.last {
		if c.Comparable(m, run.by[m]) {
			x.Scores[m] = value
		}
	}
	if n := len(run.run.Turns); n > 0 {
		x.Uncompared = evidence.Uncompared(c, run.last, run.by, trace.Count(run.run.Turns[n-1:]).Calls > 0)
	}
	return x, run.arm, nil
}

// job is a run of a case.
func (v *Validator) job(c evidence.Case, arm, seed string) evidence.Job {
	return evidence.Job{RunID: v.Store.NewID("run"), CaseID: c.ID, Arm: arm, Input: *c.Input, Seed: seed,
		Timeout: v.Config.ReplayTimeout, EnvWait: v.Config.EnvWait}
}

// snapshot are the active rules as they are when a test begins.
type snapshot struct {
	active []rule.Rule
	scopes map[string]string
}

// with are the rules that an arm can read: those of the snapshot and the one on trial.
func (s snapshot) with(subject rule.Rule) []rule.Rule { return append(s.without(subject.ID), subject) }

// without are those that the control arm can read. The list is never nil: that would
// mean the project's rules as they are.
func (s snapshot) without(id string) []rule.Rule {
	out := []rule.Rule{}
	for _, r := range s.active {
		if r.ID != id {
			out = append(out, r)
		}
	}
	return out
}

func (v *Validator) snapshot(tx *store.Tx) (s snapshot, err error) {
	if s.active, err = tx.Rules(rule.Active); err != nil {
		return s, err
	}
	s.scopes, err = tx.ScopeDescriptions()
	return s, err
}

func (v *Validator) journalCase(ctx context.Context, ruleID string, c evidence.CaseResult) error {
	data := map[string]any{"kind": c.Kind, "status": c.Status, "deltas": c.Deltas, "baseline": c.Baseline, "scores": c.Scores,
		"read": c.Read, "elapsed_ms": c.ElapsedMS}
	for k, s := range map[string]string{"target": c.Target, "reason": short(c.Reason, 300), "infrastructure": c.Infrastructure} {
		if s != "" {
			data[k] = s
		}
	}
	if err := v.Store.Update(ctx, func(tx *store.Tx) error {
		return tx.Emit(event.Event{Type: event.ValidationReplayCase, RuleID: ruleID, CaseID: c.CaseID, RunID: c.RunID, Data: data})
	}); err != nil {
		return fmt.Errorf("validate rule %s: journal case %s: %w", ruleID, c.CaseID, err)
	}
	return nil
}
