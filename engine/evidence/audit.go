package evidence

import (
	"fmt"
	"slices"

	"vise/engine/rule"
)

// What an audit finds about rules.
const (
	FoundFlagged       = "flagged"        // evidence speaks against a rule in force
	FoundExpired       = "expired"        // what its verdict rests on has changed since
	FoundNeverRead     = "never_read"     // often offered, never read
	FoundNeverFollowed = "never_followed" // read, and its failure came all the same every time
	FoundContradiction = "contradiction"  // two rules seem to say opposite things
	FoundNearDuplicate = "near_duplicate" // two rules say nearly the same
	FoundOverBudget    = "over_budget"    // a scope has more rules than an agent is shown
)

// When a count says something.
const (
	neverReadAfter     = 10 // runs that had the rule on offer
	neverFollowedAfter = 3  // runs that read it
)

// AuditFinding is one thing to look at.
type AuditFinding struct {
	Kind  string   `json:"kind"`
	Rules []string `json:"rules"` // ids
	Scope string   `json:"scope,omitempty"`
	Text  string   `json:"text"`
	Do    string   `json:"do"`
}

// AuditInput is what an audit looks at.
type AuditInput struct {
	Rules  []rule.Rule // live ones, in listing order
	Uptake map[string]Uptake
	// Expired names the rules of which the verdict expired, with what changed.
	Expired map[string]string
	// MaxLength is how many code points of a scope an agent is shown at most, MaxRules
	// how many live rules the project allows; 0 = no limit.
	MaxLength, MaxRules int
	// Compare bounds how many rules are compared with each other.
	Compare int
}

// Audit is what was found, in the order in which it matters.
type Audit struct {
	Rules    int            `json:"rules"`
	Compared int            `json:"compared"`
	Loads    []rule.Load    `json:"loads"`
	Findings []AuditFinding `json:"findings"`
}

// AuditRules looks at live rules for what speaks against keeping them as they are.
// It decides nothing: findings ask for a person or a new test.
func AuditRules(in AuditInput) Audit {
	out := Audit{Rules: len(in.Rules), Loads: rule.Loads(in.Rules), Findings: []AuditFinding{}}
	add := func(f AuditFinding) { out.Findings = append(out.Findings, f) }
	const test = "vise rules retest %s queues a new test"
	for _, r := range in.Rules {
		if r.Flagged() {
			add(AuditFinding{Kind: FoundFlagged, Rules: []string{r.ID}, Scope: r.Scope, Text: r.Flag.Why, Do: fmt.Sprintf(test, r.ID)})
		}
	}
	for _, r := range in.Rules {
		if why := in.Expired[r.ID]; why != "" {
			add(AuditFinding{Kind: FoundExpired, Rules: []string{r.ID}, Scope: r.Scope, Text: why, Do: fmt.Sprintf(test, r.ID)})
		}
	}
	for _, r := range in.Rules {
		x := in.Uptake[r.ID]
		offered, read := x.Runs()
		if read == 0 && offered >= neverReadAfter {
			add(AuditFinding{Kind: FoundNeverRead, Rules: []string{r.ID}, Scope: r.Scope, Text: fmt.Sprintf("offered in %d runs, read in none", offered),
				Do: "check its scope and wording: the agent does not find it"})
		}
		if n := x.Live.Read; n >= neverFollowedAfter && x.Live.Recurred == n {
			add(AuditFinding{Kind: FoundNeverFollowed, Rules: []string{r.ID}, Scope: r.Scope,
				Text: fmt.Sprintf("read in %d live runs, and what it is about went wrong in every one", n), Do: fmt.Sprintf(test, r.ID)})
		}
	}
	pairs, compared := rule.Pairs(in.Rules, in.Compare)
	out.Compared = compared
	for _, kind := range []struct{ reason, found, do string }{
		{rule.Contradiction, FoundContradiction, "read both; retire the one that is wrong"},
		{rule.NearDuplicate, FoundNearDuplicate, "retire one of them"},
	} {
		for _, p := range pairs {
			if p.Reason == kind.reason {
				add(AuditFinding{Kind: kind.found, Rules: []string{p.A, p.B}, Text: p.Why, Do: kind.do})
			}
		}
	}
	for _, l := range out.Loads {
		if in.MaxLength > 0 && l.Length > in.MaxLength {
			add(AuditFinding{Kind: FoundOverBudget, Rules: slices.Clone(l.IDs[:min(len(l.IDs), maxFlagged)]), Scope: l.Scope,
				Text: fmt.Sprintf("%d active rules of %d code points; an agent that reads the scope is shown %d", l.Rules, l.Length, in.MaxLength),
				Do:   "retire what is never read"})
		}
	}
	if in.MaxRules > 0 && len(in.Rules) > in.MaxRules {
		add(AuditFinding{Kind: FoundOverBudget, Rules: []string{}, Text: fmt.Sprintf("%d live rules; rules.max_active is %d", len(in.Rules), in.MaxRules),
			Do: "retire some: the repair agent can add none"})
	}
	return out
}
