package engine

import (
	"fmt"

	"vise/engine/event"
	"vise/engine/evidence"
	"vise/engine/rule"
	"vise/engine/rule/tools"
	"vise/engine/trace"
	"vise/store"
)

// Bounds of an audit.
const (
	uptakeRuns = 2000 // newest runs of each origin that uptake is counted over
	auditRules = 1000 // rules compared with each other, newest first
)

// Uptakes counts what became of the rules in the newest runs, live ones and
// replays, by rule id.
func Uptakes(tx *store.Tx, rules []rule.Rule) (map[string]evidence.Uptake, error) {
	var runs []evidence.Exposing
	for _, origin := range []trace.Origin{trace.Live, trace.Replay} {
		heads, err := tx.Sessions(store.Window{Limit: uptakeRuns, Origin: origin})
		if err != nil {
			return nil, fmt.Errorf("count uptake: %w", err)
		}
		for _, s := range heads {
			x := evidence.Exposing{Session: s}
			if origin == trace.Live && len(s.RulesRead) > 0 {
				raised, err := tx.Events(0, 100, store.EventFilter{SessionID: s.ID, Types: []event.Type{event.Notice}})
				if err != nil {
					return nil, fmt.Errorf("count uptake: %w", err)
				}
				for _, e := range raised {
					x.Signatures = append(x.Signatures, evidence.EventSignatures(e)...)
				}
			}
			runs = append(runs, x)
		}
	}
	return evidence.Expose(rules, runs), nil
}

// Audit looks at the live rules for what speaks against keeping them as they are:
// flagged, never read, never followed, contradicting, nearly equal, too many.
// maxActive is rules.max_active, 0 = no limit; expiry tells by id why verdicts of rules do
// not hold any more.
func Audit(tx *store.Tx, maxActive int, expiry func(rules []rule.Rule) (map[string]string, error)) (evidence.Audit, map[string]evidence.Uptake, error) {
	rules, err := tx.Rules(rule.Candidate, rule.Active)
	if err != nil {
		return evidence.Audit{}, nil, fmt.Errorf("audit rules: %w", err)
	}
	uptake, err := Uptakes(tx, rules)
	if err != nil {
		return evidence.Audit{}, nil, err
	}
	expired, err := expiry(rules)
	if err != nil {
		return evidence.Audit{}, nil, fmt.Errorf("audit rules: %w", err)
	}
	for _, r := range rules {
		if why := expired[r.ID]; r.Status != rule.Active {
			delete(expired, r.ID) // a candidate is tested anyhow
		} else if why != "" {
			expired[r.ID] = "its verdict has expired: " + why
		}
	}
	return evidence.AuditRules(evidence.AuditInput{Rules: rules, Uptake: uptake, Expired: expired, MaxLength: tools.MaxDocument,
		MaxRules: maxActive, Compare: auditRules}), uptake, nil
}
