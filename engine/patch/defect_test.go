package patch_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"vise/engine/patch"
	"vise/engine/patch/drive"
	"vise/engine/patch/run"
	"vise/engine/process"
	"vise/store"
)

// D3, D4, D16, D18: the repair runs in a fresh workspace, its packet is where it is
// told, it gets the argument list as it really was, nothing waits on its input,
// and nothing it says is on our output; what is stored is masked.
func TestD03D04D16D18RepairRun(t *testing.T) {
	d := newDesk(t, value, nil)
	script := `case "$VISE_PACKET" in "") printf wrong > value.txt; exit 0;; /*) ;; *) exit 7;; esac
[ "$2" = hunter2 ] && [ -s "$VISE_PACKET" ] && [ "$(cat | wc -c)" -gt 100 ] && [ ! -e "` + d.root + `/../touched" ] && printf right > value.txt; pwd`
	r := d.start([]string{"sh", "-c", script, "agent", "--api-key", "hunter2"})
	if got := strings.Join(r.Command, " "); strings.Contains(got, "hunter2\x00") || r.Command[len(r.Command)-1] != "<redacted>" {
		t.Errorf("the stored command is %s", got)
	}
	info, err := os.Stat(filepath.Join(d.o.Dir, "patch", "runs", r.ID, "command.json"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the private command: %v %v", info, err)
	}
	l := d.repair(r.ID, nil)
	want(t, l, run.Repaired, "")
	fixed, err := d.bench.Run(l.Runs[1])
	if err != nil || strings.Contains(fixed.Answer, d.root+"\n") || !strings.Contains(fixed.Answer, fixed.ID) {
		t.Errorf("it worked in %q, %v", fixed.Answer, err)
	}
	if _, err := os.Stat(filepath.Join(d.o.Dir, "patch", "runs", fixed.ID, "work")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the workspace is left behind: %v", err)
	}
	if _, err := os.Stat(filepath.Join(d.o.Dir, "patch", "runs", fixed.ID, "agent.log")); err != nil {
		t.Errorf("D19: the evidence is gone: %v", err)
	}
}

// D27: the policy that a run was made under is bound to its loop.
func TestD27PolicyIsBound(t *testing.T) {
	d := newDesk(t, value, nil)
	r := d.start(agent("printf wrong > value.txt", "printf right > value.txt"))
	write(t, d.root, "vise-policy.toml", strings.Replace(fast, `["**"]`, `["**", "x"]`, 1))
	l := d.repair(r.ID, nil)
	want(t, l, run.NeedsHuman, "policy_moved")
}

// D32: one loop a run.
func TestD32OneLoopARun(t *testing.T) {
	d := newDesk(t, value, nil)
	r := d.start(agent("printf wrong > value.txt", "printf right > value.txt"))
	inside := false
	d.repair(r.ID, func(q *patch.RepairRequest) {
		second := *q
		q.Stepper = stepper(func(run.Loop) error {
			if _, err := d.bench.Repair(t.Context(), second); err == nil || !strings.Contains(err.Error(), "being repaired already") {
				t.Errorf("a second loop: %v", err)
			}
			if err := d.bench.Remove(t.Context(), r.ID); err == nil {
				t.Error("the run was removed under its loop")
			}
			inside = true
			return nil
		})
	})
	if !inside {
		t.Error("the stepper was never asked")
	}
}

// D36: a limit that is reached is not exceeded.
func TestD36LimitReachedIsNotExceeded(t *testing.T) {
	files := map[string]string{"value.txt": "base", "check.sh": "exit 0\n", "vise-policy.toml": fast + "[limits]\nfiles_changed = 1\n"}
	d := newDesk(t, files, nil)
	one := d.start([]string{"sh", "-c", "echo x > a.txt"})
	two := d.start([]string{"sh", "-c", "echo x > a.txt; echo x > b.txt"})
	if len(one.Limits) != 0 || len(two.Limits) != 1 || len(two.Causes) != 1 || two.Outcome != "review" {
		t.Errorf("limits %+v and %+v, causes %+v", one.Limits, two.Limits, two.Causes)
	}
}

// D35: what is said about the sandbox is what holds: an agent that is confined
// cannot write to the project, and one that is not says so.
func TestD35SandboxIsWhatItSays(t *testing.T) {
	d := newDesk(t, value, nil)
	r := d.start([]string{"sh", "-c", "echo x > " + filepath.Join(d.root, "escaped") + "; printf right > value.txt"})
	_, err := os.Stat(filepath.Join(d.root, "escaped"))
	if held := strings.HasPrefix(r.Sandbox, "sandbox fs"); held != errors.Is(err, os.ErrNotExist) {
		t.Errorf("it says %q; the file outside: %v", r.Sandbox, err)
	}
	off := newDesk(t, value, func(o *patch.Options) { o.Sandbox = "off" })
	if r := off.start([]string{"sh", "-c", "true"}); !strings.Contains(r.Sandbox, "no sandbox") {
		t.Errorf("without one it says %q", r.Sandbox)
	}
}

// Everything is gone when a run is removed; its base stays while another run needs it.
func TestRemove(t *testing.T) {
	d := newDesk(t, value, nil)
	a, b := d.start([]string{"sh", "-c", "echo a > a"}), d.start([]string{"sh", "-c", "echo b > b"})
	bases := func() int { list, _ := os.ReadDir(filepath.Join(d.o.Dir, "patch", "bases")); return len(list) }
	for i, id := range []string{a.ID, b.ID} {
		if err := d.bench.Remove(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		if n := bases(); n != 1-i {
			t.Errorf("after %d removals %d bases are left", i+1, n)
		}
		if _, err := d.bench.Run(id); err == nil {
			t.Errorf("run %s is still there", id)
		}
	}
}

// An application that was cut off half way is taken back by the next one.
func TestApplyIsTakenBackAfterACrash(t *testing.T) {
	d := newDesk(t, value, nil)
	r := d.start([]string{"sh", "-c", "printf right > value.txt; echo n > new.txt"})
	r, err := d.bench.Prove(t.Context(), r.ID)
	if err != nil || r.Route.Kind != "AUTO" {
		t.Fatalf("%+v, %v", r.Route, err)
	}
	d.cutOffApply(r)
	write(t, d.root, "value.txt", "right") // one of the two files had been written
	if _, err := d.bench.Apply(t.Context(), r.ID, false); err != nil {
		t.Fatal(err)
	}
	for p, text := range map[string]string{"value.txt": "right", "new.txt": "n\n"} {
		if b, _ := os.ReadFile(filepath.Join(d.root, p)); string(b) != text {
			t.Errorf("%s is %q", p, b)
		}
	}
}

// What a killed application had staged, also in folders of its own, goes with the
// rest: the second one finds the project that the proof was made on.
func TestApplyLeavesNothingStagedAfterACrash(t *testing.T) {
	d := newDesk(t, value, nil)
	r := d.start([]string{"sh", "-c", "printf right > value.txt; mkdir m n; echo n > m/new.txt; echo o > n/other.txt"})
	r, err := d.bench.Prove(t.Context(), r.ID)
	if err != nil || r.Route.Kind != "AUTO" {
		t.Fatalf("%+v, %v", r.Route, err)
	}
	d.cutOffApply(r)
	staged := filepath.Join(d.root, "m", ".vise-new-"+run.Sum([]byte("m/new.txt"))[:12])
	write(t, d.root, "m/"+filepath.Base(staged), "half")
	write(t, d.root, "n/other.txt", "o\n")
	if _, err := d.bench.Apply(t.Context(), r.ID, false); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(staged); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s is left: %v", staged, err)
	}
	if _, err := d.bench.Undo(t.Context(), r.ID); err != nil {
		t.Fatal(err)
	}
	for _, p := range []string{"m", "n"} {
		if _, err := os.Stat(filepath.Join(d.root, p)); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the folder %s is left: %v", p, err)
		}
	}
}

// An interrupt in the middle of the repair agent's work ends the agent and leaves
// the loop where it was; taken up again, it comes to the same outcome.
func TestInterruptedInsideAnEffect(t *testing.T) {
	var stop context.CancelFunc
	agents := 0
	d := newDesk(t, value, func(o *patch.Options) {
		o.OnProcess = func(_ string, _ process.Record, gone bool) {
			if !gone {
				if agents++; agents == 2 {
					stop()
				}
			}
		}
	})
	r := d.start(agent("printf wrong > value.txt", "[ -e "+filepath.Join(d.root, "late")+" ] || sleep 60; printf right > value.txt"))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	stop = cancel
	q := patch.RepairRequest{RunID: r.ID, MaxAttempts: 2, MaxRuntime: time.Minute}
	l, err := d.bench.Repair(ctx, q)
	if !errors.Is(err, context.Canceled) || l.Status != "" || l.State != run.StateRepair {
		t.Fatalf("interrupted: %s %s, %v", l.Status, l.State, err)
	}
	write(t, d.root, "late", "x")
	l = d.repair(r.ID, nil)
	want(t, l, run.Repaired, "")
	if len(l.Runs) != 2 || agents != 3 {
		t.Errorf("runs %v, %d agents", l.Runs, agents)
	}
}

// A program that embeds the loop brings its own command builder.
func TestCommandBuilderOfAnEmbedder(t *testing.T) {
	var asked drive.Request
	d := newDesk(t, value, func(o *patch.Options) {
		o.Builder = func(r drive.Request) (drive.Command, error) {
			asked = r
			return drive.Command{Argv: []string{"sh", "-c", "cat > value.txt"}, Stdin: []byte("right"), Adapter: "mine"}, nil
		}
	})
	r := d.start([]string{"sh", "-c", "printf wrong > value.txt"})
	want(t, d.repair(r.ID, nil), run.Repaired, "")
	if asked.Argv[2] != "printf wrong > value.txt" || !strings.Contains(asked.Prompt, "failure-packet.json") || len(asked.Packet) == 0 {
		t.Errorf("it was asked %+v", asked)
	}
}

// What a killed process leaves behind is cleared up by the next one.
func TestSweep(t *testing.T) {
	d := newDesk(t, value, nil)
	r := d.start([]string{"sh", "-c", "printf wrong > value.txt"})
	r.Status = run.Running
	work := filepath.Join(d.o.Dir, "patch", "runs", r.ID, "work", "project")
	if err := os.MkdirAll(work, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := d.store.Update(t.Context(), func(tx *store.Tx) error { return tx.PutPatchRun(r) }); err != nil {
		t.Fatal(err)
	}
	if _, err := d.bench.Repair(t.Context(), patch.RepairRequest{RunID: r.ID, MaxAttempts: 2, MaxRuntime: time.Minute}); err == nil {
		t.Error("a run that was cut off is repaired")
	}
	if err := d.bench.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	got, err := d.bench.Run(r.ID)
	if err != nil || got.Status != run.Error || !strings.Contains(got.Error, "ended before it did") {
		t.Errorf("%s %q, %v", got.Status, got.Error, err)
	}
	if _, err := os.Stat(work); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the workspace is left: %v", err)
	}
}
