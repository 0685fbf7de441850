package risk_test

import (
	"encoding/json"
	"errors"
	"testing"

	"vise/engine/internal/vectors"
	"vise/engine/patch/policy"
	"vise/engine/patch/risk"
)

func invalid(t *testing.T, err error) (any, bool) {
	if errors.Is(err, policy.ErrPath) {
		return map[string]any{"error": "invalid_path"}, true
	}
	if err != nil {
		t.Fatal(err)
	}
	return nil, false
}

func TestVectorsPathRisk(t *testing.T) {
	type input struct {
		Path string `json:"path"`
	}
	vectors.RunPatch(t, "path_risk", func(t *testing.T, in input) any {
		level, rule, normal, err := risk.Path(in.Path)
		if bad, is := invalid(t, err); is {
			return bad
		}
		out := map[string]any{"risk": level, "normalized": normal, "rule": nil}
		if rule != "" {
			out["rule"] = rule
		}
		return out
	})
}

func TestVectorsVerifierFile(t *testing.T) {
	type input struct {
		Path string `json:"path"`
	}
	vectors.RunPatch(t, "verifier_file", func(t *testing.T, in input) any {
		return map[string]any{"verifier_related": risk.VerifierFile(in.Path)}
	})
}

func TestVectorsBlastRadius(t *testing.T) {
	type input struct {
		Mutations []struct {
			Path        string        `json:"path"`
			ChangeType  string        `json:"change_type"`
			Decision    policy.Action `json:"decision"`
			ModeChanged bool          `json:"mode_changed"`
		} `json:"mutations"`
		Weights  map[string]int `json:"weights"`
		Orphans  int            `json:"orphan_processes"`
		Ports    int            `json:"opened_ports"`
		Violated int            `json:"limit_violations"`
		Budget   int            `json:"budget_violations"` // the name that the counts have
	}
	vectors.RunPatch(t, "blast_radius", func(t *testing.T, in input) any {
		var changes []risk.Change
		for _, m := range in.Mutations {
			changes = append(changes, risk.Change{Path: m.Path, Type: m.ChangeType, Decision: m.Decision, ModeChanged: m.ModeChanged})
		}
		b := risk.Radius(changes, risk.Counters{OrphanProcesses: in.Orphans, OpenedPorts: in.Ports, LimitViolations: in.Violated + in.Budget}, in.Weights)
		parts := []any{}
		for _, c := range b.Components {
			parts = append(parts, []any{c.Name, c.Count, c.Weight, c.Points})
		}
		return map[string]any{"score": b.Score, "raw_score": b.Raw, "level": b.Level, "counts": b.Counts, "components": parts}
	})
}

func TestVectorsFutureRisk(t *testing.T) {
	type input struct {
		Changes []struct {
			Path       string  `json:"path"`
			ChangeType string  `json:"change_type"`
			Before     *string `json:"before"`
			After      *string `json:"after"`
		} `json:"changes"`
	}
	vectors.RunPatch(t, "future_risk", func(t *testing.T, in input) any {
		var texts []risk.Text
		for _, c := range in.Changes {
			x := risk.Text{Path: c.Path, Type: c.ChangeType}
			if c.Before != nil {
				x.Before = *c.Before
			}
			if c.After != nil {
				x.After = *c.After
			}
			texts = append(texts, x)
		}
		f := risk.Later(texts, risk.Seed)
		findings := []any{}
		for _, x := range f.Findings {
			findings = append(findings, map[string]any{"path": x.Path, "analyzer": x.Analyzer, "risk": x.Risk, "confidence": x.Confidence})
		}
		return map[string]any{"score": f.Score, "level": f.Level, "findings": findings}
	})
}

func TestVectorsScopeChange(t *testing.T) {
	type input struct {
		Changes []struct {
			Path     string        `json:"path"`
			Decision policy.Action `json:"decision"`
		} `json:"changes"`
		Future *struct {
			Level string `json:"level"`
		} `json:"future"`
	}
	vectors.RunPatch(t, "scope_change", func(t *testing.T, in input) any {
		var changes []risk.Change
		for _, c := range in.Changes {
			changes = append(changes, risk.Change{Path: c.Path, Decision: c.Decision})
		}
		level := ""
		if in.Future != nil {
			level = in.Future.Level
		}
		cause, err := risk.ScopeChange(changes, level)
		if bad, is := invalid(t, err); is {
			return bad
		}
		if cause == nil {
			return map[string]any{"crossed": false}
		}
		out := map[string]any{"crossed": true, "code": cause.Code}
		switch cause.Code {
		case "policy_action":
			out["action"], out["path"] = cause.Action, cause.Path
		case "high_risk_path":
			out["path"] = cause.Path
		case "future_blast":
			out["level"] = cause.Level
		}
		return out
	})
}

func TestVectorsRouter(t *testing.T) {
	type input struct {
		Changes []struct {
			Path     string  `json:"path"`
			Decision *string `json:"decision"`
		} `json:"changes"`
		Future  *string         `json:"future_level"`
		Verdict *string         `json:"proof_verdict"`
		Outcome *string         `json:"safety_outcome"`
		Attempt json.RawMessage `json:"attempt"`
	}
	vectors.RunPatch(t, "router", func(t *testing.T, in input) any {
		var changes []seedChange
		for _, c := range in.Changes {
			changes = append(changes, seedChange{Path: c.Path, Decision: c.Decision})
		}
		r, err := seedRoute(changes, in.Outcome, in.Future, in.Verdict)
		if bad, is := invalid(t, err); is {
			return bad
		}
		out := map[string]any{"kind": r.Kind, "code": r.Code, "proof_verdict": r.Verdict, "attempt": 0}
		if in.Attempt != nil {
			out["attempt"] = in.Attempt
		}
		for key, v := range map[string]string{"path": r.Path, "level": r.Level, "outcome": r.Outcome} {
			if v != "" {
				out[key] = v
			}
		}
		return out
	})
}

// seedRouted is the answer of seedRoute.
type seedRouted struct {
	Kind, Code, Path, Level, Outcome string
	Verdict                          *string
}

// seedChange is a change as seedRoute sees it; nil = the decision is absent.
type seedChange struct {
	Path     string
	Decision *string
}

// seedRoute is AgentDiff 0.4's router as recorded: the first change that stops
// it, the future level (lower case only), the proof, the outcome. The error is
// policy.ErrPath.
func seedRoute(changes []seedChange, outcome, futureLevel, verdict *string) (seedRouted, error) {
	r := seedRouted{Kind: risk.Human, Verdict: verdict}
	for _, c := range changes {
		if c.Decision == nil {
			continue
		}
		r.Path = c.Path
		switch *c.Decision {
		case "deny":
			r.Code = "denied_change"
			return r, nil
		case "review":
			r.Code = "review_change"
			return r, nil
		}
		level, _, _, err := risk.Path(c.Path)
		if err != nil {
			return seedRouted{}, err
		}
		if level == risk.Full {
			r.Code = "high_risk_path"
			return r, nil
		}
	}
	r.Path = ""
	switch {
	case futureLevel != nil && (*futureLevel == "high" || *futureLevel == "critical"):
		r.Code, r.Level = "future_blast", *futureLevel
	case verdict != nil && *verdict != risk.Proven:
		r.Kind, r.Code = risk.Retry, "proof_failed_in_scope"
	case outcome != nil && *outcome != "allow":
		r.Code, r.Outcome = "policy_not_allow", *outcome
	default:
		r.Kind, r.Code, r.Verdict = risk.Auto, "normal", nil
	}
	return r, nil
}
