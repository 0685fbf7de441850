package patch

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/aymanbagabas/go-udiff"

	"vise/engine/guard"
	"vise/engine/patch/drive"
	"vise/engine/patch/policy"
	"vise/engine/patch/risk"
	"vise/engine/patch/run"
	"vise/engine/patch/tree"
)

// PacketSchema is the JSON Schema (draft 2020-12) of a failure packet, version 2.
//
//go:embed packet.schema.json
var PacketSchema []byte

// Bounds of a packet, in bytes.
const (
	maxPacketLog  = 16 << 10 // of the output of one failing phase, head and tail
	maxPacketDiff = 64 << 10
	maxPacketTask = 8 << 10
	// Of the lists that grow with a project, as they are encoded.
	maxPacketFiles = 192 << 10
	maxPacketTests = 64 << 10
	maxPacketScope = 48 << 10 // of one list of the policy
	maxPacket      = 1 << 20
)

// Packet is what a repair may see of a failure: enough to mend it and nothing
// else. Version 2 holds every field of AgentDiff's version 1. Equal records give
// equal bytes.
type Packet struct {
	SchemaVersion int           `json:"schema_version"` // 2
	RunID         string        `json:"run_id"`         // the run whose proof failed
	Attempt       int           `json:"attempt"`        // number of the repair it asks for, from 1
	FailedPhases  []FailedPhase `json:"failed_phases"`
	FailedTests   []string      `json:"failed_tests"`
	ChangedFiles  []ChangedFile `json:"changed_files"`
	Policy        policy.Policy `json:"policy"`
	AllowedScope  []string      `json:"allowed_scope"`
	Risk          PacketRisk    `json:"risk"`
	Reasons       []string      `json:"reasons"`
	PatchDigest   string        `json:"patch_digest"`
	BaseDigest    string        `json:"base_digest"`

	// Fields of version 2.
	Task             string          `json:"task"`
	FailureClass     risk.Class      `json:"failure_class"`
	Signature        string          `json:"failure_signature"`
	Plan             run.Plan        `json:"plan"`
	Diff             string          `json:"diff"` // unified, of the failed patch; it is in the workspace already
	DiffCut          bool            `json:"diff_cut"`
	ChangedFilesCut  int             `json:"changed_files_cut,omitempty"` // how many more there are than the list has
	ForbiddenScope   []string        `json:"forbidden_scope"`
	ProtectedKinds   []string        `json:"protected_kinds"`
	PolicyDigest     string          `json:"policy_digest"`
	PreviousAttempts []PacketAttempt `json:"previous_attempts"`
	Remaining        PacketRemaining `json:"remaining"`
	Workspace        string          `json:"workspace"` // what the repair starts from: "base+patch"
	AskForScope      string          `json:"ask_for_scope"`
}

// FailedPhase is a phase of the proof that did not pass.
type FailedPhase struct {
	Phase        string   `json:"phase"`
	ReturnCode   *int     `json:"returncode"`
	OutputSHA256 *string  `json:"output_sha256"` // of what the proof kept of it, without times, addresses and its folder: see Log
	TestsPassed  *int     `json:"tests_passed"`
	TestsTotal   *int     `json:"tests_total"`
	Command      []string `json:"command"`
	// Log is the head and tail of both streams, secrets masked; what differs between
	// two proofs of one failure (the folder of the proof, times that the runner
	// prints, addresses) is replaced, so that both give the same bytes.
	Log    string `json:"log"`
	Detail string `json:"detail"`
}

// ChangedFile is a changed path with what the policy says about it.
type ChangedFile struct {
	Path       string `json:"path"`
	ChangeType string `json:"change_type"`
	Decision   string `json:"decision"`
}

// PacketRisk are the scores of the failed patch; they inform, they decide nothing.
type PacketRisk struct {
	Immediate int    `json:"immediate_blast_radius"`
	Future    int    `json:"future_blast_radius"`
	Level     string `json:"future_level"`
}

// PacketAttempt sums up an earlier proof.
type PacketAttempt struct {
	Attempt   int      `json:"attempt"`
	Class     string   `json:"class"`
	Signature string   `json:"signature"`
	Failed    []string `json:"failed_tests"`
}

// PacketRemaining is the budget that is left, in whole repairs and seconds
// (rounded down to ten, so that equal failures give equal packets).
type PacketRemaining struct {
	Repairs int `json:"repairs"`
	Seconds int `json:"seconds"`
}

// newPacket builds the packet that asks for a repair of r.
func newPacket(r run.Run, l run.Loop, diff string, red *guard.Redactor) (Packet, error) {
	if r.Proof == nil || r.Patch == nil {
		return Packet{}, fmt.Errorf("write the failure packet of %s: it has no proof", r.ID)
	}
	mask := func(s string, n int) string {
		s, _ = red.Text(s)
		return clip(guard.Sanitize(s, 0), n)
	}
	p := Packet{SchemaVersion: 2, RunID: r.ID, Attempt: l.Attempt + 1, FailedPhases: []FailedPhase{}, FailedTests: []string{}, ChangedFiles: []ChangedFile{},
		Policy: shortened(r.Policy), AllowedScope: fitting(r.Policy.Filesystem.AllowWrite, maxPacketScope), Reasons: []string{},
		Risk:        PacketRisk{r.Blast.Score, r.Future.Score, r.Future.Level},
		PatchDigest: r.Patch.Digest, BaseDigest: r.BaseDigest,
		Task: mask(r.Task, maxPacketTask), FailureClass: r.Proof.Class, Signature: r.Proof.Signature, Plan: r.Proof.Plan,
		ForbiddenScope: append(fitting(r.Policy.Filesystem.Deny, maxPacketScope), fitting(r.Policy.Filesystem.Review, maxPacketScope)...), ProtectedKinds: protectedKinds,
		PolicyDigest: r.PolicyDigest, PreviousAttempts: []PacketAttempt{}, Workspace: "base+patch", AskForScope: drive.ScopeMark,
		Remaining: PacketRemaining{max(0, l.MaxAttempts-1-l.Attempt), int((l.MaxRuntime - l.Spent).Seconds()) / 10 * 10},
	}
	for _, s := range r.Proof.Reasons {
		p.Reasons = append(p.Reasons, steady(s))
	}
	for _, f := range r.Proof.Phases {
		if f.Passed {
			continue
		}
		sum, log := f.OutputSHA256, steady(f.Output)
		if log != "" {
			sum = run.Sum([]byte(log))
		}
		fp := FailedPhase{Phase: f.Phase, ReturnCode: f.ReturnCode, TestsPassed: f.TestsPassed, TestsTotal: f.TestsTotal, Command: f.Command,
			Log: mask(log, maxPacketLog), Detail: steady(f.Detail)}
		if sum != "" {
			fp.OutputSHA256 = &sum
		}
		p.FailedPhases = append(p.FailedPhases, fp)
		if f.TestsPassed != nil && f.TestsTotal != nil {
			p.FailedTests = append(p.FailedTests, fmt.Sprintf("%s: %d/%d passed", f.Phase, *f.TestsPassed, *f.TestsTotal))
		}
	}
	p.FailedTests = fitting(append(p.FailedTests, r.Proof.FailedTests...), maxPacketTests)
	room := maxPacketFiles
	for i, e := range r.Patch.Entries {
		if room -= encoded(e.Path) + 80; room < 0 {
			p.ChangedFilesCut = len(r.Patch.Entries) - i
			break
		}
		p.ChangedFiles = append(p.ChangedFiles, ChangedFile{e.Path, e.ChangeType, string(e.Decision)})
	}
	earlier := l.Attempts[:max(0, len(l.Attempts)-1)]
	for _, a := range earlier {
		p.PreviousAttempts = append(p.PreviousAttempts, PacketAttempt{a.Attempt, string(a.Class), a.Signature, fitting(a.Failed, maxPacketTests/len(earlier))})
	}
	p.Diff, p.DiffCut = mask(diff, maxPacketDiff), len(diff) > maxPacketDiff
	return p, nil
}

// encoded is how many bytes a text takes in a packet, which is ASCII.
func encoded(s string) int {
	n := 2
	for _, r := range s {
		switch {
		case r > 0xffff:
			n += 12
		case r < 0x20 || r >= 0x7f:
			n += 6
		case r == '"' || r == '\\':
			n += 2
		default:
			n++
		}
	}
	return n
}

// fitting returns the first texts of a list that fit into so many bytes of a packet,
// and how many more there are.
func fitting(list []string, room int) []string {
	out := []string{}
	for i, s := range list {
		if room -= encoded(s) + 8; room < 0 {
			return append(out, fmt.Sprintf("… and %d more", len(list)-i))
		}
		out = append(out, s)
	}
	return out
}

// shortened is a policy with lists that fit; what decides is the whole one.
func shortened(p policy.Policy) policy.Policy {
	for _, l := range []*[]string{&p.Filesystem.AllowWrite, &p.Filesystem.Review, &p.Filesystem.Deny, &p.Process.Allow, &p.Process.Review, &p.Process.Deny} {
		*l = fitting(*l, maxPacketScope)
	}
	return p
}

var protectedKinds = []string{"agent configuration", "build files", "CI of any vendor", "dependency manifests and lockfiles", "editor configuration", "hooks",
	"ignore files", "policy files", "secrets", "test runner configuration", "weakened or removed tests"}

// Encode returns the packet's bytes: sorted keys, two spaces, ASCII, a newline at the end.
func (p Packet) Encode() ([]byte, error) {
	raw, err := run.Canonical(p)
	if err != nil {
		return nil, fmt.Errorf("encode the failure packet: %w", err)
	}
	var b bytes.Buffer
	if err := json.Indent(&b, raw, "", "  "); err != nil {
		return nil, fmt.Errorf("encode the failure packet: %w", err)
	}
	b.WriteByte('\n')
	if b.Len() > maxPacket {
		return nil, fmt.Errorf("encode the failure packet: it has %d bytes, more than %d", b.Len(), maxPacket)
	}
	return b.Bytes(), nil
}

// ReadPacket reads a packet of version 1 or 2; what version 1 lacks stays empty.
func ReadPacket(name string) (Packet, error) {
	raw, err := os.ReadFile(name)
	if err != nil {
		return Packet{}, fmt.Errorf("read packet: %w", err)
	}
	if len(raw) > maxPacket {
		return Packet{}, fmt.Errorf("read packet %s: it has more than %d bytes", name, maxPacket)
	}
	return DecodePacket(name, raw)
}

// DecodePacket is ReadPacket of bytes; name is for messages.
func DecodePacket(name string, raw []byte) (Packet, error) {
	var p Packet
	if err := json.Unmarshal(raw, &p); err != nil {
		return Packet{}, fmt.Errorf("read packet %s: %w", name, err)
	}
	switch {
	case p.SchemaVersion != 1 && p.SchemaVersion != 2:
		return Packet{}, fmt.Errorf("read packet %s: version %d is unknown; 1 and 2 are", name, p.SchemaVersion)
	case p.RunID == "" || p.Attempt < 1:
		return Packet{}, fmt.Errorf("read packet %s: it lacks run_id or attempt", name)
	}
	return p, nil
}

// prompt is what a repair agent is told. packet is an absolute path.
func prompt(packet string) string {
	return "The change in this workspace failed its verification in a clean workspace. Read the failure packet at " + packet +
		" (JSON; also named by the environment variable VISE_PACKET). It holds the task, the failing phases with their output, the failing tests, the diff that failed, " +
		"the scope you may write, and the budget that is left. The failed change is already applied here: mend it, do not start over. " +
		"Fix only what fails, inside allowed_scope. Add no dependencies. Do not touch CI, build, agent or editor configuration, lockfiles, policy or ignore files. " +
		"Do not weaken, skip or delete tests. Ask for no new permissions. If a correct fix needs more than that, change nothing and end your answer with one line: " +
		drive.ScopeMark + " what you need and why."
}

// clip cuts text in its middle to at most n bytes.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	half := n/2 - 32
	head, tail := s[:half], s[len(s)-half:]
	return strings.ToValidUTF8(head, "") + fmt.Sprintf("\n… %d bytes left out …\n", len(s)-2*half) + strings.ToValidUTF8(tail, "")
}

// maxDiffFile is the longest file that is shown in a diff, in bytes.
const maxDiffFile = 512 << 10

// FileDiff is the diff of one changed path.
type FileDiff struct {
	Entry run.Entry `json:"entry"`
	// Text is unified; "" for what has no text (see Note).
	Text string `json:"text"`
	Note string `json:"note,omitempty"`
}

// diffOf makes the unified diff of one path.
func diffOf(base *tree.Tree, e run.Entry, objects string) FileDiff {
	d := FileDiff{Entry: e}
	switch {
	case e.BaseLink != nil || e.ResultLink != nil:
		d.Note = fmt.Sprintf("link %s → %s", deref(e.BaseLink), deref(e.ResultLink))
	case e.BaseSHA256 != nil && e.ResultSHA256 != nil && *e.BaseSHA256 == *e.ResultSHA256:
		d.Note = fmt.Sprintf("mode %04o → %04o", *e.BaseMode, *e.ResultMode)
	case e.Binary:
		d.Note = "binary"
	default:
		before, after, ok := texts(base, e, objects, maxDiffFile)
		if !ok {
			d.Note = "too long, or binary"
			break
		}
		from, to := "a/"+e.Path, "b/"+e.Path
		if e.BaseSHA256 == nil {
			from = "/dev/null"
		}
		if e.ResultSHA256 == nil {
			to = "/dev/null"
		}
		d.Text = udiff.Unified(from, to, before, after)
		if e.ModeChanged() {
			d.Note = fmt.Sprintf("mode %04o → %04o", *e.BaseMode, *e.ResultMode)
		}
	}
	if e.RenamedFrom != "" {
		d.Note = strings.TrimPrefix(d.Note+"; renamed from "+e.RenamedFrom, "; ")
	}
	return d
}

// texts returns an entry's text before and after; not ok when either is binary or longer than max.
func texts(base *tree.Tree, e run.Entry, objects string, max int64) (before, after string, ok bool) {
	if e.BaseSHA256 != nil && e.BaseLink == nil {
		b, err := base.Content(e.Path, max)
		if err != nil || bytes.IndexByte(b, 0) >= 0 {
			return "", "", false
		}
		before = string(b)
	}
	if e.ResultSHA256 != nil && e.ResultLink == nil {
		if *e.Size > max {
			return "", "", false
		}
		b, err := os.ReadFile(filepath.Join(objects, *e.ResultSHA256))
		if err != nil && e.BaseSHA256 != nil && *e.BaseSHA256 == *e.ResultSHA256 {
			b, err = []byte(before), nil
		}
		if err != nil || bytes.IndexByte(b, 0) >= 0 {
			return "", "", false
		}
		after = string(b)
	}
	return before, after, true
}

func deref(s *string) string {
	if s == nil {
		return "–"
	}
	return *s
}
