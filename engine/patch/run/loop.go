package run

import (
	"time"

	"vise/engine/patch/risk"
)

// State is a state of the repair loop. It names the effect that comes next; the
// state is stored before the effect begins.
type State string

// States of the loop.
const (
	StateBudget   State = "budget"   // is there time left
	StateProve    State = "prove"    // base and patch in a clean workspace
	StateAgain    State = "again"    // a failed proof, once more: does it repeat
	StateBoundary State = "boundary" // must a person look at the patch
	StateJudge    State = "judge"    // what does the proof mean
	StatePacket   State = "packet"   // write the failure packet
	StateDrive    State = "drive"    // make the repair command
	StateRepair   State = "repair"   // run the agent in a fresh workspace
	StateInspect  State = "inspect"  // must a person look at the repair
	StateDone     State = "done"
)

// Outcome names.
const (
	Repaired   = "REPAIRED"
	GaveUp     = "FAILED"
	NeedsHuman = "NEEDS_HUMAN"
	NeedsAgent = "NEEDS_AGENT"
	OutOfTime  = "BLOCKED"
	Stopped    = "CANCELLED" // a person cancelled it; it can be repaired again
)

// Reason says why a loop ended. Codes: "" (repaired), already_proven,
// attempts_exhausted, no_progress (Detail: same_patch, empty_patch,
// same_failure), boundary_before_repair, boundary_after_repair (Causes),
// environment, plan_untrusted, patch_inapplicable, needs_scope, policy_moved,
// no_driver, budget_exceeded, cancelled, policy_not_allow.
type Reason struct {
	Code    string       `json:"code"`
	Detail  string       `json:"detail,omitempty"`
	Causes  []risk.Cause `json:"causes,omitempty"`
	Attempt int          `json:"attempt,omitempty"` // attempts_exhausted: proofs made
}

// Attempt is one proof in the loop; attempt 0 proves the run the loop began with.
type Attempt struct {
	Attempt   int        `json:"attempt"`
	RunID     string     `json:"run_id"`
	Verdict   string     `json:"verdict"`
	Reasons   []string   `json:"reasons"`
	Class     risk.Class `json:"class,omitempty"`
	Signature string     `json:"signature,omitempty"`
	Content   string     `json:"content_digest,omitempty"`
	Failed    []string   `json:"failed_tests,omitempty"`
	Packet    string     `json:"packet_path,omitempty"`
	Millis    int64      `json:"ms,omitempty"`
}

// Loop is one repair loop with everything it needs to go on after a crash.
type Loop struct {
	RunID       string        `json:"run_id"` // the run it began with
	Profile     risk.Profile  `json:"profile"`
	MaxAttempts int           `json:"max_attempts"` // proofs
	MaxRuntime  time.Duration `json:"max_runtime"`
	PhaseLimit  time.Duration `json:"phase_timeout"`
	State       State         `json:"state"`
	// Current is the run that is proven or was just made, Attempt its number.
	Current string `json:"current"`
	Attempt int    `json:"attempt"`
	// Next is the id that the coming repair run has: it is chosen before the agent starts.
	Next     string    `json:"next,omitempty"`
	Attempts []Attempt `json:"attempts"`
	// Runs are all runs of the loop in order, those that crossed included.
	Runs    []string      `json:"runs"`
	Spent   time.Duration `json:"spent"` // on the clock of the budget
	Packet  string        `json:"packet,omitempty"`
	Repeat  bool          `json:"repeat,omitempty"` // the failure was proven once more
	Started time.Time     `json:"started"`
	Ended   time.Time     `json:"ended,omitzero"`
	// Status is "" while the loop runs.
	Status   string `json:"status,omitempty"`
	Reason   Reason `json:"reason"`
	Repaired string `json:"repaired_run_id,omitempty"`
	// PolicyDigest and BaseDigest are what the loop began with.
	PolicyDigest string `json:"policy_digest"`
	BaseDigest   string `json:"base_digest"`
	// Held tells that a person holds the loop before its next effect.
	Held bool `json:"held,omitempty"`
}

// Exit is the exit code of an outcome: REPAIRED 0, FAILED 9, NEEDS_HUMAN 10,
// NEEDS_AGENT 11, BLOCKED 12, CANCELLED 130.
func Exit(status string) int {
	switch status {
	case Repaired:
		return 0
	case NeedsHuman:
		return 10
	case NeedsAgent:
		return 11
	case OutOfTime:
		return 12
	case Stopped:
		return 130
	}
	return 9
}
