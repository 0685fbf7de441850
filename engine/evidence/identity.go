package evidence

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"

	"vise/engine/rule"
)

// Identity is what a verdict holds for. When any part of it changes, what was measured
// says nothing any more about what runs now: the verdict has expired.
type Identity struct {
	// Agent is the command with its surroundings (workspace, preamble, permissions).
	Agent string `json:"agent"`
	// Evaluator is who scored, with model, prompts and version.
	Evaluator string `json:"evaluator"`
	// Rules is a digest of the rules that were active beside the one on trial.
	Rules string `json:"rules"`
	// Seed is the base seed of runs.
	Seed int64 `json:"seed"`
}

// Digest is a short name of the identity, 16 hex digits.
func (i Identity) Digest() string {
	raw, err := json.Marshal(i)
	if err != nil {
		panic(fmt.Sprintf("evidence: identity: %v", err)) // strings and a number
	}
	return digest(raw)
}

func digest(raw []byte) string {
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:8])
}

// Changed names what differs between two identities, in words; "" = nothing.
func (i Identity) Changed(now Identity) string {
	switch {
	case i.Agent != now.Agent:
		return "the agent's command or surroundings changed"
	case i.Evaluator != now.Evaluator:
		return "the evaluator changed"
	case i.Rules != now.Rules:
		return "other rules became active or retired"
	case i.Seed != now.Seed:
		return "validate.seed changed"
	}
	return ""
}

// RulesDigest is the digest of the active rules without the one on trial.
func RulesDigest(active []rule.Rule, except string) string {
	var list []string
	for _, r := range active {
		if r.ID != except && r.Status == rule.Active {
			raw, err := json.Marshal([]string{r.ID, r.Text, r.Scope, r.Applicability})
			if err != nil {
				panic(fmt.Sprintf("evidence: rule %s: %v", r.ID, err)) // strings
			}
			list = append(list, string(raw))
		}
	}
	slices.Sort(list)
	return digest([]byte(fmt.Sprint(list)))
}
