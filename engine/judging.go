package engine

import (
	"context"
	"fmt"
	"strings"

	"vise/engine/event"
	"vise/engine/evidence"
	"vise/engine/gate"
	"vise/engine/guard"
	"vise/engine/model"
	"vise/engine/score"
	"vise/engine/score/judge"
	"vise/engine/trace"
	"vise/engine/validate"
	"vise/store"
)

// Outage says that the evaluator could not be reached for a turn. The turn is kept
// as not yet evaluated: the session's next settle asks again, and so does
// ScoreBacklog.
type Outage struct {
	SessionID string
	TurnIndex int
	Err       error
}

// Error is one line with what becomes of the turn.
func (o *Outage) Error() string {
	return fmt.Sprintf("turn %d of session %s could not be evaluated now and waits for the next settle: %v", o.TurnIndex, o.SessionID, o.Err)
}

// Unwrap returns the cause.
func (o *Outage) Unwrap() error { return o.Err }

// earlierTurns is how many turns before the one it grades a judge is given.
const earlierTurns = 6

// climbJudge asks the judge tier by tier. A judge that cannot be reached is an
// Outage; a spent budget leaves the scores pending, as admission does.
func (h *Harness) climbJudge(ctx context.Context, ladder gate.Ladder, head trace.Session, turn trace.Turn, states gate.States) (reading, error) {
	var out reading
	var earlier []trace.Turn
	if from := max(0, turn.Index-earlierTurns); turn.Index > 0 {
		if err := h.store.View(func(tx *store.Tx) (err error) {
			earlier, err = tx.TurnsBefore(head.ID, from, turn.Index)
			return err
		}); err != nil {
			return out, err
		}
	}
	q := h.question(ladder, head, earlier, turn, false)
	scores, after, err := ladder.Climb(states, []string{turn.TraceID}, func(_, metrics []string) ([]score.Score, error) {
		q.Metrics = metrics
		g, err := h.judge.Grade(ctx, q)
		for _, f := range g.Faults {
			out.faults = append(out.faults, fault{"judge", f})
		}
		return g.Scores, err
	})
	out.scores, out.gate = scores, after
	switch {
	case model.KindOf(err) == model.KindBudget:
		out.budget = err.Error()
		out.faults = append(out.faults, fault{"judge", err.Error()})
	case err != nil && ctx.Err() != nil:
		return reading{}, context.Cause(ctx)
	case err != nil:
		return reading{}, &Outage{SessionID: head.ID, TurnIndex: turn.Index, Err: err}
	}
	return out, nil
}

// question is what the judge is asked about a turn, without the metrics.
func (h *Harness) question(ladder gate.Ladder, head trace.Session, earlier []trace.Turn, turn trace.Turn, validation bool) judge.Question {
	return judge.Question{Session: head, Earlier: earlier, Turn: turn, Votes: h.cfg.Evaluate.VotesIn(validation),
		Threshold: ladder.Threshold, Margin: h.cfg.Validate.PromoteMargin}
}

// gradeLast asks the judge about the last turn of a replay, with the votes of a
// validation or those of a live turn. A metric without a grade is pending; why is journalled.
func (h *Harness) gradeLast(ctx context.Context, s trace.Session, turns []trace.Turn, validation bool) ([]score.Score, error) {
	last := turns[len(turns)-1]
	q := h.question(h.ladder(nil), s, turns[:len(turns)-1], last, validation)
	for _, m := range h.replayMetrics() {
		if score.TraceMetric(m) {
			q.Metrics = append(q.Metrics, m)
		}
	}
	g, err := h.judge.Grade(ctx, q)
	if err != nil && model.KindOf(err) != model.KindBudget {
		return nil, err
	}
	faults := g.Faults
	if err != nil {
		faults = []string{err.Error()}
	}
	if len(faults) == 0 {
		return g.Scores, nil
	}
	if uerr := h.store.Update(ctx, func(tx *store.Tx) error {
		if err != nil {
			if err := h.stopped(tx, err.Error()); err != nil {
				return err
			}
		}
		return tx.Emit(h.unscored(s.ID, last.Index, fault{"judge", strings.Join(faults, "; ")}))
	}); uerr != nil {
		return nil, uerr
	}
	return g.Scores, err
}

// stopped journals, once in the life of the harness, that the budget is spent.
func (h *Harness) stopped(tx *store.Tx, reason string) error {
	h.mu.Lock()
	told := h.broke
	h.mu.Unlock()
	if told {
		return nil
	}
	tx.OnCommit(func() { h.mu.Lock(); h.broke = true; h.mu.Unlock() })
	return tx.Emit(event.Event{Type: event.BudgetStopped, Data: map[string]any{"reason": guard.Line(reason, 300)}})
}

// metered books what the agent used in replays.
type metered struct {
	next   validate.Replayer
	ledger *model.Ledger
}

// Replay runs the job.
func (m metered) Replay(ctx context.Context, job evidence.Job) (evidence.Run, error) {
	run, err := m.next.Replay(ctx, job)
	if !run.Usage.IsZero() {
		m.ledger.Add("agent", run.Usage)
	}
	return run, err
}
