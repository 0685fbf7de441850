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

// Everything is gone when a run is removed; its base stays while another run needs it.
func TestRemove(t *testing.T) {
	d := newDesk(t, value, nil)
	a, b := d.start([]string{"sh", "-c", "echo a > a"}), d.start([]string{"sh", "-c", "echo b > b"})
	bases := func() int { list, _ := os.ReadDir(filepath.Join(d.o.Dir, "patch", "bases")); return len(list) }
	for i, id := range []string{a.ID, b.ID} {
		if err := d.bench.Remove(t.Context(), id, false); err != nil {
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
