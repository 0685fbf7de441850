package validate

import (
	"context"
	"fmt"
	"slices"

	"vise/engine/evidence"
	"vise/engine/score"
	"vise/engine/trace"
	"vise/store"
)

// Process is what the offline evaluator sees in a whole replay.
type Process struct {
	// Means of each metric over the turns that have a value of it.
	Means map[string]float64
	// Fired are the ids of all checks that fired, Faults those of weight (sign or
	// fault), sorted.
	Fired, Faults []string
}

// outcome is what one replay brought.
type outcome struct {
	run evidence.Run
	// last are the scores of the last turn and by who gave them; nil when there are
	// none because of what err says.
	last map[string]float64
	by   map[string]string
	err  string
	arm  evidence.Arm
}

// run runs a job, stores its session and scores it. checks are the ids of the checks
// that had fired in the case. The error means that the context ended or the store failed.
func (v *Validator) run(ctx context.Context, job evidence.Job, checks []string) (outcome, error) {
	run, err := v.pool().Dispatch(ctx, job)
	if err != nil {
		return outcome{}, err
	}
	if run.NotStarted() {
		said := run.Error
		if v.Redactor != nil {
			said, _ = v.Redactor.Text(said)
		}
		return outcome{}, notStarted{said}
	}
	if v.Redactor != nil {
		v.Redactor.Session(&run.Session)
		for i := range run.Turns {
			v.Redactor.Turn(&run.Turns[i])
		}
		run.Error, _ = v.Redactor.Text(run.Error)
	}
	if err := v.keep(ctx, run); err != nil {
		return outcome{}, fmt.Errorf("keep replay of case %s: %w", job.CaseID, err)
	}
	x := outcome{run: run, arm: evidence.Arm{RunID: run.RunID, SessionID: run.Session.ID, Seed: job.Seed, Offered: run.Offered,
		Read: slices.Contains(run.Read, job.RuleID), Usage: run.Usage, Steps: run.Session.Counts.Steps + run.Session.Counts.Calls,
		ElapsedMS: run.Elapsed.Milliseconds(), Scores: map[string]float64{}}}
	if run.Error != "" || len(run.Turns) < len(job.Input.Turns) {
		x.err = run.Error
		if x.err == "" {
			x.err = fmt.Sprintf("the replay ended after %d of %d turns", len(run.Turns), len(job.Input.Turns))
		}
		x.arm.Error = short(x.err, 300)
		x.cut(run)
		return x, nil
	}
	scores, err := v.Score(ctx, run.Session, run.Turns)
	if ctx.Err() != nil {
		return outcome{}, fmt.Errorf("score replay of case %s: %w", job.CaseID, context.Cause(ctx))
	}
	if err != nil {
		said := err.Error() // it may quote what the evaluator has written
		if v.Redactor != nil {
			said, _ = v.Redactor.Text(said)
		}
		x.err = short("scoring failed: "+said, 300)
		x.arm.Error, x.arm.Infrastructure = x.err, "scoring_failed"
		return x, nil
	}
	x.last, x.by = map[string]float64{}, map[string]string{}
	for _, s := range scores {
		if s.Value != nil {
			x.last[s.Metric], x.by[s.Metric] = *s.Value, s.By
			x.arm.Scores[s.Metric] = *s.Value
		}
	}
	x.arm.Trace = trace.Fingerprint(run.Turns)
	v.process(&x, checks)
	return x, nil
}

// process puts the means over the turns in the place of the offline scores of the last
// turn, which move by themselves from run to run (in each of 24 pairs of sibling runs of a
// benchmark agent; their means in 7 %).
func (v *Validator) process(x *outcome, checks []string) {
	if v.Process == nil {
		return
	}
	p := v.Process(x.run.Session, x.run.Turns)
	x.arm.Process, x.arm.Faults = true, p.Faults
	for m, mean := range p.Means {
		x.arm.Scores[m] = mean
	}
	x.arm.Triggered = slices.ContainsFunc(checks, func(c string) bool { return slices.Contains(p.Fired, c) })
}

// cut tells a run that was ended by its time limit after execution had begun, which
// is a failure of the run, from those that say nothing about the agent.
func (x *outcome) cut(run evidence.Run) {
	switch {
	case run.Infrastructure == "timeout" && run.Started:
		x.arm.Late = true
	case run.Infrastructure != "":
		x.arm.Infrastructure = run.Infrastructure
	default:
		x.arm.Infrastructure = "error"
	}
}

// fail gives a run that was late the lowest outcome on the metrics of the test.
func fail(a *evidence.Arm, metrics []string) {
	if a.Late {
		for _, m := range metrics {
			a.Scores[m] = 0
		}
	}
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

// informOnly are the metrics that were measured to be too noisy to decide, or not to
// tell the agent from one that does nothing.
func informOnly(m evidence.Measured, by string) []string {
	var out []string
	if m.EvaluatedBy != by {
		return nil // another evaluator was measured
	}
	for _, r := range m.Readings {
		if !r.Decides && r.Evaluator != nil && r.Evaluator.N > 0 && r.Metric != score.OutcomeCorrect {
			out = append(out, r.Metric)
		}
	}
	return out
}
