// Package run holds the records of the patch loop: a run of an agent, its patch,
// the proof of it, and the loop that repairs it. It is pure.
package run

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"vise/engine/link"
	"vise/engine/patch/policy"
	"vise/engine/patch/risk"
	"vise/engine/trace"
)

// Status is how a run of an agent ended.
type Status string

// Statuses of a run.
const (
	Running   Status = "running"
	Passed    Status = "passed"
	Failed    Status = "failed" // the agent left with another status than 0
	TimedOut  Status = "timed_out"
	Blocked   Status = "blocked" // the policy denies the program: it was never started
	Error     Status = "error"   // it could not be started or captured
	Cancelled Status = "cancelled"
	Costly    Status = "over_budget" // it was ended: it used more than it may
)

// Run is one run of an agent in a workspace made from the project. Folders of it
// lie in .vise/patch/runs/ID; the argument list as it really was lies there too,
// readable by its owner only, and never here.
type Run struct {
	// ID is a UTC stamp and 12 hex digits: 20270114T091500Z-5c0ffee5c0de.
	ID      string   `json:"id"`
	Task    string   `json:"task,omitempty"`
	Command []string `json:"command"` // secrets masked
	// RepairOf is the run that the loop began with, Attempt the number of the repair; 0 for a first run.
	RepairOf string    `json:"repair_of,omitempty"`
	Attempt  int       `json:"attempt,omitempty"`
	Created  time.Time `json:"created"`
	Ended    time.Time `json:"ended,omitzero"`
	Status   Status    `json:"status"`
	Exit     string    `json:"exit,omitempty"`  // "exit status 1"
	Error    string    `json:"error,omitempty"` // what hindered it
	// Sandbox says what held the agent, in words; never empty once it ran.
	Sandbox string `json:"sandbox,omitempty"`
	// Answer is the end of what the agent said, bounded and masked.
	Answer string `json:"answer,omitempty"`
	// SessionID is the agent's own session, to be resumed; "" when unknown.
	SessionID string `json:"session_id,omitempty"`
	// Usage is what the agent says that it used; nil = it did not say, and it is
	// unknown. A cost that it does not tell is unknown, too.
	Usage *trace.Usage `json:"usage,omitempty"`
	// NeedsScope is what the agent asks of a person: more than it may touch.
	NeedsScope string `json:"needs_scope,omitempty"`

	BaseDigest string `json:"base_digest"`
	BaseFiles  int    `json:"base_files"`
	// LeftOut are paths of the project that no workspace has, since git ignores them
	// or tools make them: folders end with a slash; at most 50.
	LeftOut []string `json:"left_out,omitempty"`
	// NotTaken are entries of the project that no workspace can have, with the reason:
	// devices, sockets, links that lead out of it, names that are not UTF-8; at most 50.
	NotTaken     map[string]string `json:"not_taken,omitempty"`
	PolicyDigest string            `json:"policy_digest"`
	PolicyFile   string            `json:"policy_file,omitempty"` // "" = the built-in policy
	Policy       policy.Policy     `json:"policy"`
	Decision     policy.Decision   `json:"command_decision"`
	Outcome      policy.Action     `json:"outcome,omitempty"` // strictest decision about command, paths and limits
	// Patch is against BaseDigest: the whole change, repairs included.
	Patch         *Manifest         `json:"patch,omitempty"`
	ContentDigest string            `json:"content_digest,omitempty"`
	Limits        []risk.Limit      `json:"limit_violations,omitempty"`
	Unseen        map[string]string `json:"unseen,omitempty"` // entries that could not be captured
	Ignored       int               `json:"ignored,omitempty"`
	Blast         risk.Blast        `json:"blast_radius"`
	Future        risk.Future       `json:"future_blast_radius"`
	Causes        []risk.Cause      `json:"causes,omitempty"` // why a person must look
	Proof         *Proof            `json:"proof,omitempty"`
	// Proving tells that it is being proven, ProofCut that its latest proof was not made
	// to its end: it was interrupted, or its process was killed.
	Proving  bool         `json:"proving,omitempty"`
	ProofCut bool         `json:"proof_cut_off,omitempty"`
	Route    *risk.Routed `json:"route,omitempty"`
	Applied  *Applied     `json:"applied,omitempty"`
}

// NotTakenWords names the first n of the entries that no workspace has, with the
// reasons; "" for none.
func (r Run) NotTakenWords(n int) string {
	var out []string
	for _, p := range slices.Sorted(maps.Keys(r.NotTaken)) {
		if len(out) == n {
			out = append(out, fmt.Sprintf("and %d more", len(r.NotTaken)-n))
			break
		}
		out = append(out, p+": "+r.NotTaken[p])
	}
	if len(out) == 0 {
		return ""
	}
	return strings.Join(out, "; ") + "; in no workspace"
}

// Applied tells that the patch was written to the project.
type Applied struct {
	// At is zero while it is being written, or when that was cut off.
	At     time.Time `json:"at"`
	Undone time.Time `json:"undone,omitzero"`
	// Undoing tells that it is being taken back, or that this was cut off.
	Undoing bool `json:"undoing,omitempty"`
}

// Verdicts of a proof.
const (
	Proven    = risk.Proven
	NotProven = "NOT_PROVEN"
)

// Proof is one rebuild of base and patch in a clean workspace.
type Proof struct {
	Verdict string     `json:"verdict"`
	Reasons []string   `json:"reasons"`
	Class   risk.Class `json:"class,omitempty"` // of the failure
	// Signature identifies the failure: equal failures have equal ones.
	Signature string  `json:"signature,omitempty"`
	Phases    []Phase `json:"phases"`
	// Plan are the commands, PlanSource where they come from: policy, go, node, …
	Plan        Plan   `json:"plan"`
	PlanSource  string `json:"plan_source"`
	PlanDigest  string `json:"plan_digest"`
	PlanTrusted bool   `json:"plan_trusted"`
	// PlanKept are paths of the patch that say what the commands do, and for which the
	// base's were taken: of package.json its scripts, others as a whole.
	PlanKept []string `json:"plan_kept,omitempty"`
	Sandbox  string   `json:"sandbox"`
	// Repeated tells that a failure was proven once more before anybody was asked.
	Repeated bool `json:"repeated,omitempty"`
	// FirstFailure is the phase that failed before it was proven once more, if then it passed
	// or wrote something else; Flaky is what failed there, in words, when it passed then.
	FirstFailure *Phase   `json:"first_failure,omitempty"`
	Flaky        string   `json:"flaky,omitempty"`
	FailedTests  []string `json:"failed_tests,omitempty"`
	// BaseTests are the tests that ran on the bare base, passing or not; nil when
	// no runner says, or when the patch was not proven.
	BaseTests *int `json:"base_tests,omitempty"`
	// BaseDoubt is TestsDoubt of the bare base: what its runner always prints is no sign.
	BaseDoubt   string    `json:"base_doubt,omitempty"`
	PatchDigest string    `json:"patch_digest"`
	Started     time.Time `json:"started"`
	Ended       time.Time `json:"ended"`
}

// Passes reports a proof whose every command passed: it is proven, or only the policy
// asks a person about the patch.
func (p Proof) Passes() bool {
	if p.Verdict == Proven {
		return true
	}
	return p.Class == risk.PolicyClass && len(p.Phases) > 0 && !slices.ContainsFunc(p.Phases, func(f Phase) bool { return !f.Passed })
}

// Phase names.
const (
	Setup = "dependency_setup"
	Build = "build"
	Tests = "tests"
)

// Phase is one command of a proof.
type Phase struct {
	Phase      string   `json:"phase"`
	Command    []string `json:"command"` // secrets masked
	Passed     bool     `json:"passed"`
	ReturnCode *int     `json:"returncode"` // nil when it never started or was ended by a signal
	Millis     int64    `json:"ms"`
	// Output is what is kept of both streams: the head and the tail, masked.
	Output       string `json:"output,omitempty"`
	OutputBytes  int64  `json:"output_bytes"`
	OutputSHA256 string `json:"output_sha256,omitempty"` // of everything
	TestsPassed  *int   `json:"tests_passed"`
	TestsTotal   *int   `json:"tests_total"`
	// TestsDoubt is why the count cannot be trusted, in words; "" for no reason known.
	TestsDoubt string `json:"tests_doubt,omitempty"`
	Detail     string `json:"detail,omitempty"` // why it failed, when the code does not say
}

// Link is the address of the run (package link).
func (r Run) Link() string { return link.Of("run", r.ID) }
