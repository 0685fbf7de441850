package tui

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"

	"vise/engine/event"
	"vise/engine/patch"
	"vise/engine/patch/policy"
	"vise/engine/patch/risk"
	"vise/engine/patch/run"
	"vise/store"
	"vise/tui/action"
)

// workshop gives a desk a small project and a bench over it.
func (d *desk) workshop() string {
	d.t.Helper()
	root := d.t.TempDir()
	for name, text := range map[string]string{"value.txt": "base\n", "check.sh": "grep -q right value.txt || { echo 'FAILED value'; exit 1; }\n",
		"vise-policy.toml": "version = 2\n[filesystem]\nallow_write = [\"**\"]\n[process]\ndefault = \"allow\"\n[proof]\ntests = [[\"sh\", \"check.sh\"]]\n"} {
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o644); err != nil {
			d.t.Fatal(err)
		}
	}
	env := []string{"PATH=" + os.Getenv("PATH")}
	n := 0
	b, err := patch.New(patch.Options{Store: d.store, Bus: d.bus, Root: root, Dir: filepath.Join(d.t.TempDir(), ".vise"), PolicyFile: filepath.Join(root, "vise-policy.toml"),
		AgentEnv: env, PhaseEnv: env, Sandbox: "off", MaxRuntime: time.Minute, PhaseTimeout: time.Minute,
		NewHex: func() string { n++; return strings.Repeat(string(rune('a'+n)), 12) }})
	if err != nil {
		d.t.Fatal(err)
	}
	d.ctx.Patch = b
	return root
}

// A run fails its proof, is repaired step by step in front of a person, and its
// patch is applied and taken back.
func TestAttempts(t *testing.T) {
	d := newDesk(t, false)
	for _, s := range sizes {
		d.size(PaneAttempts, s.w, s.h)
	}
	d.goldens("attempts-empty", PaneAttempts)
	root := d.workshop()
	b := d.ctx.Patch
	script := `if [ -n "$VISE_PACKET" ]; then echo right > value.txt; else echo wrong > value.txt; fi`
	r, err := b.Start(t.Context(), patch.Request{Task: "say right", Argv: []string{"sh", "-c", script}})
	if err == nil {
		r, err = b.Prove(t.Context(), r.ID)
	}
	if err != nil {
		t.Fatal(err)
	}
	d.pump()
	d.size(PaneAttempts, 110, 34)
	// The rows are the JSON, and that is the store's run.
	if j, ok := d.panes[PaneAttempts].JSON().(AttemptsJSON); !ok || j.Run.ID != r.ID || j.Run.Task != "say right" {
		t.Errorf("the JSON is %+v", d.panes[PaneAttempts].JSON())
	}
	// What an agent writes while a patch is shown does not lay the patch out again.
	p := d.panes[PaneAttempts].(*attemptsPane)
	drawn := &p.patch.rows[0]
	d.bus.Publish(event.Event{Type: event.PatchProgress, RunID: r.ID, Data: map[string]any{"phase": "tests", "text": "a line of output\n"}})
	d.pump()
	if d.sees(PaneAttempts, "a line of output"); &p.patch.rows[0] != drawn {
		t.Error("the patch was laid out again")
	}
	p.live = liveOutput{}
	d.sees(PaneAttempts, "retry", "not proven", "tests", "say right", "-base", "+wrong", "FAILED value", "value")

	hold := NewPatchHold(d.bus, func() time.Time { return noon })
	done := make(chan error, 1)
	go func() {
		_, err := b.Repair(t.Context(), patch.RepairRequest{RunID: r.ID, MaxAttempts: 2, MaxRuntime: time.Minute, Stepper: hold})
		done <- err
	}()
	d.ctx.Running = Activity{Kind: Mending, Run: r.ID}
	waits := func() run.Loop {
		t.Helper()
		for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(2 * time.Millisecond) {
			if l := hold.Waiting(); l != nil && (d.ctx.PatchHeld == nil || l != d.ctx.PatchHeld) {
				d.ctx.PatchHeld = l
				d.pump()
				d.apply(Change{Held: true})
				return *l
			}
		}
		t.Fatal("the loop was not held within a minute")
		return run.Loop{}
	}
	if l := waits(); l.State != run.StateBudget {
		t.Fatalf("first held before %s", l.State)
	}
	d.sees(PaneAttempts, "held before budget")
	for want := range strings.FieldsSeq("prove again boundary judge packet") {
		if !hold.Step() {
			t.Fatal("nothing was held")
		}
		if l := waits(); string(l.State) != want {
			t.Fatalf("held before %s, want %s", l.State, want)
		}
		if want == "packet" { // of the repair that comes, as its run is numbered
			d.sees(PaneAttempts, "held before packet, attempt 1 of 1")
		}
	}
	if !hold.Continue() {
		t.Fatal("nothing was held")
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	d.ctx.PatchHeld, d.ctx.Running = nil, Activity{}
	d.apply(Change{Held: true, Running: true})
	d.pump()
	d.size(PaneAttempts, 110, 34)
	d.sees(PaneAttempts, "REPAIRED", "2 of 2 proofs", "attempt 1", "proven", " repaired ") // the failed run no longer asks for a retry

	// Of an agent that runs nobody knows the sandbox yet; a loop that nobody runs goes on.
	kept := p.detail
	loop := *kept.loop
	loop.Status, loop.State = "", run.StateRepair
	p.detail.loop, p.detail.run.Status, p.detail.run.Exit, p.detail.run.Sandbox = &loop, run.Running, "", ""
	if text := strings.Join(p.loopRows(), "\n"); strings.Contains(text, "running;") || !strings.Contains(text, "stopped before repair; r goes on") {
		t.Errorf("the rows are\n%s", text)
	}
	p.detail = kept

	// The repair lies under its run; its patch is the one to apply.
	act := func(id action.ID) {
		t.Helper()
		cmd, ok := d.panes[PaneAttempts].Do(d.ctx, id)
		if !ok {
			t.Fatalf("%s means nothing here", id)
		}
		d.run(cmd)
		d.apply(Change{})
		d.pump()
	}
	act(action.Down)
	d.sees(PaneAttempts, "ready", "+right")
	act(action.PatchApply)
	waitFor(t, d, "applied")
	if text, _ := os.ReadFile(filepath.Join(root, "value.txt")); string(text) != "right\n" {
		t.Errorf("applied, value.txt is %q", text)
	}
	act(action.PatchUndo)
	waitFor(t, d, "ready")
	if text, _ := os.ReadFile(filepath.Join(root, "value.txt")); string(text) != "base\n" {
		t.Errorf("undone, value.txt is %q", text)
	}
	l, found, err := b.Loop(r.ID)
	fixed, err2 := b.Run(l.Repaired)
	if err := errors.Join(err, err2); err != nil || !found {
		t.Fatal(err)
	}
	if diff := cmp.Diff(asJSON(t, AttemptsJSON{fixed, &l}), asJSON(t, d.panes[PaneAttempts].JSON())); diff != "" {
		t.Errorf("the pane's data are not those of vise patch show (-headless +pane):\n%s", diff)
	}
}

// waitFor pumps until the pane shows a text: what a person starts runs beside.
func waitFor(t *testing.T, d *desk, text string) {
	t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		d.pump()
		if strings.Contains(strings.Join(d.panes[PaneAttempts].Rows(), "\n"), text) {
			return
		}
	}
	d.sees(PaneAttempts, text)
}

// A loop that needs a person is in Attention, and the way leads to the pane; a
// patch that asks for a person is applied by a second press only.
func TestPatchesWaitInAttention(t *testing.T) {
	d := newDesk(t, false)
	sum, mode, size, one := strings.Repeat("a", 64), 0o644, int64(3), 1
	m, err := run.NewManifest("20270114T091500Z-5c0ffee5c0de", []run.Entry{{Path: "go.sum", ChangeType: run.Created, Decision: policy.Allow, ResultSHA256: &sum, ResultMode: &mode, Size: &size, Materialized: true}})
	if err != nil {
		t.Fatal(err)
	}
	causes := []risk.Cause{{Code: "protected_path", Path: "go.sum", Kind: risk.Dependencies}}
	r := run.Run{ID: m.RunID, Task: "update", Command: []string{"codex", "exec"}, Created: noon, Status: run.Passed, Patch: &m, Causes: causes, Exit: "exit status 0", Sandbox: "sandbox fs+net",
		Proof: &run.Proof{Verdict: run.NotProven, Class: risk.Tests, Sandbox: "sandbox fs+net", Reasons: []string{"tests: go test ./... exited 1"}, FailedTests: []string{"TestRound"}, Phases: []run.Phase{
			{Phase: run.Build, Command: []string{"go", "build", "./..."}, Passed: true, Millis: 820},
			{Phase: run.Tests, Command: []string{"go", "test", "./..."}, ReturnCode: &one, Millis: 12_400, Output: "--- FAIL: TestRound (0.00s)\n    round_test.go:9: 1.005 \x1b[31mwent\x1b[0m to 1.00\nFAIL\n"}}},
		Route: &risk.Routed{Kind: risk.Human, Code: "boundary", Causes: causes}}
	l := run.Loop{RunID: r.ID, MaxAttempts: 2, MaxRuntime: time.Minute, State: run.StateDone, Status: run.NeedsHuman, Reason: run.Reason{Code: "boundary_before_repair", Causes: causes}}
	if err := d.store.Update(t.Context(), func(tx *store.Tx) error {
		if err := errors.Join(tx.PutPatchRun(r), tx.PutPatchLoop(l)); err != nil {
			return err
		}
		return tx.Emit(event.Event{Type: event.PatchFinished, RunID: r.ID, Data: map[string]any{"status": l.Status, "code": l.Reason.Code}})
	}); err != nil {
		t.Fatal(err)
	}
	d.size(PaneAttention, 100, 12)
	d.size(PaneAttempts, 100, 30)
	d.pump()
	d.goldens("attempts-human", PaneAttempts)
	d.size(PaneAttempts, 100, 30)
	d.sees(PaneAttention, "patch 5c0ffee5c0de: look at the patch and decide: go.sum is protected (dependencies)", "0 Attempts")
	d.sees(PaneAttempts, "needs you", "NEEDS_HUMAN", "look at", "protected: dependencies")
	cmd, ok := d.panes[PaneAttention].Do(d.ctx, action.Into)
	if !ok || d.ctx.Scope.Run != r.ID || cmd == nil || cmd() != (doMsg{id: action.Focus0}) {
		t.Errorf("into leads to run %q", d.ctx.Scope.Run)
	}
	d.workshop()
	r.Proof.Verdict = run.Proven
	if err := d.store.Update(t.Context(), func(tx *store.Tx) error { return tx.PutPatchRun(r) }); err != nil {
		t.Fatal(err)
	}
	d.apply(Change{Reload: true})
	said := len(d.said)
	cmd, _ = d.panes[PaneAttempts].Do(d.ctx, action.PatchApply)
	d.run(cmd)
	if len(d.said) != said+1 || !strings.Contains(d.said[said], "go.sum") || !strings.Contains(d.said[said], "a again") {
		t.Errorf("it said %q", d.said[said:])
	}
}

// A held loop can be cancelled, and a context that ends lets go.
func TestPatchHold(t *testing.T) {
	h := NewPatchHold(nil, time.Now)
	if h.Step() || h.Continue() || h.Cancel() || h.Waiting() != nil {
		t.Error("nothing is held, and yet")
	}
	for name, end := range map[string]func(context.CancelFunc){"cancel": func(context.CancelFunc) { h.Cancel() }, "context": func(stop context.CancelFunc) { stop() }} {
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- h.At(ctx, run.Loop{RunID: "r"}) }()
		for h.Waiting() == nil {
			time.Sleep(time.Millisecond)
		}
		end(stop)
		if err := <-done; err == nil || name == "cancel" && !errors.Is(err, patch.Cancel()) {
			t.Errorf("%s: %v", name, err)
		}
		stop()
	}
}

// A repair lies under the run that it repairs, and its columns are under those of
// the run: nothing moves aside.
func TestRepairsLieUnderTheirRun(t *testing.T) {
	d := newDesk(t, false)
	first := run.Run{ID: "20270114T091500Z-5c0ffee5c0de", Task: "round up", Command: []string{"claude", "-p", "round up"}, Created: noon, Status: run.Passed, Exit: "exit status 0", Sandbox: "sandbox fs+net",
		Proof: &run.Proof{Verdict: run.NotProven, Class: risk.Untrusted, Sandbox: "nothing was run", Reasons: []string{"the patch touches go.mod"}}, Route: &risk.Routed{Kind: risk.Human, Code: "plan_untrusted"}}
	again := first
	again.ID, again.RepairOf, again.Attempt, again.Created = "20270114T091800Z-0ddba11c0de5", first.ID, 1, noon.Add(3*time.Minute)
	again.Proof, again.Route = &run.Proof{Verdict: run.Proven, Sandbox: "sandbox fs+net"}, &risk.Routed{Kind: risk.Auto, Code: "normal"}
	l := run.Loop{RunID: first.ID, MaxAttempts: 2, MaxRuntime: time.Minute, State: run.StateDone, Status: run.Repaired, Repaired: again.ID, Runs: []string{first.ID, again.ID}}
	if err := d.store.Update(t.Context(), func(tx *store.Tx) error {
		return errors.Join(tx.PutPatchRun(first), tx.PutPatchRun(again), tx.PutPatchLoop(l), tx.Emit(event.Event{Type: event.PatchFinished, RunID: first.ID}))
	}); err != nil {
		t.Fatal(err)
	}
	d.size(PaneAttempts, 100, 30)
	d.pump()
	d.goldens("attempts-repair", PaneAttempts)
	for _, w := range []int{80, 100, 200} {
		d.size(PaneAttempts, w, 30)
		d.pump()
		rows := d.panes[PaneAttempts].Rows()
		upper, lower := ansi.Strip(rows[0]), ansi.Strip(rows[1])
		at := func(row, part string) int {
			before, _, found := strings.Cut(row, part)
			if !found {
				t.Fatalf("%d wide, %q is not in %q", w, part, row)
			}
			return ansi.StringWidth(before)
		}
		for _, c := range [][2]string{{"5c0ffee5c0de", "0ddba11c0de5"}, {"not proven", "proven"}, {"round up", "round up"}} {
			if a, b := at(upper, c[0]), at(lower, c[1]); a != b {
				t.Errorf("%d wide, %q begins at %d and %q below it at %d", w, c[0], a, c[1], b)
			}
		}
	}
}
