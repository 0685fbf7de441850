package tui

import (
	"fmt"

	"vise/engine/evidence"
)

// noiseWords is what was measured of one metric, in a line: how much its scores
// scatter when nothing changes, and whether it may decide.
func noiseWords(r evidence.Reading) string {
	s := ""
	if r.Evaluator != nil {
		s = fmt.Sprintf("evaluator sd %.3f, flips %.0f %%; ", r.Evaluator.SD, 100*r.Evaluator.Flips)
	}
	if r.Agent != nil {
		s += fmt.Sprintf("agent sd %.3f, flips %.0f %%; ", r.Agent.SD, 100*r.Agent.Flips)
	}
	if r.Decides {
		return s + "may decide"
	}
	return s + "only informs: " + r.Why
}
