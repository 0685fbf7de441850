package patch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"vise/engine/guard"
	"vise/engine/internal/vectors"
	"vise/engine/patch/drive"
	"vise/engine/patch/policy"
	"vise/engine/patch/risk"
	"vise/engine/patch/run"
)

func TestVectorsTestCounts(t *testing.T) {
	type input struct {
		Output string `json:"output"`
	}
	vectors.RunPatch(t, "test_counts", func(t *testing.T, in input) any {
		passed, total := seedCounts(in.Output)
		return map[string]any{"passed": passed, "total": total}
	})
}

// seedCounts are AgentDiff 0.4's test counts: the first "N passed" and the first
// "N failed" of an output; nil when it has neither.
func seedCounts(output string) (passed, total *int) {
	p, f := number(passedCount, output), number(failedCount, output)
	if p == nil && f == nil {
		return nil, nil
	}
	var sum int
	if p == nil {
		p = new(int)
	}
	sum = *p
	if f != nil {
		sum += *f
	}
	return p, &sum
}

// script is the world of a loop_trace case.
type script struct {
	Runs []struct {
		Changes []ChangedFile `json:"changes"`
		Blast   int           `json:"blast"`
		Future  *risk.Future  `json:"future"`
		Raises  string        `json:"raises"`
	} `json:"runs"`
	Proofs []struct {
		Verdict string   `json:"verdict"`
		Reasons []string `json:"reasons"`
		Phases  []struct {
			Phase  string  `json:"phase"`
			Passed bool    `json:"passed"`
			Code   *int    `json:"returncode"`
			Sum    *string `json:"output_sha256"`
			OK     *int    `json:"tests_passed"`
			Total  *int    `json:"tests_total"`
		} `json:"phases"`
	} `json:"proofs"`
	ProofSeconds  []float64 `json:"proof_seconds"`
	RepairSeconds []float64 `json:"repair_seconds"`
	Driver        string    `json:"driver"`
	Workspaces    string    `json:"workspaces"`
	MaxAttempts   *int      `json:"max_attempts"`
	MaxRuntime    *float64  `json:"max_runtime_seconds"`
	PhaseTimeout  *float64  `json:"prove_timeout_seconds"`
	Integrity     *bool     `json:"integrity_ok"`

	now     time.Time
	proofs  int
	room    string
	latest  run.Proof
	trace   []any
	packets []any
}

func (s *script) op(name string, kv ...any) {
	m := map[string]any{"op": name}
	for i := 0; i < len(kv); i += 2 {
		m[kv[i].(string)] = kv[i+1]
	}
	s.trace = append(s.trace, m)
}

func runIndex(id string) int { n := 0; fmt.Sscanf(id, "run%d", &n); return n }

func (s *script) wait(list []float64, i int) {
	if i < len(list) {
		s.now = s.now.Add(time.Duration(list[i] * float64(time.Second)))
	}
}

var errIntegrity = errors.New("integrity")

func (s *script) Prove(_ context.Context, l *run.Loop) (run.Proof, error) {
	if s.Integrity != nil && !*s.Integrity {
		return run.Proof{}, errIntegrity
	}
	s.op("proof", "run", runIndex(l.Current), "root", s.room, "timeout", l.PhaseLimit.Seconds())
	p := s.Proofs[min(s.proofs, len(s.Proofs)-1)]
	s.wait(s.ProofSeconds, s.proofs)
	s.proofs++
	s.latest = run.Proof{Verdict: p.Verdict, Reasons: p.Reasons}
	for _, f := range p.Phases {
		x := run.Phase{Phase: f.Phase, Passed: f.Passed, ReturnCode: f.Code, TestsPassed: f.OK, TestsTotal: f.Total}
		if f.Sum != nil {
			x.OutputSHA256 = *f.Sum
		}
		s.latest.Phases = append(s.latest.Phases, x)
	}
	return s.latest, nil
}

func (s *script) Content(_ *run.Loop, id string) (string, bool, error) { return id, false, nil }

func (s *script) Boundary(l *run.Loop) ([]risk.Cause, error) {
	r := s.Runs[runIndex(l.Current)]
	var changes []risk.Change
	for _, c := range r.Changes {
		changes = append(changes, risk.Change{Path: c.Path, Type: c.ChangeType, Decision: policy.Action(c.Decision)})
	}
	level := ""
	if r.Future != nil {
		level = r.Future.Level
	}
	cause, err := risk.ScopeChange(changes, level)
	if cause == nil {
		return nil, err
	}
	return []risk.Cause{*cause}, nil
}

func (s *script) Packet(_ context.Context, l *run.Loop) (string, error) {
	i := runIndex(l.Current)
	in := s.Runs[i]
	r := run.Run{ID: l.Current, BaseDigest: "base-of-" + l.Current, Proof: &s.latest, Patch: &run.Manifest{Digest: "patch-of-" + l.Current}, Blast: risk.Blast{Score: in.Blast},
		Policy: policy.Policy{Filesystem: policy.Filesystem{AllowWrite: []string{"src/**", "tests/**"}}}, Future: risk.Future{Level: "low"}}
	if in.Future != nil {
		r.Future = *in.Future
	}
	for _, c := range in.Changes {
		r.Patch.Entries = append(r.Patch.Entries, run.Entry{Path: c.Path, ChangeType: c.ChangeType, Decision: policy.Action(c.Decision)})
	}
	p, err := newPacket(r, *l, "", guard.DefaultRedactor())
	if err != nil {
		return "", err
	}
	raw, err := p.Encode()
	if err != nil {
		return "", err
	}
	var all map[string]any
	if err := json.Unmarshal(raw, &all); err != nil {
		return "", err
	}
	v1 := map[string]any{"schema_version": 1} // the fields of version 1, without the policy
	for _, k := range []string{"run_id", "attempt", "failed_tests", "changed_files", "allowed_scope", "risk", "reasons", "patch_digest", "base_digest"} {
		v1[k] = all[k]
	}
	phases := []any{}
	for _, f := range all["failed_phases"].([]any) {
		x := f.(map[string]any)
		phases = append(phases, map[string]any{"phase": x["phase"], "returncode": x["returncode"], "output_sha256": x["output_sha256"], "tests_passed": x["tests_passed"], "tests_total": x["tests_total"]})
	}
	v1["failed_phases"] = phases
	s.packets = append(s.packets, v1)
	s.op("packet", "dir_run", i, "attempt", l.Attempt+1)
	return fmt.Sprintf(".agentdiff/repair/%s/attempt-%d-packet.json", l.Current, l.Attempt+1), nil
}

func (s *script) Drive(_ context.Context, l *run.Loop) error {
	if s.Driver == "none" {
		return drive.ErrNoCommand
	}
	s.op("driver", "attempt", l.Attempt+1, "run", runIndex(l.Current))
	if s.Driver == "raises" {
		return errors.New("propagated:driver")
	}
	return nil
}

func (s *script) Repair(_ context.Context, l *run.Loop) (string, string, error) {
	k := l.Attempt + 1
	if s.Workspaces == "fresh" {
		s.room = fmt.Sprintf("ws%d", k)
		s.op("workspace", "id", s.room)
	}
	s.op("repair", "run", k, "root", s.room, "argv", []string{"agent", fmt.Sprintf("#%d", k)}, "attempt", k)
	if k >= len(s.Runs) {
		return "", "", fmt.Errorf("there is no run %d in the script", k)
	}
	if s.Runs[k].Raises != "" {
		return "", "", errors.New("propagated:" + s.Runs[k].Raises)
	}
	s.wait(s.RepairSeconds, l.Attempt)
	return fmt.Sprintf("run%d", k), "", nil
}

func (s *script) Moved(*run.Loop) (string, error)             { return "", nil }
func (s *script) Save(context.Context, *run.Loop) error       { return nil }
func (s *script) Hold(ctx context.Context, _ *run.Loop) error { return ctx.Err() }
func (s *script) Now() time.Time                              { return s.now }

// reason is how the vectors tell why a loop ended.
func reason(l run.Loop) map[string]any {
	out := map[string]any{"code": l.Reason.Code}
	switch l.Reason.Code {
	case "attempts_exhausted":
		out["count"] = l.Reason.Attempt
	case "boundary_before_repair":
		c := l.Reason.Causes[0]
		cause := map[string]any{"code": c.Code}
		for k, v := range map[string]string{"path": c.Path, "action": c.Action, "level": c.Level} {
			if v != "" {
				cause[k] = v
			}
		}
		out["cause"] = cause
	}
	return out
}

func TestVectorsLoopTrace(t *testing.T) {
	vectors.RunPatch(t, "loop_trace", func(t *testing.T, in script) any {
		in.room, in.now, in.trace, in.packets = "root", time.Unix(1_800_000_000, 0), []any{}, []any{}
		q := RepairRequest{RunID: "run0", MaxAttempts: 2, MaxRuntime: 1800 * time.Second}
		if in.MaxAttempts != nil {
			q.MaxAttempts = *in.MaxAttempts
		}
		if in.MaxRuntime != nil {
			q.MaxRuntime = time.Duration(*in.MaxRuntime * float64(time.Second))
		}
		limit := 900.0
		if in.PhaseTimeout != nil {
			limit = *in.PhaseTimeout
		}
		if q.check() != nil {
			return map[string]any{"error": "invalid_config", "trace": in.trace}
		}
		l := run.Loop{RunID: "run0", Profile: risk.Seed, MaxAttempts: q.MaxAttempts, MaxRuntime: q.MaxRuntime, PhaseLimit: time.Duration(limit * float64(time.Second)),
			State: run.StateBudget, Current: "run0", Runs: []string{"run0"}}
		m := &machine{world: &in}
		if err := m.drive(t.Context(), &l); err != nil {
			text := err.Error()
			if errors.Is(err, policy.ErrPath) {
				text = "invalid_path"
			}
			return map[string]any{"error": text, "trace": in.trace}
		}
		attempts := []any{}
		for _, a := range l.Attempts {
			x := map[string]any{"attempt": a.Attempt, "run": runIndex(a.RunID), "verdict": a.Verdict, "reasons": a.Reasons, "packet": nil}
			if a.Packet != "" {
				x["packet"] = a.Packet
			}
			attempts = append(attempts, x)
		}
		out := map[string]any{"status": l.Status, "reason": reason(l), "attempts": attempts, "repaired_run": nil, "workspace": nil, "trace": in.trace, "packets": in.packets}
		if l.Repaired != "" {
			out["repaired_run"] = runIndex(l.Repaired)
			if in.room != "root" {
				out["workspace"] = in.room
			}
		}
		return out
	})
}
