package engine

import (
	"slices"

	"vise/engine/evidence"
	"vise/engine/score/local"
	"vise/engine/trace"
	"vise/engine/validate"
)

// process is what the offline evaluator sees in a whole replay: the means of its metrics
// over the turns, and the checks that fired anywhere.
func (h *Harness) process(s trace.Session, turns []trace.Turn) validate.Process {
	p := validate.Process{Means: map[string]float64{}}
	n := map[string]float64{}
	wanted := h.replayMetrics()
	eval := local.New(s, local.Options{Handoff: h.cfg.Evaluate.Handoff})
	for _, t := range turns {
		for _, sc := range eval.Turn(t) {
			if !slices.Contains(wanted, sc.Metric) {
				continue
			}
			if sc.Value != nil {
				n[sc.Metric]++
				p.Means[sc.Metric] += *sc.Value
			}
			for _, f := range sc.Findings {
				p.Fired = append(p.Fired, f.Check)
				if f.Heavy() {
					p.Faults = append(p.Faults, f.Check)
				}
			}
		}
	}
	for m := range p.Means {
		p.Means[m] /= n[m]
	}
	slices.Sort(p.Fired)
	slices.Sort(p.Faults)
	p.Fired, p.Faults = slices.Compact(p.Fired), slices.Compact(p.Faults)
	return p
}

// turnScores are the offline scores of every turn of a session on the replay metrics;
// nil while another evaluator scores: it is asked about the last turn only.
func (h *Harness) turnScores(s trace.Session, turns []trace.Turn) evidence.TurnScores {
	if h.judge != nil || h.platform != nil {
		return nil
	}
	wanted := h.replayMetrics()
	eval := local.New(s, local.Options{Handoff: h.cfg.Evaluate.Handoff})
	out := make(evidence.TurnScores, len(turns))
	for i, t := range turns {
		out[i] = map[string]float64{}
		for _, sc := range eval.Turn(t) {
			if sc.Value != nil && slices.Contains(wanted, sc.Metric) {
				out[i][sc.Metric] = *sc.Value
			}
		}
	}
	return out
}
