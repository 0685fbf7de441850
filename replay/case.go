package replay

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"time"

	"vise/engine/event"
	"vise/engine/evidence"
	"vise/engine/rule"
	"vise/engine/trace"
	"vise/replay/driver"
)

// Cases replays cases for a validation. Publish may be nil.
type Cases struct {
	*Runner
	Publish func(event.Event)
}

// Replay runs one job: a fresh agent session fed the job's inputs, with only
// the job's candidate visible beside the active rules. Everything that went
// wrong on the way is in the Run; the error is non-nil only when the context
// ended, so that a cancelled validation is not mistaken for a result.
func (c Cases) Replay(ctx context.Context, job evidence.Job) (evidence.Run, error) {
	started := c.Now()
	run := evidence.Run{RunID: job.RunID, Session: trace.Session{
		ID: c.NewID("x"), Origin: trace.Replay, Source: c.Agent.source(), CaseID: job.CaseID, RuleID: job.RuleID, Started: started,
		TaskSummary: job.Input.TaskSummary, ScopeHints: job.Input.ScopeHints,
		Attrs: map[string]any{"run_id": job.RunID, "arm": job.Arm},
	}}
	view := c.View
	view.Restricted = true
	view.Candidates = nil
	if job.RuleID != "" && job.Arm != "control" {
		view.Candidates = []string{job.RuleID}
	}
	var rules rule.Source
	if job.Rules != nil {
		// The job brings what it may see: no change of the project reaches a run.
		rules = rule.NewSet(job.Rules, job.Scopes)
	}
	rctx, clock := startClock(ctx, job.EnvWait, job.Timeout)
	defer clock.stop()
	out, err := c.drive(rctx, plan{
		runID: job.RunID, sessionID: run.Session.ID, inputs: job.Input.Turns, seed: job.Seed, view: view, rules: rules, caseID: job.CaseID,
		ttl: job.EnvWait + job.Timeout + time.Minute, envWait: job.EnvWait, onExecution: clock.begin,
		onSpan: func(turn int, s trace.Span) {
			if c.Publish != nil {
				c.Publish(event.Event{Type: event.SpanProgress, At: c.Now(), SessionID: run.Session.ID, TurnIndex: event.Turn(turn),
					CaseID: job.CaseID, RuleID: cmp.Or(job.Subject, job.RuleID), RunID: job.RunID, Data: map[string]any{"span": s, "arm": job.Arm}})
			}
		},
		onTurn: func(t trace.Turn) error {
			t.SessionID = run.Session.ID
			run.Turns = append(run.Turns, t)
			run.Usage = run.Usage.Add(t.Usage)
			return nil
		},
	})
	reason := infrastructure(rctx, err) // before the clock ends its context
	run.Started = clock.stop()
	run.Session.Agent = out.info.Name()
	if out.info.PID != 0 {
		run.Session.Attrs["sandbox"] = out.info.Held.String()
		c.Agent.describe(out.info, run.Session.Attrs)
	}
	run.Session.Ended = c.Now()
	run.Session.Counts = trace.Count(run.Turns)
	run.Elapsed = run.Session.Ended.Sub(started)
	run.Read, run.Session.RulesRead, run.Offered = out.read, out.read, out.offered
	if err != nil {
		if ctx.Err() != nil {
			return run, fmt.Errorf("case %s: %w", job.CaseID, context.Cause(ctx))
		}
		run.Error, run.Infrastructure = bounded(err.Error(), 400), reason
		if reason == string(driver.StartFailed) {
			run.Error = bounded(notStarted(err), 400)
		}
	}
	return run, nil
}

// notStarted is the shortest that says why an agent did not start.
func notStarted(err error) string {
	var x *exec.Error
	if errors.As(err, &x) && errors.Is(x.Err, exec.ErrNotFound) {
		return "the agent did not start: " + x.Name + " not found; agent.command in vise.toml names it"
	}
	var de *driver.Error
	if errors.As(err, &de) && de.Err != nil {
		err = de.Err
	}
	return "the agent did not start: " + err.Error()
}
