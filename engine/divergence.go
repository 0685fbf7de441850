package engine

import (
	"fmt"
	"strings"

	"vise/engine/evidence"
	"vise/engine/rule/tools"
	"vise/engine/trace"
	"vise/store"
)

// Bounds of what is read to compare runs.
const (
	divergentCases = 5
	divergentRuns  = 500 // newest replays that a run is looked for in
)

// CaseDivergence is where the runs of one case first did something else.
type CaseDivergence struct {
	CaseID string `json:"case_id"`
	// Control and Treatment are the sessions that were compared.
	ControlSession   string `json:"control_session"`
	TreatmentSession string `json:"treatment_session"`
	// Same: they did the same, and Divergence is empty.
	Same bool `json:"same,omitempty"`
	evidence.Divergence
}

// Divergences compares, for each failure case of a verdict, a run without the rule with
// one with it: the first pair of a paired test, else the session that the case was
// captured from with the replay of the verdict. Cases of which a session is gone are
// left out.
func Divergences(tx *store.Tx, v evidence.Verdict) ([]CaseDivergence, error) {
	type match struct{ caseID, control, treatment string }
	var matches []match
	seen := map[string]bool{}
	if v.Paired != nil {
		for _, p := range v.Paired.Pairs {
			if p.Kind == evidence.Failure && p.Excluded == "" && !seen[p.CaseID] && p.Control.SessionID != "" && p.Treatment.SessionID != "" {
				seen[p.CaseID] = true
				matches = append(matches, match{p.CaseID, p.Control.SessionID, p.Treatment.SessionID})
			}
		}
	} else {
		runs, err := replaySessions(tx, v)
		if err != nil {
			return nil, err
		}
		for _, x := range v.Cases {
			c, ok, err := tx.Case(x.CaseID)
			if err != nil {
				return nil, err
			}
			if ok && x.Kind == evidence.Failure && runs[x.RunID] != "" {
				matches = append(matches, match{x.CaseID, c.SessionID, runs[x.RunID]})
			}
		}
	}
	var out []CaseDivergence
	for _, m := range matches[:min(len(matches), divergentCases)] {
		treatment, err := tx.Turns(m.treatment, 0, 0)
		if err != nil {
			return nil, fmt.Errorf("compare runs: %w", err)
		}
		control, err := tx.Turns(m.control, 0, len(treatment))
		if err != nil {
			return nil, fmt.Errorf("compare runs: %w", err)
		}
		if len(control) == 0 || len(treatment) == 0 {
			continue
		}
		x := CaseDivergence{CaseID: m.caseID, ControlSession: m.control, TreatmentSession: m.treatment}
		if d := evidence.Diverge(control, treatment, ourTool); d != nil {
			x.Divergence = *d
		} else {
			x.Same = true
		}
		out = append(out, x)
	}
	return out, nil
}

// replaySessions finds the sessions of a verdict's runs, by run.
func replaySessions(tx *store.Tx, v evidence.Verdict) (map[string]string, error) {
	wanted := map[string]string{}
	for _, c := range v.Cases {
		if c.Kind == evidence.Failure && c.RunID != "" {
			wanted[c.RunID] = ""
		}
	}
	if len(wanted) == 0 {
		return wanted, nil
	}
	heads, err := tx.Sessions(store.Window{Limit: divergentRuns, Origin: trace.Replay})
	if err != nil {
		return nil, fmt.Errorf("find replays: %w", err)
	}
	for _, s := range heads {
		if id, _ := s.Attrs["run_id"].(string); id != "" {
			if _, ok := wanted[id]; ok {
				wanted[id] = s.ID
			}
		}
	}
	return wanted, nil
}

// ourTool recognises our own rule tools, also behind the prefix of a server.
func ourTool(name string) bool {
	for _, d := range tools.Definitions() {
		if strings.HasSuffix(name, d.Name) {
			return true
		}
	}
	return false
}
