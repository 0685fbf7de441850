package patch

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"

	"vise/engine/event"
	"vise/engine/guard"
	"vise/engine/patch/policy"
	"vise/engine/patch/risk"
	"vise/engine/patch/run"
	"vise/engine/patch/tree"
	"vise/engine/process"
	"vise/store"
)

// Bounds of a phase.
const (
	maxPhase     = 64 << 10  // bytes of its output that are kept, head and tail
	maxPhaseText = 128 << 20 // bytes after which it is ended: it writes without end
)

// Prove rebuilds the run's base and patch in a clean workspace and runs the plan
// there. The verdict is stored with the run, and so is where the run goes next.
func (b *Bench) Prove(ctx context.Context, id string) (run.Run, error) {
	free, err := b.claim(id)
	if err != nil {
		return run.Run{}, err
	}
	defer free()
	r, err := b.Run(id)
	if err != nil {
		return r, err
	}
	if r.Status == run.Running {
		return r, fmt.Errorf("prove %s: its agent is still running, or was cut off; start the run again", id)
	}
	p, err := b.prove(ctx, r, b.o.PhaseTimeout)
	if err != nil {
		return r, err
	}
	if p.Verdict != run.Proven && p.Class == risk.Tests { // a failure may be chance: once more
		again, err := b.prove(ctx, r, b.o.PhaseTimeout)
		if err != nil {
			return r, err
		}
		again.Repeated = true
		p = second(p, again)
	}
	return b.proved(ctx, r, p)
}

// second is the proof that counts after a failure was proven once more: one that
// holds is labelled, and tells what had failed.
func second(before, again run.Proof) run.Proof {
	again.Repeated = true
	if again.Verdict != run.Proven {
		return again
	}
	again.Class = risk.Flaky
	what := strings.Join(before.Reasons, "; ")
	if n := len(before.FailedTests); n > 0 {
		what += ": " + strings.Join(before.FailedTests[:min(n, 5)], ", ")
		if n > 5 {
			what += fmt.Sprintf(" and %d more", n-5)
		}
	}
	again.Reasons = append(again.Reasons, "it failed at first and passed when it was proven once more: a test is flaky, or the patch made it so ("+what+")")
	return again
}

// proved stores a proof and where the run goes next.
func (b *Bench) proved(ctx context.Context, r run.Run, p run.Proof) (run.Run, error) {
	r.Proof = &p
	r.Causes = fewer(r.Causes, p)
	class := p.Class
	if p.Verdict == run.Proven {
		class = risk.NoClass // a flaky proof is a proof, and is labelled
	}
	routed := risk.Route(r.Causes, r.Outcome, p.Verdict, class)
	r.Route = &routed
	err := b.o.Store.Update(context.WithoutCancel(ctx), func(tx *store.Tx) error {
		now, found, err := tx.PatchRun(r.ID)
		if err == nil && !found {
			err = errors.New("it was removed meanwhile")
		}
		if err != nil {
			return err
		}
		r.Applied = now.Applied // a person may have applied it, or taken it back, meanwhile
		if err := tx.PutPatchRun(r); err != nil {
			return err
		}
		data := map[string]any{"verdict": p.Verdict, "phases": len(p.Phases), "plan": p.PlanSource, "sandbox": p.Sandbox, "ms": p.Ended.Sub(p.Started).Milliseconds()}
		if p.Class != "" {
			data["class"] = string(p.Class)
		}
		if n := len(p.FailedTests); n > 0 {
			data["failed_tests"] = n
		}
		if err := tx.Emit(event.Event{Type: event.PatchProved, RunID: r.ID, Data: data}); err != nil {
			return err
		}
		return tx.Emit(event.Event{Type: event.PatchRouted, RunID: r.ID, Data: map[string]any{"kind": routed.Kind, "code": routed.Code, "causes": len(routed.Causes)}})
	})
	if err != nil {
		return r, fmt.Errorf("store the proof of %s: %w", r.ID, err)
	}
	return r, nil
}

// prove makes one proof. An error is ours or the context's; whatever lies in the
// patch, the project or the machine's tools is a verdict with its class.
func (b *Bench) prove(ctx context.Context, r run.Run, limit time.Duration) (run.Proof, error) {
	p := run.Proof{Verdict: run.NotProven, Reasons: []string{}, Phases: []run.Phase{}, Started: b.now(), Sandbox: "nothing was run"}
	end := func(class risk.Class, reasons ...string) (run.Proof, error) {
		p.Reasons = append(p.Reasons, reasons...)
		if p.Class == "" {
			p.Class = class
		}
		p.Ended = b.now()
		return p, nil
	}
	if r.Patch != nil {
		p.PatchDigest = r.Patch.Digest
	}
	switch r.Status {
	case run.Blocked:
		return end(risk.PolicyClass, "the policy denies the program; it was never started")
	case run.Error:
		return end(risk.Environment, "the agent could not be run, or what it made not be taken: "+r.Error)
	}
	base, err := tree.Open(b.bases(), r.BaseDigest)
	if err != nil {
		return p, fmt.Errorf("prove %s: %w", r.ID, err)
	}
	pl := plan(r.Policy, base, *r.Patch)
	p.Plan, p.PlanSource, p.PlanTrusted = b.shownPlan(pl.Plan), pl.Source, pl.Trusted
	if p.PlanDigest, err = pl.Plan.Digest(); err != nil {
		return p, fmt.Errorf("prove %s: %w", r.ID, err)
	}
	if !pl.Trusted {
		return end(risk.Untrusted, pl.Why)
	}
	if !r.Patch.Complete || len(r.Unseen) > 0 {
		return end(risk.PolicyClass, "the patch is not complete: something could not be captured")
	}
	dir := filepath.Join(b.home(r.ID), "proof")
	if err := removeTree(dir); err != nil { // of a proof that was cut off
		return p, fmt.Errorf("prove %s: %w", r.ID, err)
	}
	defer removeTree(dir)
	ws := filepath.Join(dir, "project")
	if err := base.Materialise(ctx, ws); err != nil {
		if ctx.Err() != nil {
			return p, context.Cause(ctx)
		}
		return end(risk.Environment, b.mask(err.Error(), 500))
	}
	if err := tree.Apply(ws, r.Patch.Entries, tree.Objects(b.objects(r.ID))); err != nil {
		return end(risk.Inapplicable, b.mask(err.Error(), 500))
	}
	if err := b.phases(ctx, &p, r, pl.Plan, ws, filepath.Join(dir, "tmp"), limit, false); err != nil {
		return p, err
	}
	if n := len(p.Phases); n > 0 && !p.Phases[n-1].Passed {
		bad := p.Phases[n-1]
		report := ReadTests(bad.Output)
		if bad.Phase == run.Tests {
			p.FailedTests = report.Failed
		}
		p.Class = classify(bad)
		p.Signature = signature(bad.Phase, report.Failed, bad.Output+bad.Detail)
		reasons := []string{says(bad)}
		if left := missed(b.o.Root, r.LeftOut, bad.Output); left != "" && (p.Class == risk.Tests || p.Class == risk.BuildFailed) {
			why := "it lacks " + left + ", which is ignored and in no workspace; name the command that makes it in proof.setup of the policy"
			same, err := b.baseLacks(ctx, r, base, pl.Plan, limit, bad.Phase, left)
			if err != nil {
				return p, err
			}
			if same { // no agent can mend it: what a person has to do comes first
				p.Class, reasons = risk.Environment, []string{why, says(bad)}
			} else { // the patch alone asks for it
				reasons = append(reasons, why)
			}
		}
		if r.Status != run.Passed { // its work may be half done
			reasons = append(reasons, badEnd(r))
		}
		return end(p.Class, reasons...)
	}
	if r.Status != run.Passed {
		p.Signature = signature("agent", nil, string(r.Status))
		return end(risk.AgentFailed, badEnd(r))
	}
	if p.BaseTests, err = b.baseTests(ctx, r, base, pl.Plan, p.PlanDigest, limit); err != nil {
		return p, err
	}
	if r.Outcome != policy.Allow {
		return end(risk.PolicyClass, fmt.Sprintf("the policy says %s", r.Outcome))
	}
	p.Verdict, p.Ended = run.Proven, b.now()
	return p, nil
}

// badEnd tells that an agent failed, or was ended.
func badEnd(r run.Run) string {
	s := fmt.Sprintf("the agent did not end well: %s %s", strings.ReplaceAll(string(r.Status), "_", " "), r.Exit)
	if r.Error != "" {
		s += "; " + r.Error
	}
	return s
}

func says(f run.Phase) string {
	what := f.Detail
	if what == "" && f.ReturnCode != nil {
		what = fmt.Sprintf("exited %d", *f.ReturnCode)
	}
	return fmt.Sprintf("%s: %s %s", f.Phase, strings.Join(f.Command, " "), what)
}

func (b *Bench) shownPlan(p run.Plan) run.Plan {
	mask := func(list [][]string) [][]string {
		out := make([][]string, len(list))
		for i := range list {
			out[i] = b.shown(list[i])
		}
		return out
	}
	return run.Plan{Setup: mask(p.Setup), Build: mask(p.Build), Tests: mask(p.Tests)}
}

// phases runs the commands one after the other and stops at the first that fails,
// unless all are asked for.
func (b *Bench) phases(ctx context.Context, p *run.Proof, r run.Run, pl run.Plan, ws, tmp string, limit time.Duration, all bool) error {
	if err := os.MkdirAll(tmp, 0o700); err != nil {
		return fmt.Errorf("prove %s: %w", r.ID, err)
	}
	cache := filepath.Join(b.o.Dir, "patch", "cache", "proof")
	env := append(environ(b.o.PhaseEnv, tmp, cache), "PWD="+ws, "CI=true")
	sandbox, err := b.sandbox(ws, tmp, cache, cacheDirs(b.o.PhaseEnv), r.Policy.Proof.Network, false)
	if err != nil {
		return fmt.Errorf("prove %s: %w", r.ID, err)
	}
	if r.Policy.Proof.Network { // downloads go where they may be written
		env = append(env, "GOMODCACHE="+filepath.Join(cache, "go-mod"), "CARGO_HOME="+filepath.Join(cache, "cargo"))
	}
	for _, ph := range []struct {
		name     string
		commands [][]string
	}{{run.Setup, pl.Setup}, {run.Build, pl.Build}, {run.Tests, pl.Tests}} {
		for _, argv := range ph.commands {
			shown := ph.name
			if all {
				shown = "base_" + shown // the bare base is run, to be compared with
			}
			f, err := b.phase(ctx, p, r.ID, ph.name, shown, process.Spec{Command: argv, Dir: ws, Env: env, Sandbox: sandbox, Grace: agentStop}, limit)
			if err != nil {
				return err
			}
			p.Phases = append(p.Phases, f)
			if !f.Passed && !all {
				return nil
			}
		}
	}
	return nil
}

// phase runs one command. shown is its name for whoever watches.
func (b *Bench) phase(ctx context.Context, p *run.Proof, id, name, shown string, spec process.Spec, limit time.Duration) (run.Phase, error) {
	f := run.Phase{Phase: name, Command: b.shown(spec.Command)}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	sum := sha256.New()
	var counts summary
	var mu sync.Mutex
	live := b.watched(id, shown)
	ran, err := process.Run(ctx, spec, process.Bounds{Time: limit, Output: maxPhase}, func(text []byte) {
		mu.Lock()
		defer mu.Unlock()
		sum.Write(text)
		if name == run.Tests {
			counts.add(text)
		}
		if f.OutputBytes += int64(len(text)); f.OutputBytes > maxPhaseText {
			stop(errEndless)
		}
		_, _ = live.Write(text) // it does not fail
	})
	_ = live.Close()
	mu.Lock()
	defer mu.Unlock()
	f.Millis, f.OutputSHA256 = ran.Elapsed.Milliseconds(), hex.EncodeToString(sum.Sum(nil))
	text, _ := b.o.Redactor.Text(ran.Output.Text())
	f.Output = guard.Sanitize(text, 0)
	p.Sandbox = held(ran.Held, spec.Sandbox)
	switch {
	case errors.Is(err, errEndless):
		f.Detail = fmt.Sprintf("was ended: it wrote more than %d MB", maxPhaseText>>20)
		return f, nil
	case errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) || errors.Is(err, process.ErrNotHeld):
		f.Detail = "could not be started: " + b.mask(err.Error(), 300)
		return f, nil
	case err != nil:
		return f, fmt.Errorf("prove %s: %w", id, err)
	case ran.TimedOut:
		f.Detail = fmt.Sprintf("was ended after %s", limit)
		return f, nil
	}
	if ran.Exit.Signal == "" && ran.Exit.Err == nil {
		f.ReturnCode = &ran.Exit.Code
	} else {
		f.Detail = ran.Exit.String()
		if ran.Exit.Signal == "killed" {
			f.Detail += " by another program: by the system, if memory was short"
		}
	}
	f.Passed = ran.OK()
	if name == run.Tests {
		report := ReadTests(f.Output)
		if whole := ReadTests(string(counts.kept)); f.OutputBytes > maxPhase && whole.Total != nil {
			report = whole // what is kept lacks its middle
		}
		f.TestsPassed, f.TestsTotal = report.Passed, report.Total
	}
	return f, nil
}

var errEndless = errors.New("it wrote without end")

// machineFault are messages of a machine that lacks something, not of a patch.
var machineFault = regexp.MustCompile(`(?im)command not found|: not found\z|(?:^\S*\bsh|: (?:line )?\d+): \S+: not found$|^make(?:\[\d+\])?: \*\*\* .* Error 12[67]\b|^make(?:\[\d+\])?: \S+: No such file or directory|^npm (?:err!|error) (?:code|errno) 12[67]\b|no module named ['"]?(pytest|pip|venv|build|setuptools)\b|no space left on device|cannot allocate memory|out of memory|` +
	`temporary failure in name resolution|could not resolve host|network is unreachable|connection refused .*proxy|getaddrinfo (enotfound|eai_again)|dial tcp.*(lookup|connect)|` +
	`read-only file system|too many open files|exec format error|executable file not found in|gcc.*no such file or directory|cc1?: not found|linker .* not found|toolchain .* not (installed|available)|` +
	`requires go >= |EROFS|ENOSPC`)

// classify finds the class of a failed phase.
func classify(f run.Phase) risk.Class {
	switch {
	case strings.HasPrefix(f.Detail, "could not be started"):
		return risk.Environment
	case strings.HasPrefix(f.Detail, "was ended"): // it went on without end: in time, or in what it wrote
		return risk.Timeout
	case f.ReturnCode != nil && (*f.ReturnCode == 126 || *f.ReturnCode == 127):
		return risk.Environment
	case f.Phase == run.Setup:
		return risk.Environment // the patch cannot touch what setup reads
	case f.Detail == "" && len(ReadTests(f.Output).Failed) == 0 && machineFault.MatchString(f.Output):
		return risk.Environment
	case f.Phase == run.Build:
		return risk.BuildFailed
	}
	return risk.Tests
}

// removeTree removes a folder even when programs in it took away the right to.
func removeTree(dir string) error {
	if os.RemoveAll(dir) == nil {
		return nil
	}
	_ = filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			_ = os.Chmod(p, 0o700)
		}
		return nil
	})
	return os.RemoveAll(dir)
}
