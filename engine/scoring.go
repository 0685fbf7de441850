package engine

import (
	"context"
	"fmt"
	"slices"

	"vise/engine/event"
	"vise/engine/gate"
	"vise/engine/guard"
	"vise/engine/score"
	"vise/engine/score/local"
	"vise/engine/score/verifier"
	"vise/engine/trace"
	"vise/store"
)

// reading is what the evaluators brought for one turn.
type reading struct {
	scores []score.Score // in the order of the report
	shown  []score.Score // scored beside them, for display only
	gate   gate.States   // after the turn
	faults []fault
	traces []string // of the platform, that are seen with this turn
	sick   string   // why the platform cannot be used, "" = it can
	budget string   // why the evaluator stopped asking, "" = it did not
}

// fault is why a score that was asked for is missing.
type fault struct {
	what   string // who was asked: "verifier"
	reason string
}

// unscored is the journal event of a fault. Its reason may quote a program or a server,
// which may quote a key.
func (h *Harness) unscored(session string, turn int, f fault) event.Event {
	f.reason, _ = h.red.Text(f.reason)
	return event.Event{Type: event.Skip, SessionID: session, TurnIndex: event.Turn(turn),
		Data: map[string]any{"what": f.what, "reason": guard.Line(f.reason, 300)}}
}

// read evaluates a turn: tier by tier, and the verifier beside them. Its verdict
// stands last in the report and opens no tier.
func (h *Harness) read(head trace.Session, turn trace.Turn, state sessionState, l *lane) (reading, error) {
	ctx, stop := context.WithCancel(h.ctx)
	defer stop()
	verdict := h.verify(ctx, head, turn)
	out, err := h.climb(ctx, head, turn, state, l)
	if err != nil {
		stop()
		<-verdict
		return reading{}, err
	}
	o := <-verdict
	if h.ctx.Err() != nil {
		// What was cut off is no verdict; the next start evaluates the turn again.
		return reading{}, context.Cause(h.ctx)
	}
	if o.score != nil {
		out.scores = append(out.scores, *o.score)
	}
	if o.fault != nil {
		out.faults = append(out.faults, *o.fault)
	}
	return out, nil
}

// climb asks the evaluator tier by tier.
func (h *Harness) climb(ctx context.Context, head trace.Session, turn trace.Turn, state sessionState, l *lane) (reading, error) {
	if state.GateBy != "" && state.GateBy != h.by {
		state.Gate = nil
	}
	noise, err := h.gateNoise()
	if err != nil {
		return reading{}, err
	}
	ladder := h.ladder(noise)
	switch {
	case h.judge != nil:
		return h.climbJudge(ctx, ladder, head, turn, state.Gate)
	case h.platform != nil:
		return h.climbPlatform(ctx, ladder, head, turn, state.Gate)
	}
	all, err := h.fold(l, head, turn)
	if err != nil {
		return reading{}, err
	}
	if h.cfg.Evaluate.EnableTier3 {
		all = append(all, local.PlanAdherence(head.Tools, turn))
	}
	scores, after, err := ladder.Climb(state.Gate, []string{turn.TraceID}, answer(all))
	return reading{scores: scores, shown: all, gate: after}, err
}

// answer serves the ladder's requests from the scores of the turn's one trace.
func answer(all []score.Score) gate.Request {
	return func(_, metrics []string) ([]score.Score, error) {
		var out []score.Score
		for _, s := range all {
			if slices.Contains(metrics, s.Metric) {
				out = append(out, s)
			}
		}
		return out, nil
	}
}

// outcome is the verifier's verdict: a score, a fault, or neither (it had no opinion).
type outcome struct {
	score *score.Score
	fault *fault
}

// verify asks the verifier about a turn, in the background. The channel always gives
// one outcome.
func (h *Harness) verify(ctx context.Context, head trace.Session, turn trace.Turn) <-chan outcome {
	c := make(chan outcome, 1)
	if h.verifier == nil {
		c <- outcome{}
		return c
	}
	go func() {
		var heads []store.TurnHead
		err := h.store.View(func(tx *store.Tx) (err error) {
			heads, err = tx.TurnHeads(head.ID, 0, turn.Index+1)
			return err
		})
		if err != nil {
			c <- outcome{fault: &fault{"verifier", err.Error()}}
			return
		}
		c <- h.verdict(ctx, verifier.Question{Session: head, Inputs: inputs(heads, turn.Index), Turn: turn})
	}()
	return c
}

// verdict runs the verifier on one turn.
func (h *Harness) verdict(ctx context.Context, q verifier.Question) outcome {
	v, err := h.verifier.Verify(ctx, q)
	switch {
	case err != nil:
		return outcome{fault: &fault{"verifier", err.Error()}}
	case v.Value == nil:
		return outcome{}
	}
	ladder := h.ladder(nil)
	s := ladder.Outcome(*v.Value, h.verifier.Identity())
	if s.Breached() {
		// The verdict is about the whole turn: its trace is what a repair may look into.
		s.Flagged = []string{q.Turn.TraceID}
	}
	return outcome{score: &s}
}

// scoreReplay scores the last turn of a replayed session on the replay metrics,
// the outcome included when the verifier answers.
func (h *Harness) scoreReplay(ctx context.Context, s trace.Session, turns []trace.Turn) ([]score.Score, error) {
	return h.scoreVotes(ctx, s, turns, true)
}

// scoreVotes is scoreReplay with the judge's votes of a validation, or of a live turn.
func (h *Harness) scoreVotes(ctx context.Context, s trace.Session, turns []trace.Turn, validation bool) ([]score.Score, error) {
	if len(turns) == 0 {
		return nil, fmt.Errorf("score session %s: it has no turn", s.ID)
	}
	out, err := h.scoreLast(ctx, s, turns, validation)
	if err != nil || h.verifier == nil {
		return out, err
	}
	last := turns[len(turns)-1]
	q := verifier.Question{Session: s, Turn: last}
	for _, t := range turns {
		if !t.Synthetic && t.Input != "" {
			q.Inputs = append(q.Inputs, t.Input)
		}
	}
	o := h.verdict(ctx, q)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if o.score != nil {
		out = append(out, *o.score)
	}
	if o.fault != nil {
		if err := h.store.Update(ctx, func(tx *store.Tx) error { return tx.Emit(h.unscored(s.ID, last.Index, *o.fault)) }); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// scoreLast asks the evaluator about the last turn of a replay.
func (h *Harness) scoreLast(ctx context.Context, s trace.Session, turns []trace.Turn, validation bool) ([]score.Score, error) {
	switch {
	case h.judge != nil:
		return h.gradeLast(ctx, s, turns, validation)
	case h.platform != nil:
		return h.scoreReported(ctx, s)
	}
	eval := local.New(s, local.Options{Handoff: h.cfg.Evaluate.Handoff})
	var all []score.Score
	for _, t := range turns {
		all = eval.Turn(t)
	}
	wanted := h.replayMetrics()
	return slices.DeleteFunc(all, func(sc score.Score) bool { return !slices.Contains(wanted, sc.Metric) }), nil
}

// identity names all that scores come from: evaluator and verifier.
func (h *Harness) identity() string {
	if h.verifier == nil {
		return h.by
	}
	return h.by + "; " + h.verifier.Identity()
}
