package engine

import (
	"context"
	"errors"
	"fmt"

	"vise/engine/evidence"
	"vise/engine/guard"
	"vise/engine/score"
	"vise/engine/trace"
	"vise/store"
)

// ErrNoAgent is returned by what needs the developer's agent when none is configured.
var ErrNoAgent = errors.New("no agent is configured: set agent.command in vise.toml")

// alone keeps rounds and live turns away while the agent is run for evidence.
func (h *Harness) alone(ctx context.Context) (done func(), err error) {
	if done, err = h.agentUse.enter(ctx, true); err != nil {
		return nil, fmt.Errorf("wait for the agent: %w", err)
	}
	return done, nil
}

// reran is one run of a case outside of validation, and what its last turn scored.
type reran struct {
	run    evidence.Run
	scores map[string]float64
	by     map[string]string // who gave each of them
	// skip is why the run says nothing about the agent, in the words of a
	// regression run; "" = it counts.
	skip string
}

// rerun runs a job through the agent, stores the replay like any session and scores
// it. Its error means that the context ended, the store failed, or the agent could not be
// started at all, which the next run could not either; whatever else went wrong is in
// skip. The caller holds alone.
func (h *Harness) rerun(ctx context.Context, job evidence.Job) (reran, error) {
	if h.replayer == nil {
		return reran{}, ErrNoAgent
	}
	run, err := h.replayer.Replay(ctx, job)
	if err != nil {
		return reran{}, err
	}
	h.red.Session(&run.Session)
	for i := range run.Turns {
		h.red.Turn(&run.Turns[i])
		if t := &run.Turns[i]; t.TraceID == "" {
			t.TraceID = traceID(t.SessionID, t.Index)
		}
	}
	run.Error, _ = h.red.Text(run.Error)
	if run.NotStarted() {
		return reran{}, errors.New(guard.Line(run.Error, 300))
	}
	if err := h.keepRun(ctx, run); err != nil {
		return reran{}, fmt.Errorf("keep the replay of case %s: %w", job.CaseID, err)
	}
	out := reran{run: run}
	if run.Error != "" || run.Infrastructure != "" || len(run.Turns) < len(job.Input.Turns) {
		out.skip = evidence.SkipReplay
		return out, nil
	}
	scores, err := h.scoreReplay(ctx, run.Session, run.Turns)
	if err != nil {
		if ctx.Err() != nil {
			return reran{}, err
		}
		out.skip = evidence.SkipScoring
		out.run.Error = guard.Line(err.Error(), 300)
		return out, nil
	}
	report := score.Report{Scores: scores}
	out.scores, out.by = report.Baseline(), report.BaselineBy()
	return out, nil
}

// comparable are the scores that may be compared with the case's stored ones.
func (r reran) comparable(c evidence.Case) map[string]float64 {
	out := map[string]float64{}
	for m, v := range r.scores {
		if c.Comparable(m, r.by[m]) {
			out[m] = v
		}
	}
	return out
}

// keepRun stores the session of a run, so that it can be looked into.
func (h *Harness) keepRun(ctx context.Context, run evidence.Run) error {
	for _, t := range run.Turns {
		staged, err := h.store.StageTurn(ctx, t)
		if err != nil {
			return err
		}
		if err := h.store.Bulk(ctx, func(tx *store.Tx) error { return tx.PutTurn(staged) }); err != nil {
			return err
		}
	}
	if len(run.Turns) > 0 {
		run.Session.Title = guard.Line(run.Turns[0].Input, 80)
	}
	run.Session.Counts = trace.Count(run.Turns)
	return h.store.Update(ctx, func(tx *store.Tx) error { return tx.PutSession(run.Session) })
}

// controlJob is a run of a case without any candidate; n tells repeated ones apart.
func (h *Harness) controlJob(c evidence.Case, purpose string, n int) evidence.Job {
	v := h.cfg.Validate
	return evidence.Job{RunID: h.store.NewID("run"), CaseID: c.ID, Arm: "control", Input: *c.Input,
		Seed: evidence.RunSeed(v.Seed, c.ID, purpose, fmt.Sprint(n)), Timeout: v.ReplayTimeout, EnvWait: v.EnvWait}
}
