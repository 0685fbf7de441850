package patch

import (
	"fmt"
	"strings"

	"vise/engine/patch/run"
)

// Outcome is what outcome.json holds: AgentDiff's fields, and ours.
type Outcome struct {
	SchemaVersion int           `json:"schema_version"` // 2
	Status        string        `json:"status"`
	RunID         string        `json:"run_id"`
	Attempts      []run.Attempt `json:"attempts"`
	Runs          []string      `json:"runs"`
	HumanReason   string        `json:"human_reason"` // in words; "" when repaired
	Reason        run.Reason    `json:"reason"`
	RepairedRunID *string       `json:"repaired_run_id"`
	Workspace     *string       `json:"workspace"` // always null: workspaces are gone, the patch is kept
	SpentMillis   int64         `json:"spent_ms"`
	Used          run.Used      `json:"used"`
	Cap           run.Cap       `json:"cap,omitzero"`
	ExitCode      int           `json:"exit_code"`
}

// OutcomeOf is the outcome of a finished loop.
func OutcomeOf(l run.Loop) Outcome {
	o := Outcome{SchemaVersion: 2, Status: l.Status, RunID: l.RunID, Attempts: l.Attempts, Runs: l.Runs, Reason: l.Reason, HumanReason: Says(l),
		SpentMillis: l.Spent.Milliseconds(), Used: l.Used, Cap: l.Cap, ExitCode: run.Exit(l.Status)}
	if l.Repaired != "" {
		o.RepairedRunID = &l.Repaired
	}
	return o
}

// Says is why a loop ended as it did, and what is asked of the person; "" when it
// was repaired.
func Says(l run.Loop) string {
	r := l.Reason
	switch r.Code {
	case "", "already_proven":
		return ""
	case "boundary_before_repair", "boundary_after_repair":
		var list []string
		for _, c := range r.Causes {
			list = append(list, c.Says())
		}
		return "look at the patch and decide: " + strings.Join(list, "; ")
	case "attempts_exhausted":
		if r.Attempt == 1 {
			return "still not proven after 1 proof"
		}
		return fmt.Sprintf("still not proven after %d proofs", r.Attempt)
	case "no_progress":
		what := map[string]string{"same_patch": "the agent made the same patch again", "empty_patch": "the agent took everything back", "same_failure": "the same failure came back"}[r.Detail]
		if l.AgentEnd != "" {
			what += "; " + l.AgentEnd
		}
		return what
	case "environment":
		return "mend this machine, not the patch: " + r.Detail
	case "plan_untrusted":
		return "say how the project is tested: " + r.Detail
	case "patch_inapplicable":
		return "the patch does not apply to its own base, which is a fault of vise: " + r.Detail
	case "needs_scope":
		return "the agent asks for more than it may touch: " + r.Detail
	case "policy_moved", "base_moved":
		return r.Detail
	case "policy":
		return "the policy does not let this pass: " + r.Detail
	case "no_driver":
		return "no agent is configured for the repair; the packet is at " + l.Packet
	case "budget_exceeded":
		return fmt.Sprintf("the time of the repair (%s) is up", l.MaxRuntime)
	case "cost_exceeded":
		return "the budget is used up: " + r.Detail
	case "cost_unknown":
		return "what the agent costs is not known: " + r.Detail
	case "cancelled":
		return "it was cancelled"
	}
	return r.Code + " " + r.Detail
}
