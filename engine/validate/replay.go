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
	if err := v.Store.View(func(tx *store.Tx) (err error) {
		all, err = tx.Cases("")
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
			x, err := v.replayCase(ctx, r, c)
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

// replayCase runs one case with the candidate and scores its last turn.
func (v *Validator) replayCase(ctx context.Context, r rule.Rule, c evidence.Case) (evidence.Replayed, error) {
	attempt := 0
	if r.Trial != nil {
		attempt = r.Trial.ReplayAttempts
	}
	job := evidence.Job{RunID: v.Store.NewID("run"), CaseID: c.ID, RuleID: r.ID, Arm: "treatment", Input: *c.Input,
		Seed:    evidence.RunSeed(v.Config.Seed, c.ID, "treatment", strconv.Itoa(attempt)),
		Timeout: v.Config.ReplayTimeout, EnvWait: v.Config.EnvWait}
	run, err := v.Replayer.Replay(ctx, job)
	if err != nil {
		return evidence.Replayed{}, fmt.Errorf("validate rule %s: %w", r.ID, err)
	}
	if v.Redactor != nil {
		v.Redactor.Session(&run.Session)
		for i := range run.Turns {
			v.Redactor.Turn(&run.Turns[i])
		}
		run.Error, _ = v.Redactor.Text(run.Error)
	}
	x := evidence.Replayed{Case: c, RunID: run.RunID, Read: slices.Contains(run.Read, r.ID), Infrastructure: run.Infrastructure,
		Error: run.Error, Usage: run.Usage, ElapsedMS: run.Elapsed.Milliseconds(),
		WaitTimedOut: v.Config.EnvWait > 0 && !run.Started && run.Infrastructure == "timeout"}
	if err := v.keep(ctx, run); err != nil {
		return x, fmt.Errorf("validate rule %s: keep replay of case %s: %w", r.ID, c.ID, err)
	}
	if run.Error != "" || len(run.Turns) < len(c.Input.Turns) {
		if x.Error == "" {
			x.Error = fmt.Sprintf("the replay ended after %d of %d turns", len(run.Turns), len(c.Input.Turns))
		}
		return x, nil
	}
	scores, err := v.Score(ctx, run.Session, run.Turns)
	if err != nil {
		x.Error = short("scoring failed: "+err.Error(), 300)
		return x, nil
	}
	x.Scores = map[string]float64{}
	for _, s := range scores {
		if s.Value != nil && c.Comparable(s.Metric, s.By) {
			x.Scores[s.Metric] = *s.Value
		}
	}
	return x, nil
}

// keep stores the replay's session, so that a verdict can be looked into.
func (v *Validator) keep(ctx context.Context, run evidence.Run) error {
	for _, t := range run.Turns {
		if t.TraceID == "" {
			t.TraceID = fmt.Sprintf("%s.%d", t.SessionID, t.Index)
		}
		staged, err := v.Store.StageTurn(ctx, t)
		if err != nil {
			return err
		}
		if err := v.Store.Bulk(ctx, func(tx *store.Tx) error { return tx.PutTurn(staged) }); err != nil {
			return err
		}
	}
	run.Session.Title = titleOf(run.Turns)
	return v.Store.Update(ctx, func(tx *store.Tx) error { return tx.PutSession(run.Session) })
}

func titleOf(turns []trace.Turn) string {
	for _, t := range turns {
		if t.Input != "" {
			return short(t.Input, 80)
		}
	}
	return ""
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
