package patch_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"vise/engine/event"
	"vise/engine/patch"
	"vise/engine/patch/run"
	"vise/engine/process"
	"vise/store"
)

// many is a fix that comes with so many small files.
func many(n int) []string {
	return []string{"sh", "-c", fmt.Sprintf(`printf right > value.txt; mkdir g; i=0; while [ $i -lt %d ]; do echo $i > g/f$i; i=$((i+1)); done`, n)}
}

// ready is a run whose patch may be applied.
func (d *desk) ready(argv []string) run.Run {
	d.t.Helper()
	r := d.start(argv)
	r, err := d.bench.Prove(d.t.Context(), r.ID)
	if err != nil || r.Route.Kind != "AUTO" {
		d.t.Fatalf("%+v, %v", r.Route, err)
	}
	return r
}

func (d *desk) holds(p, text string) {
	d.t.Helper()
	if b, _ := os.ReadFile(filepath.Join(d.root, p)); string(b) != text {
		d.t.Errorf("%s is %q, want %q", p, b, text)
	}
}

// Key repeat, or a second workbench over the same folder: one application writes,
// the other finds it done, and nobody takes back what is being written.
func TestOneApplicationAtATime(t *testing.T) {
	d := newDesk(t, value, nil)
	r := d.ready(many(150))
	second, err := patch.New(d.o) // as another process: it shares the files only
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	errs := make([]error, 6)
	for i := range errs {
		b := d.bench
		if i%2 == 1 {
			b = second
		}
		wg.Go(func() {
			time.Sleep(time.Duration(i) * 3 * time.Millisecond)
			_, errs[i] = b.Apply(t.Context(), r.ID, false)
		})
	}
	wg.Wait()
	done := 0
	for _, err := range errs {
		switch {
		case err == nil:
			done++
		case !strings.Contains(err.Error(), "applied already"):
			t.Error(err)
		}
	}
	list, _ := os.ReadDir(filepath.Join(d.root, "g"))
	if r, _ = d.bench.Run(r.ID); done != 1 || len(list) != 150 || r.Applied == nil || r.Applied.At.IsZero() {
		t.Errorf("%d were done; %d files; %+v", done, len(list), r.Applied)
	}
}

// An undo that was killed at any file goes on with the next undo, or with the next
// application, which finds the project the proof was made on.
func TestUndoGoesOnAfterACrash(t *testing.T) {
	for name, c := range map[string]struct {
		done func(root string)
		next func(*patch.Bench, string) error
		want string
	}{
		"undo after the first file": {func(root string) { os.Remove(filepath.Join(root, "new.txt")) }, func(b *patch.Bench, id string) error { _, err := b.Undo(t.Context(), id); return err }, "base"},
		"undo before the first":     {func(string) {}, func(b *patch.Bench, id string) error { _, err := b.Undo(t.Context(), id); return err }, "base"},
		"apply after the last": {func(root string) { os.Remove(filepath.Join(root, "new.txt")); write(t, root, "value.txt", "base") },
			func(b *patch.Bench, id string) error { _, err := b.Apply(t.Context(), id, false); return err }, "right"},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, value, nil)
			r := d.ready([]string{"sh", "-c", "printf right > value.txt; echo n > new.txt"})
			r, err := d.bench.Apply(t.Context(), r.ID, false)
			if err != nil {
				t.Fatal(err)
			}
			r.Applied.Undoing = true // what an undo stores before its first file
			if err := d.store.Update(t.Context(), func(tx *store.Tx) error { return tx.PutPatchRun(r) }); err != nil {
				t.Fatal(err)
			}
			c.done(d.root)
			if err := d.bench.Remove(t.Context(), r.ID, true); err == nil {
				t.Error("a run that is half undone was removed")
			}
			if err := c.next(d.bench, r.ID); err != nil {
				t.Fatal(err)
			}
			d.holds("value.txt", c.want)
			if r, _ = d.bench.Run(r.ID); r.Applied == nil || r.Applied.Undoing || r.Applied.Undone.IsZero() != (c.want == "right") {
				t.Errorf("the record says %+v", r.Applied)
			}
		})
	}
}

// An undo that fails on the way leaves the patch applied, as it was.
func TestUndoThatFailsWritesThePatchAgain(t *testing.T) {
	d := newDesk(t, value, nil)
	r := d.ready([]string{"sh", "-c", "printf right > value.txt; echo n > new.txt"})
	if _, err := d.bench.Apply(t.Context(), r.ID, false); err != nil {
		t.Fatal(err)
	}
	pack := filepath.Join(d.o.Dir, "patch", "bases", r.BaseDigest, "pack") // the old bytes
	if err := os.Rename(pack, pack+"-away"); err != nil {
		t.Fatal(err)
	}
	if _, err := d.bench.Undo(t.Context(), r.ID); err == nil || !strings.Contains(err.Error(), "applied as before") {
		t.Errorf("undo without the old bytes: %v", err)
	}
	d.holds("value.txt", "right")
	d.holds("new.txt", "n\n")
	if err := os.Rename(pack+"-away", pack); err != nil {
		t.Fatal(err)
	}
	if _, err := d.bench.Undo(t.Context(), r.ID); err != nil {
		t.Fatal(err)
	}
	d.holds("value.txt", "base")
}

// A run that is applied stays, or its undo would be lost; with force it goes. The
// repairs of a run go with it, and so does the base.
func TestRemoveTakesRepairsAndKeepsWhatIsApplied(t *testing.T) {
	d := newDesk(t, value, nil)
	r := d.start(agent("printf wrong > value.txt", "printf right > value.txt"))
	l := d.repair(r.ID, nil)
	want(t, l, run.Repaired, "")
	if _, err := d.bench.Apply(t.Context(), l.Repaired, false); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{r.ID, l.Repaired} {
		if err := d.bench.Remove(t.Context(), id, false); err == nil || !strings.Contains(err.Error(), "--undo") {
			t.Errorf("remove %s: %v", id, err)
		}
	}
	if err := d.bench.Remove(t.Context(), r.ID, true); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{r.ID, l.Repaired} {
		if _, err := d.bench.Run(id); err == nil {
			t.Errorf("%s is still there", id)
		}
	}
	for _, dir := range []string{"bases", "runs"} {
		if list, _ := os.ReadDir(filepath.Join(d.o.Dir, "patch", dir)); len(list) > 0 {
			t.Errorf("%s holds %v", dir, list)
		}
	}
	d.holds("value.txt", "right")
}

// A run is not removed under its agent, nor under its proof.
func TestRunAtWorkIsNotRemoved(t *testing.T) {
	// The tests of the patch, and then those of the base one folder deeper, wait for the file go.
	files := map[string]string{"value.txt": "base", "check.sh": "while [ ! -e ../../go -a ! -e ../../../go ]; do sleep 0.01; done\n", "vise-policy.toml": fast}
	d := newDesk(t, files, nil)
	r := d.start([]string{"sh", "-c", "printf right > value.txt"})
	done := make(chan error, 1)
	go func() { _, err := d.bench.Prove(t.Context(), r.ID); done <- err }()
	proof := filepath.Join(d.o.Dir, "patch", "runs", r.ID, "proof")
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if _, err := os.Stat(filepath.Join(proof, "tmp")); err == nil {
			break
		}
	}
	if err := d.bench.Remove(t.Context(), r.ID, true); err == nil || !strings.Contains(err.Error(), "at work") {
		t.Errorf("removed under its proof: %v", err)
	}
	if _, err := d.bench.Prove(t.Context(), r.ID); err == nil || !strings.Contains(err.Error(), "at work") {
		t.Errorf("proven twice at a time: %v", err)
	}
	write(t, filepath.Dir(proof), "go", "")
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// Work that cannot be captured is an error of the run, however well its agent
// ended: never a patch that changes nothing and is proven.
func TestWorkThatCannotBeCaptured(t *testing.T) {
	d := newDesk(t, value, nil)
	lock := "mkdir d; echo 1 > d/f; chmod 000 d; mkfifo p"
	if os.Getuid() == 0 { // root reads every folder: one that is too deep to be named instead
		deep := strings.Repeat("d/"+strings.Repeat("0", 200)+"/", 10)
		lock = "mkdir -p " + deep + " b/" + deep + "; mv b " + deep
	}
	r := d.start(agent("printf wrong > value.txt", "printf right > value.txt; "+lock))
	l := d.repair(r.ID, nil)
	want(t, l, run.NeedsHuman, "environment") // not "the agent took everything back"
	if says := patch.Says(l); !strings.Contains(says, "too long") && !strings.Contains(says, "permission") {
		t.Errorf("the person is told %q", says)
	}
	r, err := d.bench.Run(l.Runs[len(l.Runs)-1])
	if err != nil || r.Status != run.Error || r.Exit != "exit status 0" || !strings.Contains(r.Error, "capture the patch") || r.Proof.Verdict == run.Proven || r.Route.Kind != "HUMAN" {
		t.Errorf("status %s, %s, %q, %+v, %v", r.Status, r.Exit, r.Error, r.Route, err)
	}
}

// Secrets that come in two pieces are masked in the log of the agent and for
// whoever watches, in the agent's output and in that of a proof.
func TestOutputIsMaskedByLine(t *testing.T) {
	bus := event.NewBus()
	sub := bus.Subscribe(4096)
	defer sub.Close()
	const say = `printf 'key sk-proj-q7Zk2Lw9Xc4V'; sleep 0.2; printf 'b8Nm1Qz5Rt6Yu3Op0As\nready\n'; printf 'OPENAI_API_KEY=sk-proj-q7Zk2'  >&2; sleep 0.1; printf 'Lw9Xc4Vb8Nm1Qz5Rt6Yu3Op0As' >&2`
	d := newDesk(t, map[string]string{"value.txt": "base", "check.sh": say + "\n", "vise-policy.toml": fast}, func(o *patch.Options) { o.Bus = bus })
	r := d.start([]string{"sh", "-c", say})
	if _, err := d.bench.Prove(t.Context(), r.ID); err != nil {
		t.Fatal(err)
	}
	log, err := os.ReadFile(filepath.Join(d.o.Dir, "patch", "runs", r.ID, "agent.log"))
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]string{"agent.log": string(log)}
	batch, _ := sub.TryNext()
	for _, e := range batch.Events {
		if e.Type == event.PatchProgress {
			seen[e.Data["phase"].(string)] += e.Data["text"].(string)
		}
	}
	for _, where := range []string{"agent.log", "agent", run.Tests} {
		text := seen[where]
		if strings.Contains(text, "Zk2Lw9") || strings.Contains(text, "b8Nm1Q") || !strings.Contains(text, "ready") || !strings.Contains(text, "OPENAI_API_KEY=") {
			t.Errorf("%s: %q", where, text)
		}
	}
}

// A packet is written however large the patch and the policy are, and says what it lacks.
func TestPacketOfALargePatchFits(t *testing.T) {
	files := map[string]string{}
	for k, v := range value {
		files[k] = v
	}
	var globs []string
	for i := range 1200 {
		globs = append(globs, fmt.Sprintf("%q", fmt.Sprintf("a-folder-with-a-name-of-usual-length-%d/**", i)))
	}
	files["vise-policy.toml"] = strings.Replace(files["vise-policy.toml"], `allow_write = ["**"]`, `allow_write = ["**", `+strings.Join(globs, ", ")+`]`, 1)
	d := newDesk(t, files, nil)
	r := d.start(agent(`mkdir g; i=0; while [ $i -lt 800 ]; do : > g/`+strings.Repeat("a-generated-file-with-a-long-name-", 6)+`$i; i=$((i+1)); done`, "printf right > value.txt"))
	l := d.repair(r.ID, nil)
	want(t, l, run.Repaired, "")
	p, err := patch.ReadPacket(l.Packet)
	if err != nil || p.ChangedFilesCut == 0 || len(p.ChangedFiles)+p.ChangedFilesCut != 800 {
		t.Fatalf("%d files and %d more, %v", len(p.ChangedFiles), p.ChangedFilesCut, err)
	}
	if n := len(p.AllowedScope); n < 100 || !strings.HasSuffix(p.AllowedScope[n-1], " more") {
		t.Errorf("the scope is %d globs, the last %q", n, p.AllowedScope[n-1])
	}
}

// What a killed process left locked hinders nobody.
func TestFoldersThatCannotBeWrittenAreRemoved(t *testing.T) {
	d := newDesk(t, value, nil)
	r := d.start([]string{"sh", "-c", "printf right > value.txt"})
	for _, dir := range []string{"proof", "work"} {
		locked := filepath.Join(d.o.Dir, "patch", "runs", r.ID, dir, "project", "locked")
		write(t, locked, "f", "x")
		if err := os.Chmod(locked, 0o500); err != nil {
			t.Fatal(err)
		}
	}
	if r, err := d.bench.Prove(t.Context(), r.ID); err != nil || r.Route.Kind != "AUTO" {
		t.Errorf("%+v, %v", r.Route, err)
	}
	if err := d.bench.Remove(t.Context(), r.ID, false); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(d.o.Dir, "patch", "runs", r.ID)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("it is left: %v", err)
	}
}

// A repair of a run whose project was edited since could not be applied: no agent is
// paid for it, and what changed is named. What is put back is repaired.
func TestNoAgentIsPaidWhenTheProjectMoved(t *testing.T) {
	d := newDesk(t, value, nil)
	r := d.start(agent("printf wrong > value.txt", "printf right > value.txt"))
	write(t, d.root, "other.txt", "edited")
	l := d.repair(r.ID, nil)
	want(t, l, run.NeedsHuman, "base_moved")
	if len(l.Runs) != 1 || len(d.pids) != 1 || !strings.Contains(patch.Says(l), "other.txt") {
		t.Errorf("%d runs, %d agents, it says %q", len(l.Runs), len(d.pids), patch.Says(l))
	}
	if err := os.Remove(filepath.Join(d.root, "other.txt")); err != nil {
		t.Fatal(err)
	}
	write(t, d.root, "vise.toml", "[budget]\nusd = 1\n") // no part of what is repaired
	want(t, d.repair(r.ID, nil), run.Repaired, "")
}

// Whoever cancels has a cause of their own; the run was cancelled and was not too slow.
func TestCancelledAgentIsNotTimedOut(t *testing.T) {
	d := newDesk(t, value, nil)
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	d.o.OnProcess = func(string, process.Record, bool) { cancel(errors.New("x was pressed")) }
	b, err := patch.New(d.o)
	if err != nil {
		t.Fatal(err)
	}
	r, err := b.Start(ctx, patch.Request{Argv: []string{"sh", "-c", "sleep 60"}})
	if r.Status != run.Cancelled || err == nil {
		t.Errorf("the run is %s %s, %v", r.Status, r.Error, err)
	}
}

// What is stored of an agent's process tells no secrets either.
func TestProcessRecordTellsNoSecrets(t *testing.T) {
	d := newDesk(t, value, nil)
	d.start([]string{"sh", "-c", "true", "agent", "--api-key", "hunter2", "--header=Bearer ghp_0123456789abcdefghijklmnopqrstuvwxyzAB"})
	if len(d.pids) != 1 || strings.Contains(d.pids[0].Command, "hunter2") || strings.Contains(d.pids[0].Command, "ghp_") || !strings.HasPrefix(d.pids[0].Command, "sh -c true") {
		t.Errorf("the records are %+v", d.pids)
	}
}
