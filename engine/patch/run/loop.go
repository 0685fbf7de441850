package run

import (
	"fmt"
	"time"

	"vise/engine/patch/risk"
	"vise/engine/trace"
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
// environment, plan_untrusted, patch_inapplicable, needs_scope, policy_moved, base_moved,
// no_driver, budget_exceeded (of time), cost_exceeded, cost_unknown (a cap is set
// and the agent does not say what it uses), cancelled, policy_not_allow.
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

// Cap bounds what agents use. Zero values bound nothing.
type Cap struct {
	USD    float64 `json:"usd,omitempty"`
	Tokens int64   `json:"tokens,omitempty"`
}

// Used is what the agents of a loop's repairs say that they used. What they do not
// say is counted, and is in no sum.
type Used struct {
	trace.Usage
	Runs       int `json:"runs"`
	Unreported int `json:"unreported,omitempty"` // runs that said nothing
	Unpriced   int `json:"unpriced,omitempty"`   // runs that told no cost
}

// Add counts one run.
func (u *Used) Add(of *trace.Usage) {
	u.Runs++
	switch {
	case of == nil:
		u.Unreported++
		u.Unpriced++
		return
	case of.CostUSD == nil:
		u.Unpriced++
	}
	u.Usage = u.Usage.Add(*of)
}

// Words is the use of one run: "1010 tokens, $0.2500".
func Words(u trace.Usage) string {
	var of Used
	of.Add(&u)
	return fmt.Sprintf("%d tokens, %s", u.Input+u.Output, of.Money())
}

// Money is the cost in words: "$0.1200", with what is not known of it.
func (u Used) Money() string {
	var s string
	if u.CostUSD != nil {
		s = fmt.Sprintf("$%.4f", *u.CostUSD)
	}
	switch {
	case u.Unpriced == 0:
		return s
	case s == "":
		return "cost unknown"
	}
	return fmt.Sprintf("%s and %d of unknown cost", s, u.Unpriced)
}

// Over says which cap this is over, "" for none.
func (c Cap) Over(u trace.Usage) string {
	switch {
	case c.USD > 0 && u.CostUSD != nil && *u.CostUSD > c.USD:
		return fmt.Sprintf("$%.4f of $%.4f", *u.CostUSD, c.USD)
	case c.Tokens > 0 && u.Input+u.Output > c.Tokens:
		return fmt.Sprintf("%d of %d tokens", u.Input+u.Output, c.Tokens)
	}
	return ""
}

// Loop is one repair loop with everything it needs to go on after a crash.
type Loop struct {
	RunID       string        `json:"run_id"` // the run it began with
	Profile     risk.Profile  `json:"profile"`
	MaxAttempts int           `json:"max_attempts"` // proofs
	MaxRuntime  time.Duration `json:"max_runtime"`
	PhaseLimit  time.Duration `json:"phase_timeout"`
	// Cap is what the repairs of the loop may use together.
	Cap Cap `json:"cap,omitzero"`
	// Used is what they used.
	Used  Used  `json:"used,omitzero"`
	State State `json:"state"`
	// Current is the run that is proven or was just made, Attempt its number.
	Current string `json:"current"`
	Attempt int    `json:"attempt"`
	// Next is the id that the coming repair run has: it is chosen before the agent starts.
	Next     string    `json:"next,omitempty"`
	Attempts []Attempt `json:"attempts"`
	// Runs are all runs of the loop in order, those that crossed included.
	Runs   []string      `json:"runs"`
	Spent  time.Duration `json:"spent"` // on the clock of the budget
	Packet string        `json:"packet,omitempty"`
	// AgentEnd tells how the agent of the latest repair ended, when that was not well.
	AgentEnd string    `json:"agent_end,omitempty"`
	Repeat   bool      `json:"repeat,omitempty"` // the failure was proven once more
	Started  time.Time `json:"started"`
	Ended    time.Time `json:"ended,omitzero"`
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

// UsedWords is what the agents of the repairs used, of what they may; "" when none
// ran, and where nobody asked and no agent tells.
func (l Loop) UsedWords() string {
	switch {
	case l.Used.Runs == 0 || l.Used.Unreported == l.Used.Runs && l.Cap == (Cap{}):
		return ""
	case l.Used.Unreported == l.Used.Runs:
		return "what they do not tell"
	}
	tokens := fmt.Sprintf("%d", l.Used.Input+l.Used.Output)
	if l.Cap.Tokens > 0 {
		tokens += fmt.Sprintf(" of %d", l.Cap.Tokens)
	}
	money := l.Used.Money()
	if l.Cap.USD > 0 {
		money += fmt.Sprintf(" of $%.4f", l.Cap.USD)
	}
	return tokens + " tokens, " + money
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
