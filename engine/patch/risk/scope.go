package risk

import (
	"strings"

	"vise/engine/patch/policy"
)

// Cause is one reason why automation ends and a person decides.
type Cause struct {
	// Code is policy_action, high_risk_path, future_blast, or one of Boundary's own.
	Code   string `json:"code"`
	Path   string `json:"path,omitempty"`
	Action string `json:"action,omitempty"` // policy_action, command_action
	Level  string `json:"level,omitempty"`  // future_blast
	Kind   Kind   `json:"kind,omitempty"`   // protected_path
	Detail string `json:"detail,omitempty"`
}

// ScopeChange is AgentDiff 0.4's boundary: the first change that a policy decision
// or the risk of its path stops, else a high future level. nil = inside. The
// error is policy.ErrPath.
func ScopeChange(changes []Change, futureLevel string) (*Cause, error) {
	for _, c := range changes {
		if c.Decision == policy.Deny || c.Decision == policy.Review {
			return &Cause{Code: "policy_action", Action: string(c.Decision), Path: c.Path}, nil
		}
		level, _, _, err := Path(c.Path)
		if err != nil {
			return nil, err
		}
		if level == Full {
			return &Cause{Code: "high_risk_path", Path: c.Path}, nil
		}
	}
	if l := strings.ToUpper(futureLevel); l == "HIGH" || l == "CRITICAL" {
		return &Cause{Code: "future_blast", Level: l}, nil
	}
	return nil, nil
}
