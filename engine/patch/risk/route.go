package risk

import "vise/engine/patch/policy"

// Route kinds: nobody is needed, the same agent may try again, a person decides.
const (
	Auto  = "AUTO"
	Retry = "RETRY"
	Human = "HUMAN"
)

// Proven is the one verdict that lets a patch through.
const Proven = "PROVEN"

// Routed is where a patch goes next, and why. Codes of HUMAN: boundary (Causes
// says which), policy_not_allow, environment, plan_untrusted, patch_inapplicable,
// needs_scope, not_proven; of RETRY: proof_failed_in_scope; of AUTO: normal.
type Routed struct {
	Kind   string  `json:"kind"`
	Code   string  `json:"code"`
	Causes []Cause `json:"causes,omitempty"`
}

// Route is the one decision after every step. The order is: boundary, outcome,
// what no agent can mend (environment, plan, an inapplicable patch, a request for
// more scope), proof. AUTO needs an explicit PROVEN.
func Route(causes []Cause, outcome policy.Action, verdict string, class Class) Routed {
	switch {
	case len(causes) > 0:
		return Routed{Human, "boundary", causes}
	case outcome != policy.Allow:
		return Routed{Kind: Human, Code: "policy_not_allow"}
	case !class.Repairable() && class != NoClass:
		return Routed{Kind: Human, Code: string(class)}
	case verdict == Proven:
		return Routed{Kind: Auto, Code: "normal"}
	case verdict == "":
		return Routed{Kind: Human, Code: "not_proven"}
	}
	return Routed{Kind: Retry, Code: "proof_failed_in_scope"}
}

// Class is the class of a failed proof; it decides what is tried next.
type Class string

// Failure classes and their retry rule: build, tests and timeout go back to the
// agent; flaky (a failure that did not repeat) is proven once more before an
// agent is paid; the others need a person and consume no attempt.
const (
	NoClass      Class = ""
	BuildFailed  Class = "build"
	Environment  Class = "environment"
	Flaky        Class = "flaky"
	Tests        Class = "tests"
	Timeout      Class = "timeout"
	PolicyClass  Class = "policy"
	Untrusted    Class = "plan_untrusted"
	Inapplicable Class = "patch_inapplicable"
	AgentFailed  Class = "agent_failed"
	NeedsScope   Class = "needs_scope"
)

// SeedRouted is the answer of SeedRoute.
type SeedRouted struct {
	Kind, Code, Path, Level, Outcome string
	Verdict                          *string
}

// SeedChange is a change as SeedRoute sees it; nil = the decision is absent.
type SeedChange struct {
	Path     string
	Decision *string
}

// SeedRoute is AgentDiff 0.4's router as recorded: the first change that stops
// it, the future level (lower case only), the proof, the outcome. The error is
// policy.ErrPath.
func SeedRoute(changes []SeedChange, outcome, futureLevel, verdict *string) (SeedRouted, error) {
	r := SeedRouted{Kind: Human, Verdict: verdict}
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
		level, _, _, err := Path(c.Path)
		if err != nil {
			return SeedRouted{}, err
		}
		if level == Full {
			r.Code = "high_risk_path"
			return r, nil
		}
	}
	r.Path = ""
	switch {
	case futureLevel != nil && (*futureLevel == "high" || *futureLevel == "critical"):
		r.Code, r.Level = "future_blast", *futureLevel
	case verdict != nil && *verdict != Proven:
		r.Kind, r.Code = Retry, "proof_failed_in_scope"
	case outcome != nil && *outcome != "allow":
		r.Code, r.Outcome = "policy_not_allow", *outcome
	default:
		r.Kind, r.Code, r.Verdict = Auto, "normal", nil
	}
	return r, nil
}

// Repairable reports whether the same agent may try again after such a failure.
func (c Class) Repairable() bool {
	return c == BuildFailed || c == Tests || c == Timeout || c == Flaky || c == AgentFailed
}
