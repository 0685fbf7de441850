package patch

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"vise/engine/internal/vectors"
	"vise/engine/patch/drive"
	"vise/engine/patch/policy"
	"vise/engine/patch/risk"
	"vise/engine/patch/run"
	"vise/engine/patch/tree"
)

// play is what a scripted agent of loop_e2e does.
type play struct {
	Write   map[string]string `json:"write"`
	Delete  []string          `json:"delete"`
	Symlink map[string]string `json:"symlink"`
	ChmodX  []string          `json:"chmod_x"`
	Exit    int               `json:"exit"`
	Argv    []string          `json:"argv"`
}

func (p play) in(t *testing.T, dir string) run.Status {
	t.Helper()
	if len(p.Argv) > 0 {
		return run.Error // the only literal command is a missing program
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for f, text := range p.Write {
		must(os.MkdirAll(filepath.Dir(filepath.Join(dir, f)), 0o755))
		must(os.WriteFile(filepath.Join(dir, f), []byte(text), 0o644))
	}
	for _, f := range p.Delete {
		must(os.Remove(filepath.Join(dir, f)))
	}
	for f, to := range p.Symlink {
		must(os.Symlink(to, filepath.Join(dir, f)))
	}
	for _, f := range p.ChmodX {
		must(os.Chmod(filepath.Join(dir, f), 0o755))
	}
	if p.Exit != 0 {
		return run.Failed
	}
	return run.Passed
}

// check is the predicate of a proof command: a file must hold a text.
type check struct {
	Path, Equals string
	RC           int
}

// stage is the world of a loop_e2e case: real snapshots, patches, decisions,
// scores and replays; only the container is the suite's predicate. It works in
// the places where the reference does: in the project, or in fresh copies of the
// first base.
type stage struct {
	script
	t       *testing.T
	bench   *Bench
	root    string // where the next repair works
	first   *tree.Tree
	fresh   bool
	policy  policy.Policy
	checks  map[string]check
	plays   []play
	runs    []run.Run
	bases   []*tree.Tree
	saw     []any
	drivers int
	noAgent bool
}

// execute records one scripted run in dir.
func (s *stage) execute(dir string, p play) {
	s.t.Helper()
	id := fmt.Sprintf("run%d", len(s.runs))
	base, err := tree.Take(s.t.Context(), dir, s.bench.bases(), nil)
	if err != nil {
		s.t.Fatal(err)
	}
	r := run.Run{ID: id, Policy: s.policy, Decision: s.policy.Command([]string{"agent"})}
	r.Status = p.in(s.t, dir)
	c, err := tree.Capture(s.t.Context(), base, dir, s.bench.objects(id))
	if err != nil {
		s.t.Fatal(err)
	}
	for i := range c.Entries { // the reference cannot hold links
		c.Entries[i].Materialized = c.Entries[i].ResultLink == nil
	}
	if err := s.bench.weigh(&r, base, c, risk.Seed); err != nil {
		s.t.Fatal(err)
	}
	s.runs, s.bases = append(s.runs, r), append(s.bases, base)
}

func (s *stage) Prove(_ context.Context, l *run.Loop) (run.Proof, error) {
	i := runIndex(l.Current)
	r := s.runs[i]
	p := run.Proof{Verdict: run.NotProven, Reasons: []string{}}
	add := func(code string) { p.Reasons = append(p.Reasons, code) }
	pl := plan(s.policy, s.bases[i], *r.Patch, risk.Seed)
	if !pl.Trusted {
		add("plan_untrusted")
	}
	if len(pl.Tests) == 0 {
		add("no_tests")
	}
	dir := filepath.Join(s.t.TempDir(), "room")
	if err := s.bases[i].Materialise(s.t.Context(), dir); err != nil {
		return p, err
	}
	if !r.Patch.Complete {
		add("environment_error:RuntimeError")
	} else if err := tree.Apply(dir, r.Patch.Entries, tree.Objects(s.bench.objects(r.ID))); err != nil {
		return p, err
	} else {
		s.saw = append(s.saw, s.look(dir))
		bad := ""
		for _, f := range []struct {
			name     string
			commands [][]string
		}{{run.Setup, pl.Setup}, {run.Build, pl.Build}, {run.Tests, pl.Tests}} {
			for _, argv := range f.commands {
				c := s.checks[argv[0]]
				if b, _ := os.ReadFile(filepath.Join(dir, c.Path)); bad == "" && c.Path != "" && string(b) != c.Equals {
					bad = fmt.Sprintf("phase_failed:%s:%d", f.name, max(c.RC, 1))
				}
			}
		}
		if bad != "" {
			add(bad)
		}
	}
	if r.Status != run.Passed {
		add("run_not_passed")
	}
	if r.Outcome != policy.Allow {
		add("policy_not_allow")
	}
	if !r.Patch.Complete {
		add("patch_incomplete")
	}
	if len(p.Reasons) == 0 {
		p.Verdict = run.Proven
	}
	s.latest = p
	return p, nil
}

func (s *stage) look(dir string) map[string]string {
	s.t.Helper()
	out := map[string]string{}
	now, err := tree.Look(s.t.Context(), dir, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	for f, e := range now.Files {
		if e.Link != "" {
			out[f] = "-> " + e.Link
			continue
		}
		b, err := os.ReadFile(filepath.Join(dir, f))
		if err != nil {
			s.t.Fatal(err)
		}
		out[f] = string(b)
	}
	return out
}

func (s *stage) Boundary(l *run.Loop) ([]risk.Cause, error) {
	return s.runs[runIndex(l.Current)].Causes, nil
}
func (s *stage) Packet(context.Context, *run.Loop) (string, error) { return "packet", nil }
func (s *stage) Drive(context.Context, *run.Loop) error {
	if s.noAgent {
		return drive.ErrNoCommand
	}
	s.drivers++
	return nil
}

func (s *stage) Repair(_ context.Context, l *run.Loop) (string, string, error) {
	if s.fresh {
		s.root = filepath.Join(s.t.TempDir(), "ws")
		if err := s.first.Materialise(s.t.Context(), s.root); err != nil {
			return "", "", err
		}
	}
	s.execute(s.root, s.plays[l.Attempt])
	return fmt.Sprintf("run%d", l.Attempt+1), "", nil
}

func TestVectorsLoopE2E(t *testing.T) {
	type input struct {
		Policy      map[string]any    `json:"policy"`
		Base        map[string]string `json:"base"`
		Agent       play              `json:"agent"`
		Repairs     []play            `json:"repairs"`
		Checks      map[string]check  `json:"checks"`
		Workspaces  string            `json:"workspaces"`
		Driver      string            `json:"driver"`
		MaxAttempts int               `json:"max_attempts"`
	}
	vectors.RunPatch(t, "loop_e2e", func(t *testing.T, in input) any {
		if proof, ok := in.Policy["proof"].(map[string]any); ok {
			delete(proof, "image") // there is no container here
		}
		raw, err := json.Marshal(in.Policy)
		if err != nil {
			t.Fatal(err)
		}
		p, err := policy.Parse("policy.json", raw)
		if err != nil {
			t.Fatal(err)
		}
		root := t.TempDir()
		for f, text := range in.Base {
			play{Write: map[string]string{f: text}}.in(t, root)
		}
		s := &stage{t: t, bench: &Bench{o: Options{Dir: t.TempDir()}}, root: root, policy: p, checks: in.Checks, plays: in.Repairs,
			fresh: in.Workspaces == "fresh", noAgent: in.Driver == "none", saw: []any{}}
		s.execute(root, in.Agent)
		s.first = s.bases[0]
		l := run.Loop{RunID: "run0", Profile: risk.Seed, MaxAttempts: max(in.MaxAttempts, 1), MaxRuntime: time.Hour, State: run.StateBudget, Current: "run0"}
		if in.MaxAttempts == 0 {
			l.MaxAttempts = 2
		}
		if err := (&machine{world: s}).drive(t.Context(), &l); err != nil {
			t.Fatal(err)
		}
		out := map[string]any{"status": l.Status, "reason_code": l.Reason.Code, "repaired_attempt": nil, "clean_room_saw": s.saw, "root_after": s.look(root), "drivers_called": s.drivers}
		attempts, runs := []any{}, []any{}
		for _, a := range l.Attempts {
			attempts = append(attempts, map[string]any{"attempt": a.Attempt, "verdict": a.Verdict, "reasons": a.Reasons})
		}
		for i, r := range s.runs {
			status := string(r.Status)
			if r.Status == run.Passed && r.Outcome != policy.Allow {
				status = string(r.Outcome)
			}
			patch := []any{}
			for _, e := range r.Patch.Entries {
				patch = append(patch, []any{e.Path, e.ChangeType, e.Decision})
			}
			var files []string
			for f := range s.bases[i].Files {
				files = append(files, f)
			}
			slices.Sort(files)
			runs = append(runs, map[string]any{"status": status, "safety_outcome": r.Outcome, "blast": r.Blast.Score, "future": []any{r.Future.Score, r.Future.Level}, "patch": patch,
				"patch_complete": r.Patch.Complete, "base_files": files, "base_complete": len(s.bases[i].Skipped) == 0})
		}
		if l.Repaired != "" {
			out["repaired_attempt"] = runIndex(l.Repaired)
		}
		out["attempts"], out["runs"] = attempts, runs
		return out
	})
}
