package evidence

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"

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

// Changed names all that differs between two identities, in words; "" = nothing.
func (i Identity) Changed(now Identity) string {
	var out []string
	for _, x := range []struct {
		differs bool
		words   string
	}{
		{i.Agent != now.Agent, "the agent's command or surroundings changed"},
		{i.Evaluator != now.Evaluator, "the evaluator changed"},
		{i.Rules != now.Rules, "other rules became active or retired"},
		{i.Seed != now.Seed, "validate.seed changed"},
	} {
		if x.differs {
			out = append(out, x.words)
		}
	}
	return strings.Join(out, ", ")
}

// RulesDigest is the digest of the active rules without the one on trial.
func RulesDigest(active []rule.Rule, except string) string {
	return SumRules(active).Without(except)
}

// RulesSum is the sum of the digests of the active rules. Taking one rule out of it
// costs the same however many there are, so that a list of all rules can tell which
// verdicts have expired.
type RulesSum struct {
	sum  [4]uint64
	each map[string][4]uint64 // by rule id
}

// SumRules sums the active ones of the rules.
func SumRules(rules []rule.Rule) RulesSum {
	s := RulesSum{each: make(map[string][4]uint64, len(rules))}
	for _, r := range rules {
		if r.Status != rule.Active {
			continue
		}
		raw, err := json.Marshal([]string{r.ID, r.Text, r.Scope, r.Applicability})
		if err != nil {
			panic(fmt.Sprintf("evidence: rule %s: %v", r.ID, err)) // strings
		}
		hash := sha256.Sum256(raw)
		var x [4]uint64
		for i := range x {
			x[i] = binary.BigEndian.Uint64(hash[8*i:])
			s.sum[i] += x[i]
		}
		s.each[r.ID] = x
	}
	return s
}

// Without is the digest of the rules but one; "" or an unknown id leaves none out.
func (s RulesSum) Without(id string) string {
	rest := len(s.each)
	if _, in := s.each[id]; in {
		rest--
	}
	if rest == 0 {
		return digest([]byte("[]")) // no rule is in force
	}
	raw := make([]byte, 0, 32)
	for i, x := range s.sum {
		raw = binary.BigEndian.AppendUint64(raw, x-s.each[id][i])
	}
	return digest(raw)
}
