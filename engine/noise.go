package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"vise/engine/event"
	"vise/engine/evidence"
	"vise/engine/gate"
	"vise/engine/score"
	"vise/engine/trace"
	"vise/store"
)

// NoiseOptions bound a measurement of noise.
type NoiseOptions struct {
	Turns   int // stored turns that are evaluated again
	Repeats int // evaluations of each
	Cases   int // cases that are run again
	Runs    int // runs of each; 0 = the agent is not run
}

// turnsOfSession bounds how many turns of one session a measurement takes, so that
// one long session is not the whole of it.
const turnsOfSession = 4

// MeasureNoise measures how much scores scatter when nothing changes: the
// evaluator's part by evaluating stored turns again, the agent's by running cases
// again without any candidate. The result replaces the stored one: the gate in mode
// auto goes by it. Errors: ErrNoAgent when runs are wanted and there is no agent, what
// the first agent that does not start says; the stored result stays then.
func (h *Harness) MeasureNoise(ctx context.Context, o NoiseOptions) (evidence.Measured, error) {
	fail := func(err error) (evidence.Measured, error) {
		return evidence.Measured{}, fmt.Errorf("measure noise: %w", err)
	}
	switch {
	case o.Runs > 0 && h.replayer == nil:
		return fail(ErrNoAgent)
	case h.platform != nil:
		return fail(errors.New("the platform scores a trace once and cannot be asked again; use evaluate.by = local or judge"))
	}
	m := evidence.Measured{EvaluatedBy: h.identity(), Repeats: o.Repeats, Runs: o.Runs}
	turns, idle, n, err := h.evaluateAgain(ctx, o)
	if err != nil {
		return fail(err)
	}
	if n == 0 {
		return fail(fmt.Errorf("no stored turn to evaluate again; vise import PATH... brings sessions in"))
	}
	m.Turns = n
	runs, worst := samples{}, samples{}
	if o.Runs > 0 {
		m.Agent = h.valid.Agent
		if runs, worst, err = h.runAgain(ctx, o, &m); err != nil {
			return fail(err)
		}
	}
	for _, metric := range h.replayMetrics() {
		r := evidence.Reading{Metric: metric, Idle: idle[metric]}
		if groups := turns[metric]; len(groups) > 0 {
			x := evidence.MeasureNoise(metric, groups, h.thresholdOf(metric))
			r.Evaluator = &x
		}
		if groups := runs[metric]; len(groups) > 0 {
			x := evidence.MeasureNoise(metric, groups, h.thresholdOf(metric))
			if low := worst[metric]; len(low) > 0 {
				// A turn under the line is hidden by a mean over it.
				x.Flips = evidence.MeasureNoise(metric, low, h.thresholdOf(metric)).Flips
			}
			r.Agent = &x
		}
		if r.Evaluator == nil && r.Agent == nil {
			continue // such as the outcome without a verifier
		}
		m.Readings = append(m.Readings, r.Judge())
	}
	m.At = h.now()
	if err := h.store.Update(ctx, func(tx *store.Tx) error {
		if err := tx.PutNoise(m); err != nil {
			return err
		}
		inform := []string{}
		for _, r := range m.Readings {
			if !r.Decides {
				inform = append(inform, r.Metric)
			}
		}
		return tx.Emit(event.Event{Type: event.NoiseMeasured, Data: map[string]any{
			"evaluated_by": m.EvaluatedBy, "turns": m.Turns, "repeats": m.Repeats, "cases": m.Cases, "runs": m.Runs, "failed": m.Failed, "inform_only": inform}})
	}); err != nil {
		return fail(err)
	}
	return m, nil
}

// samples are groups of repeated values by metric.
type samples map[string][][]float64

// add takes one group: a list of evaluations of the same thing.
func (s samples) add(group []map[string]float64) {
	by := map[string][]float64{}
	for _, scores := range group {
		for m, v := range scores {
			by[m] = append(by[m], v)
		}
	}
	for m, list := range by {
		s[m] = append(s[m], list)
	}
}

// evaluateAgain evaluates the newest stored turns of developers' sessions, and an
// agent that does nothing on the same inputs.
func (h *Harness) evaluateAgain(ctx context.Context, o NoiseOptions) (samples, map[string]*float64, int, error) {
	var heads []trace.Session
	if err := h.store.View(func(tx *store.Tx) (err error) {
		heads, err = tx.Sessions(store.Window{Own: true, Limit: 4 * max(1, o.Turns)})
		return err
	}); err != nil {
		return nil, nil, 0, err
	}
	out, idle := samples{}, samples{}
	n := 0
	for _, head := range heads {
		if head.Origin == trace.Replay || n >= o.Turns {
			continue
		}
		var turns []trace.Turn
		if err := h.store.View(func(tx *store.Tx) (err error) {
			turns, err = tx.Turns(head.ID, 0, 0)
			return err
		}); err != nil {
			return nil, nil, 0, err
		}
		first := max(0, len(turns)-min(turnsOfSession, o.Turns-n))
		for i := first; i < len(turns); i++ {
			if turns[i].CutShort() {
				continue
			}
			group := make([]map[string]float64, 0, o.Repeats)
			for range o.Repeats {
				scores, err := h.evaluateOnce(ctx, head, turns[:i+1])
				if err != nil {
					return nil, nil, 0, err
				}
				group = append(group, scores)
			}
			out.add(group)
			scores, err := h.evaluateOnce(ctx, head, doNothing(turns[:i+1]))
			if err != nil {
				return nil, nil, 0, err
			}
			idle.add([]map[string]float64{scores})
			n++
		}
	}
	means := map[string]*float64{}
	for m, groups := range idle {
		mean := evidence.MeasureNoise(m, groups, 0).Mean
		means[m] = &mean
	}
	return out, means, n, nil
}

// evaluateOnce evaluates the last of the turns once, with as many votes of a judge as
// a live turn gets: what the gate sees is what is measured.
func (h *Harness) evaluateOnce(ctx context.Context, head trace.Session, turns []trace.Turn) (map[string]float64, error) {
	scores, err := h.scoreVotes(ctx, head, turns, false)
	if err != nil {
		return nil, fmt.Errorf("evaluate session %s: %w", head.ID, err)
	}
	return score.Report{Scores: scores}.Baseline(), nil
}

// doNothing is the session of an agent that says and does nothing on the same inputs.
func doNothing(turns []trace.Turn) []trace.Turn {
	out := make([]trace.Turn, len(turns))
	for i, t := range turns {
		out[i] = trace.Turn{SessionID: t.SessionID, Index: t.Index, TraceID: t.TraceID, Input: t.Input, Synthetic: t.Synthetic,
			StopReason: "end_turn", Start: t.Start, End: t.End}
	}
	return out
}

// runAgain runs the newest replayable cases several times without any candidate.
// All turns of a run count where the offline evaluator scores: means are the means over
// its turns, as in a paired test, and worst its lowest values.
func (h *Harness) runAgain(ctx context.Context, o NoiseOptions, m *evidence.Measured) (means, worst samples, err error) {
	done, err := h.alone(ctx)
	if err != nil {
		return nil, nil, err
	}
	defer done()
	var cases []evidence.Case
	if err := h.store.View(func(tx *store.Tx) (err error) {
		cases, err = tx.Cases("")
		return err
	}); err != nil {
		return nil, nil, err
	}
	slices.Reverse(cases)
	cases = slices.DeleteFunc(cases, func(c evidence.Case) bool { return !c.Replayable() })
	if len(cases) == 0 {
		return nil, nil, fmt.Errorf("no case can be run again; a breach captures one, vise cases protect SESSION makes a win")
	}
	means, worst = samples{}, samples{}
	for _, c := range cases[:min(len(cases), max(1, o.Cases))] {
		var group, low []map[string]float64
		for n := range o.Runs {
			r, err := h.rerun(ctx, h.controlJob(c, "noise", n))
			if err != nil {
				return nil, nil, err
			}
			if r.skip != "" {
				m.Failed++
				continue
			}
			turns, least := h.turnScores(r.run.Session, r.run.Turns), map[string]float64{}
			for _, metric := range h.replayMetrics() {
				if mean, lowest, _, ok := turns.Mean(metric); ok {
					r.scores[metric], least[metric] = mean, lowest
				}
			}
			group, low = append(group, r.scores), append(low, least)
		}
		m.Cases++
		means.add(group)
		worst.add(low)
	}
	return means, worst, nil
}

// thresholdOf is the threshold of a metric as the gate sees it.
func (h *Harness) thresholdOf(metric string) float64 {
	if t, ok := h.cfg.Evaluate.Thresholds[metric]; ok {
		return t
	}
	if metric == score.OutcomeCorrect {
		return h.cfg.Evaluate.OutcomeThreshold
	}
	return score.DefaultThreshold
}

// gateNoise is the measured scatter that the trajectory gate reckons with. A
// measurement of another evaluator says nothing about this one.
func (h *Harness) gateNoise() (map[string]float64, error) {
	if h.cfg.Gate.Mode == "seed" {
		return nil, nil
	}
	var m evidence.Measured
	if err := h.store.View(func(tx *store.Tx) (err error) {
		m, _, err = tx.Noise()
		return err
	}); err != nil {
		return nil, fmt.Errorf("read the measured noise: %w", err)
	}
	if m.EvaluatedBy != h.identity() {
		m = evidence.Measured{}
	}
	if h.cfg.Evaluate.By == "local" && len(m.Readings) == 0 {
		// Computed from the spans alone: the same turn scores the same.
		for _, metric := range h.cfg.Evaluate.Tier1 {
			m.Readings = append(m.Readings, evidence.Reading{Metric: metric, Evaluator: &evidence.MetricNoise{Metric: metric, N: 10}})
		}
	}
	return evidence.GateNoise(h.cfg.Gate.Mode, h.cfg.Evaluate.Tier1, m, gate.NoiseFloor), nil
}
