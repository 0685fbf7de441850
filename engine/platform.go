package engine

import (
	"context"
	"fmt"
	"slices"

	"vise/engine/event"
	"vise/engine/gate"
	"vise/engine/guard"
	"vise/engine/repair"
	"vise/engine/score"
	"vise/engine/score/pandaprobe"
	"vise/engine/trace"
	"vise/store"
)

// maxSeen bounds how many traces of one session are remembered as scored.
const maxSeen = 2000

// seenTraces are the traces of the platform that have been scored for a session, in
// order. They lie apart from the session's small state.
type seenTraces struct {
	IDs []string `json:"ids"`
}

func seenName(session string) string { return "platform/" + session }

// climbPlatform has the platform score the session's new traces, tier by tier. They
// are its own traces: the agent reports them, one or several to a turn, now or with
// a later turn. A platform that cannot be reached now is an Outage; one that is not
// installed or not logged in switches evaluations off.
func (h *Harness) climbPlatform(ctx context.Context, ladder gate.Ladder, head trace.Session, turn trace.Turn, states gate.States) (reading, error) {
	out := reading{gate: states}
	if head.Origin == trace.Recorded {
		out.faults = []fault{{"pandaprobe", "the platform has no trace of a recording"}}
		return out, nil
	}
	fail := func(err error) (reading, error) {
		if ctx.Err() != nil {
			return reading{}, context.Cause(ctx)
		}
		return reading{}, &Outage{SessionID: head.ID, TurnIndex: turn.Index, Err: err}
	}
	if err := h.platform.Healthy(ctx); err != nil {
		if ctx.Err() != nil {
			return fail(err)
		}
		out.sick = err.Error()
		return out, nil
	}
	var seen seenTraces
	if err := h.store.View(func(tx *store.Tx) error {
		_, err := tx.State(seenName(head.ID), &seen)
		return err
	}); err != nil {
		return out, err
	}
	traces, err := h.platform.NewTraces(ctx, head.ID, func(id string) bool { return slices.Contains(seen.IDs, id) })
	switch {
	case err != nil && pandaprobe.Permanent(err):
		out.faults = []fault{{"pandaprobe", err.Error()}}
		return out, nil
	case err != nil:
		return fail(err)
	case len(traces) == 0:
		out.faults = []fault{{"pandaprobe", "the platform has no new completed trace of session " + head.ID + "; the agent reports there itself, with VISE_SESSION_ID as session id"}}
		return out, nil
	}
	scores, after, err := ladder.Climb(states, traces, func(traces, metrics []string) ([]score.Score, error) {
		g, err := h.platform.Score(ctx, traces, metrics)
		for _, f := range g.Faults {
			out.faults = append(out.faults, fault{"pandaprobe", f})
		}
		return g.Scores, err
	})
	switch {
	case err != nil && pandaprobe.Permanent(err):
		out.faults = append(out.faults, fault{"pandaprobe", err.Error()})
	case err != nil:
		return fail(err)
	}
	for i := range scores {
		if scores[i].Alerting() {
			// What the agent did in our own words lies under the turn's trace.
			scores[i].Flagged = append(scores[i].Flagged, turn.TraceID)
		}
	}
	out.scores, out.gate, out.traces = scores, after, traces
	return out, nil
}

// reported stores which traces have been scored, and journals once in the life of
// the harness that the platform cannot be used.
func (h *Harness) reported(tx *store.Tx, session string, r reading) error {
	if len(r.traces) > 0 {
		var seen seenTraces
		if _, err := tx.State(seenName(session), &seen); err != nil {
			return err
		}
		seen.IDs = append(seen.IDs, r.traces...)
		seen.IDs = seen.IDs[max(0, len(seen.IDs)-maxSeen):]
		if err := tx.PutState(seenName(session), seen); err != nil {
			return err
		}
	}
	if r.sick == "" {
		return nil
	}
	h.mu.Lock()
	told := h.sick
	h.mu.Unlock()
	if told {
		return nil
	}
	tx.OnCommit(func() { h.mu.Lock(); h.sick = true; h.mu.Unlock() })
	return tx.Emit(event.Event{Type: event.Health, Data: map[string]any{"what": "pandaprobe", "ok": false,
		"reason": guard.Line(r.sick, 300), "effect": "turns are not evaluated"}})
}

// scoreReported has the platform score the newest trace of a replay.
func (h *Harness) scoreReported(ctx context.Context, s trace.Session) ([]score.Score, error) {
	if s.Origin == trace.Recorded {
		return nil, fmt.Errorf("score session %s: the platform has no trace of a recording", s.ID)
	}
	if err := h.platform.Healthy(ctx); err != nil {
		return nil, err
	}
	traces, err := h.platform.NewTraces(ctx, s.ID, func(string) bool { return false })
	if err != nil {
		return nil, err
	}
	if len(traces) == 0 {
		return nil, fmt.Errorf("score session %s: the platform has no completed trace of it", s.ID)
	}
	var metrics []string
	for _, m := range h.replayMetrics() {
		if score.TraceMetric(m) {
			metrics = append(metrics, m)
		}
	}
	g, err := h.platform.Score(ctx, traces[len(traces)-1:], metrics)
	return g.Scores, err
}

// remoteTrace is the platform's evidence for the repair agent.
func (h *Harness) remoteTrace(ctx context.Context, id string) repair.RemoteTrace {
	e := h.platform.Inspect(ctx, id)
	return repair.RemoteTrace{Trace: e.Trace, ToolSpans: e.Spans, Scores: e.Scores, Errs: e.Errs}
}
