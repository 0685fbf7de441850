package patch_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"vise/engine/event"
	"vise/engine/patch"
	"vise/engine/patch/run"
	"vise/engine/process"
	"vise/store"
)

// desk is a small project with a bench over it.
type desk struct {
	t     *testing.T
	root  string
	store *store.Store
	bench *patch.Bench
	pids  []process.Record
	o     patch.Options
}

func write(t testing.TB, root, p, text string) {
	t.Helper()
	name := filepath.Join(root, p)
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	mode := os.FileMode(0o644)
	if strings.HasSuffix(p, ".sh") {
		mode = 0o755
	}
	if err := os.WriteFile(name, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
}

// fast is a policy whose test is one shell script of the project: no compiler is paid.
const fast = `version = 2
[filesystem]
allow_write = ["**"]
[process]
default = "allow"
[proof]
tests = [["sh", "check.sh"]]
`

func newDesk(t *testing.T, files map[string]string, change func(*patch.Options)) *desk {
	t.Helper()
	d := &desk{t: t, root: t.TempDir()}
	for p, text := range files {
		write(t, d.root, p, text)
	}
	d.open(filepath.Join(d.root, ".vise"), change)
	return d
}

func (d *desk) open(dir string, change func(*patch.Options)) {
	d.t.Helper()
	st, err := store.Open(d.t.Context(), store.Options{Dir: dir})
	// A program that a parallel test is just starting may still hold a copy of the
	// lock of a store that was closed.
	for end := time.Now().Add(time.Minute); err != nil && time.Now().Before(end); {
		time.Sleep(10 * time.Millisecond)
		st, err = store.Open(d.t.Context(), store.Options{Dir: dir})
	}
	if err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(func() { st.Close() })
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"), "GOFLAGS=-mod=mod", "GOCACHE=" + goCache(), "GOTOOLCHAIN=local"}
	d.o = patch.Options{Store: st, Root: d.root, Dir: dir, PolicyFile: filepath.Join(d.root, "vise-policy.toml"), AgentEnv: env, PhaseEnv: env, Home: os.Getenv("HOME"),
		Sandbox: "auto", MaxRuntime: time.Minute, PhaseTimeout: time.Minute,
		OnProcess: func(_ string, r process.Record, gone bool) {
			if !gone {
				d.pids = append(d.pids, r)
			}
		}}
	if change != nil {
		change(&d.o)
	}
	d.store = st
	if d.bench, err = patch.New(d.o); err != nil {
		d.t.Fatal(err)
	}
}

// goCache is the machine's build cache: compiling the standard library again would cost a minute.
func goCache() string {
	if dir := os.Getenv("GOCACHE"); dir != "" {
		return dir
	}
	dir, _ := os.UserCacheDir()
	return filepath.Join(dir, "go-build")
}

// agent is a scripted agent: sh runs first the first time and again when it is asked to repair.
func agent(first, again string) []string {
	return []string{"sh", "-c", "if [ -n \"$VISE_PACKET\" ]; then :\n" + again + "\nelse\n" + first + "\nfi"}
}

func (d *desk) start(argv []string) run.Run {
	d.t.Helper()
	r, err := d.bench.Start(d.t.Context(), patch.Request{Task: "make it right", Argv: argv})
	if err != nil {
		d.t.Fatal(err)
	}
	return r
}

func (d *desk) repair(id string, change func(*patch.RepairRequest)) run.Loop {
	d.t.Helper()
	q := patch.RepairRequest{RunID: id, MaxAttempts: 2, MaxRuntime: time.Minute}
	if change != nil {
		change(&q)
	}
	l, err := d.bench.Repair(d.t.Context(), q)
	if err != nil {
		d.t.Fatal(err)
	}
	return l
}

func want(t *testing.T, l run.Loop, status, code string) {
	t.Helper()
	if l.Status != status || l.Reason.Code != code {
		t.Errorf("the loop ended %s %+v, want %s %s", l.Status, l.Reason, status, code)
		for _, a := range l.Attempts {
			t.Logf("attempt %d: %s %s %v", a.Attempt, a.Verdict, a.Class, a.Reasons)
		}
	}
}

// value is a project whose test asks for a word in a file.
var value = map[string]string{
	"value.txt": "base", "check.sh": "#!/bin/sh\nif [ \"$(cat value.txt)\" = right ]; then echo '1 passed'; else echo 'FAILED value - wrong'; echo '1 failed'; exit 1; fi\n",
	"go.mod": "module x\n", "vise-policy.toml": fast, "value_test.go": "package x\nfunc TestA(t *testing.T) { t.Error() }\n",
}

func TestRepairedAtTheSecondTry(t *testing.T) {
	d := newDesk(t, value, nil)
	r := d.start(agent("printf wrong > value.txt; mkdir -p new/deep; echo n > new/deep/file", `grep -q '"failed_tests"' "$VISE_PACKET" && [ "$(cat value.txt)" = wrong ] && cat > packet.copy && printf right > value.txt && rm packet.copy`))
	if r.Status != run.Passed || len(r.Patch.Entries) != 2 {
		t.Fatalf("the first run: %+v", r)
	}
	l := d.repair(r.ID, nil)
	want(t, l, run.Repaired, "")
	if len(l.Attempts) != 2 || len(l.Runs) != 2 || l.Repaired != l.Runs[1] {
		t.Fatalf("loop %+v", l)
	}
	fixed, err := d.bench.Run(l.Repaired)
	if err != nil {
		t.Fatal(err)
	}
	// D30: the repair began with the failed patch, and its own patch is the whole change.
	var paths []string
	for _, e := range fixed.Patch.Entries {
		paths = append(paths, e.Path)
	}
	if !slices.Equal(paths, []string{"new/deep/file", "value.txt"}) || fixed.Route == nil || fixed.Route.Kind != "AUTO" {
		t.Errorf("the repaired patch has %v, route %+v", paths, fixed.Route)
	}
	// The packet and the outcome lie beside each other.
	p, err := patch.ReadPacket(filepath.Join(d.bench.RepairDir(r.ID), "attempt-1-packet.json"))
	if err != nil || p.FailureClass != "tests" || p.FailedTests[len(p.FailedTests)-1] != "value" || !strings.Contains(p.Diff, "+wrong") || p.Task != "make it right" {
		t.Errorf("packet %+v, %v", p, err)
	}
	raw, err := os.ReadFile(filepath.Join(d.bench.RepairDir(r.ID), "outcome.json"))
	var o patch.Outcome
	if err != nil || json.Unmarshal(raw, &o) != nil || o.Status != run.Repaired || o.ExitCode != 0 || *o.RepairedRunID != l.Repaired {
		t.Errorf("outcome %s, %v", raw, err)
	}
	// Applying writes it to the project; undoing takes it back.
	if _, err := d.bench.Apply(t.Context(), r.ID, false); err == nil {
		t.Error("the unproven patch was applied")
	}
	if _, err := d.bench.Apply(t.Context(), l.Repaired, false); err != nil {
		t.Fatal(err)
	}
	if b, _ := os.ReadFile(filepath.Join(d.root, "value.txt")); string(b) != "right" {
		t.Errorf("applied, value.txt is %q", b)
	}
	if _, err := d.bench.Undo(t.Context(), l.Repaired); err != nil {
		t.Fatal(err)
	}
	if b, _ := os.ReadFile(filepath.Join(d.root, "value.txt")); string(b) != "base" {
		t.Errorf("undone, value.txt is %q", b)
	}
	write(t, d.root, "other.txt", "somebody works here")
	if _, err := d.bench.Apply(t.Context(), l.Repaired, false); err == nil || !strings.Contains(err.Error(), "other.txt") {
		t.Errorf("a moved base: %v", err)
	}
}

// ending is one way in which a loop ends.
type ending struct {
	first, again string
	files        map[string]string
	change       func(*patch.RepairRequest)
	status, code string
	also         string // in the words of the outcome
}

const broken = "printf wrong > value.txt"

// check runs a loop and looks at its end. An ending without a second script must
// launch nobody.
func (c ending) check(t *testing.T) {
	t.Helper()
	t.Parallel()
	files := map[string]string{}
	for p, text := range value {
		files[p] = text
	}
	for p, text := range c.files {
		files[p] = text
	}
	d := newDesk(t, files, nil)
	r := d.start(agent(c.first, c.again))
	started := len(d.pids)
	l := d.repair(r.ID, c.change)
	want(t, l, c.status, c.code)
	if says := patch.Says(l); !strings.Contains(says, c.also) {
		t.Errorf("it says %q, want %q in it", says, c.also)
	}
	if c.again == "" && len(d.pids) != started {
		t.Error("an agent was launched")
	}
	if b, _ := os.ReadFile(filepath.Join(d.root, "value.txt")); string(b) != "base" {
		t.Errorf("the project's value.txt is %q", b)
	}
}

func TestOutcomes(t *testing.T) {
	for name, c := range map[string]ending{
		"already proven": {first: "printf right > value.txt", status: run.Repaired, code: "already_proven"},
		"no driver":      {first: broken, change: func(q *patch.RepairRequest) { q.NoAgent = true }, status: run.NeedsAgent, code: "no_driver", also: "attempt-1-packet.json"},
		"no plan":        {first: broken, files: map[string]string{"vise-policy.toml": strings.Replace(fast, "tests = ", "build = ", 1)}, status: run.NeedsHuman, code: "plan_untrusted"},
		"needs scope":    {first: broken, again: "echo 'VISE-NEEDS-SCOPE: go.mod must change'; printf more > other.txt", status: run.NeedsHuman, code: "needs_scope", also: "go.mod must change"},
		"agent fails":    {first: broken, again: "exit 5", status: run.GaveUp, code: "no_progress", also: "the same patch again; the agent did not end well: failed exit status 5"},
		"program denied": {first: "printf right > value.txt", files: map[string]string{"vise-policy.toml": strings.Replace(fast, "default = \"allow\"\n[proof]", "deny = [\"sh\"]\n[proof]", 1)}, status: run.NeedsHuman, code: "boundary_before_repair", also: "program"},
	} {
		t.Run(name, c.check)
	}
}

// A program that is named from a sub-folder is not found: where it is looked for is told.
func TestAgentIsLookedForInTheWorkspace(t *testing.T) {
	d := newDesk(t, map[string]string{"value.txt": "base", "sub/agent.sh": "#!/bin/sh\n", "vise-policy.toml": fast}, nil)
	if r := d.start([]string{"./agent.sh"}); r.Status != run.Error || !strings.Contains(r.Error, "a copy of the project's top folder") {
		t.Errorf("%s: %s", r.Status, r.Error)
	}
	if r := d.start([]string{"./sub/agent.sh"}); r.Status != run.Passed {
		t.Errorf("%s: %s", r.Status, r.Error)
	}
}

// D07: the budget holds while an agent hangs, and nothing of it is left.
func TestD07HungAgentIsBlockedInTime(t *testing.T) {
	d := newDesk(t, value, nil)
	r := d.start(agent("printf wrong > value.txt", "trap '' TERM; printf half > value.txt; sleep 300 & sleep 300"))
	begun := time.Now()
	l := d.repair(r.ID, func(q *patch.RepairRequest) { q.MaxRuntime = 1500 * time.Millisecond })
	want(t, l, run.OutOfTime, "budget_exceeded")
	if over := time.Since(begun) - 1500*time.Millisecond; over > 20*time.Second {
		t.Errorf("it took %s longer than its budget", over)
	}
	for _, p := range d.pids {
		if p.Alive() {
			t.Errorf("process %d lives on", p.PID)
		}
	}
	// The last run is kept, with what it had written.
	last, err := d.bench.Run(l.Runs[len(l.Runs)-1])
	if err != nil || len(l.Runs) != 2 || last.Status != run.TimedOut || len(last.Patch.Entries) != 1 {
		t.Errorf("runs %v, the last %+v, %v", l.Runs, last, err)
	}
}

// An agent that was ended is named among the reasons, with the bound that ended it,
// also where a failing test is the first of them.
func TestAgentThatWasEndedIsNamed(t *testing.T) {
	for _, limit := range []string{"limits.duration_seconds", "patch.max_runtime"} {
		files := maps.Clone(value)
		if limit != "patch.max_runtime" {
			files["vise-policy.toml"] += "[limits]\nduration_seconds = 1\n"
		}
		d := newDesk(t, files, func(o *patch.Options) {
			if limit == "patch.max_runtime" {
				o.MaxRuntime = time.Second
			}
		})
		r, err := d.bench.Prove(t.Context(), d.start([]string{"sh", "-c", "printf wrong > value.txt; sleep 60"}).ID)
		if err != nil || r.Status != run.TimedOut || r.Proof.Class != "tests" || len(r.Proof.Reasons) != 2 {
			t.Fatalf("%s %+v %v", r.Status, r.Proof, err)
		}
		if why := r.Proof.Reasons[1]; !strings.Contains(why, "the agent did not end well: timed out") || !strings.Contains(why, "it was ended after ") || !strings.Contains(why, limit) {
			t.Error(why)
		}
	}
}

// A failing test that passes when it is run again is flaky: nobody is paid for it,
// and what had failed is told.
func TestFlakyIsProvenOnceMore(t *testing.T) {
	marker := filepath.Join(t.TempDir(), "seen")
	files := map[string]string{"value.txt": "base", "check.sh": "#!/bin/sh\n[ -e " + marker + " ] && exit 0\ntouch " + marker + "\necho '1 failed'; exit 1\n", "vise-policy.toml": fast}
	d := newDesk(t, files, func(o *patch.Options) { o.Sandbox = "off" })
	r := d.start([]string{"sh", "-c", "printf x > value.txt"})
	l := d.repair(r.ID, nil)
	want(t, l, run.NeedsHuman, "boundary_before_repair") // a person looks, no agent is paid
	if len(l.Attempts) != 1 || l.Attempts[0].Class != "flaky" || len(l.Runs) != 1 {
		t.Errorf("attempts %+v", l.Attempts)
	}
	flaky := func(how string, p *run.Proof) {
		if f := p.FirstFailure; f == nil || !strings.Contains(f.Output, "1 failed") || !p.Repeated {
			t.Errorf("%s: what failed at first is not kept apart: %+v", how, f)
		}
		if r, _ := d.bench.Run(r.ID); r.Route.Kind != "HUMAN" || len(r.Causes) != 1 || r.Causes[0].Code != "flaky" {
			t.Errorf("%s: %+v", how, r.Route)
		}
		if e := d.events(event.PatchProved); e[len(e)-2].Data["again"] != nil || e[len(e)-1].Data["again"] != true {
			t.Errorf("%s: the events are %+v", how, e)
		}
		if p.Class != "flaky" || len(p.Reasons) != 1 || !strings.Contains(p.Reasons[0], "a test is flaky, or the patch made it so (tests: sh check.sh exited 1)") {
			t.Errorf("%s: %s, %v", how, p.Class, p.Reasons)
		}
	}
	r, _ = d.bench.Run(r.ID)
	flaky("in the loop", r.Proof)
	os.Remove(marker)
	r, err := d.bench.Prove(t.Context(), r.ID)
	if err != nil {
		t.Fatal(err)
	}
	flaky("alone", r.Proof)
	if _, err := d.bench.Apply(t.Context(), r.ID, true); err != nil {
		t.Errorf("a person looked, and it is not applied: %v", err)
	}
}

type stepper func(run.Loop) error

func (s stepper) At(_ context.Context, l run.Loop) error { return s(l) }

// Every state is in the journal before its effect, and a loop can be cancelled at each.
func TestTransitionsAreJournaled(t *testing.T) {
	d := newDesk(t, value, nil)
	r := d.start(agent("printf wrong > value.txt", "printf right > value.txt"))
	var held, journal []string
	d.repair(r.ID, func(q *patch.RepairRequest) {
		q.Stepper = stepper(func(l run.Loop) error {
			held = append(held, string(l.State))
			last := ""
			for _, e := range d.events(event.PatchState) {
				last = fmt.Sprint(e.Data["state"])
			}
			journal = append(journal, last)
			return nil
		})
	})
	if !slices.Equal(held, journal) || !slices.Equal(held, strings.Fields("budget prove again boundary judge packet drive repair inspect budget prove boundary judge")) {
		t.Errorf("held at\n%v, the journal said\n%v", held, journal)
	}
	l := d.repair(r.ID, func(q *patch.RepairRequest) {
		q.Again, q.Stepper = true, stepper(func(run.Loop) error { return patch.Cancel() })
	})
	want(t, l, run.Stopped, "cancelled")
}

func (d *desk) events(kind event.Type) []event.Event {
	d.t.Helper()
	var out []event.Event
	if err := d.store.View(func(tx *store.Tx) error {
		list, err := tx.Events(0, 0, store.EventFilter{Types: []event.Type{kind}})
		out = list
		return err
	}); err != nil {
		d.t.Fatal(err)
	}
	return out
}

// The real tools on real projects: Go and Python, repaired at the second try.
func TestRealProjects(t *testing.T) {
	for name, c := range map[string]struct {
		tool  string
		files map[string]string
		first string
		again string
		tests string
	}{
		"go": {"go", map[string]string{"go.mod": "module calc\n\ngo 1.21\n", "calc.go": "package calc\n\n// Add adds.\nfunc Add(a, b int) int { return 0 }\n",
			"calc_test.go": "package calc\n\nimport \"testing\"\n\nfunc TestAdd(t *testing.T) {\n\tif Add(2, 3) != 5 {\n\t\tt.Fatal(\"2+3\")\n\t}\n}\n"},
			`printf 'package calc\n\nfunc Add(a, b int) int { return a - b }\n' > calc.go`, `printf 'package calc\n\nfunc Add(a, b int) int { return a + b }\n' > calc.go`, "TestAdd"},
		"python": {"python3", map[string]string{"calc.py": "def add(a, b):\n    return 0\n",
			"test_calc.py": "import unittest\nimport calc\n\nclass T(unittest.TestCase):\n    def test_add(self):\n        self.assertEqual(calc.add(2, 3), 5)\n"},
			`printf 'def add(a, b):\n    return a - b\n' > calc.py`, `printf 'def add(a, b):\n    return a + b\n' > calc.py`, "test_add (test_calc.T.test_add)"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := exec.LookPath(c.tool); err != nil {
				t.Skipf("%s is not installed", c.tool)
			}
			d := newDesk(t, c.files, nil)
			r := d.start(agent(c.first, c.again))
			l := d.repair(r.ID, nil)
			want(t, l, run.Repaired, "")
			if len(l.Attempts) == 0 || !slices.Contains(l.Attempts[0].Failed, c.tests) {
				t.Errorf("failing tests %+v", l.Attempts)
			}
		})
	}
}

// cutOffApply leaves the store as a crash while applying does.
func (d *desk) cutOffApply(r run.Run) {
	d.t.Helper()
	r.Applied = &run.Applied{}
	if err := d.store.Update(d.t.Context(), func(tx *store.Tx) error { return tx.PutPatchRun(r) }); err != nil {
		d.t.Fatal(err)
	}
}
