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

// Repairable reports whether the same agent may try again after such a failure.
func (c Class) Repairable() bool {
	return c == BuildFailed || c == Tests || c == Timeout || c == Flaky || c == AgentFailed
}
