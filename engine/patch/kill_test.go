package patch_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"vise/engine/patch"
	"vise/engine/patch/run"
)

// killing is how the process of TestKilledProcess ends; the names are variables of its environment.
const (
	killRoot  = "VISE_TEST_KILL_ROOT"
	killRun   = "VISE_TEST_KILL_RUN"
	killState = "VISE_TEST_KILL_STATE" // "" = by the programs that it starts
	killWhen  = "VISE_TEST_KILL_WHEN"  // before, after
)

// TestKilledProcess is no test: it is the process that TestKillNineInEachState kills.
func TestKilledProcess(t *testing.T) {
	root := os.Getenv(killRoot)
	if root == "" {
		t.Skip("it runs in a process of its own only")
	}
	d := &desk{t: t, root: root}
	d.open(filepath.Join(root, ".vise"), func(o *patch.Options) { o.Sandbox = "off" })
	q := patch.RepairRequest{RunID: os.Getenv(killRun), MaxAttempts: 2, MaxRuntime: time.Minute}
	t.Fatal(d.bench.RepairKilled(t.Context(), q, run.State(os.Getenv(killState)), os.Getenv(killWhen) == "after"))
}

// A process that is killed before the effect of any state, after it, or inside of
// those that run a program, leaves a loop that comes to the same outcome with the
// same patch. The states are those of the machine's own table.
func TestKillNineInEachState(t *testing.T) {
	type point struct{ state, when string }
	var points []point
	for _, s := range patch.States() {
		points = append(points, point{string(s), "before"}, point{string(s), "after"})
	}
	// Inside, the program kills its parent the n-th time that it runs.
	inside := []point{{"prove", "1"}, {"again", "2"}, {"repair", "1"}}
	for _, p := range append(points, inside...) {
		t.Run(p.state+" "+p.when, func(t *testing.T) {
			t.Parallel()
			count := filepath.Join(t.TempDir(), "count")
			kill := `echo x >> ` + count + `; [ "$(wc -l < ` + count + `)" = ` + p.when + ` ] && kill -9 $PPID && sleep 60` + "\n"
			files, script := map[string]string{}, agent("printf wrong > value.txt", "printf right > value.txt")
			for name, text := range value {
				files[name] = text
			}
			env := []string{killState + "=" + p.state, killWhen + "=" + p.when}
			if slices.Contains(inside, p) {
				env = []string{killState + "=", killWhen + "="}
				if p.state == "repair" {
					script = agent("printf wrong > value.txt", "printf half > value.txt\n"+kill+"printf right > value.txt")
				} else {
					files["check.sh"] = "#!/bin/sh\n" + kill + strings.TrimPrefix(value["check.sh"], "#!/bin/sh\n")
				}
			}
			d := newDesk(t, files, func(o *patch.Options) { o.Sandbox = "off" })
			r := d.start(script)
			if err := d.store.Close(); err != nil {
				t.Fatal(err)
			}
			child := exec.Command(os.Args[0], "-test.run=^TestKilledProcess$", "-test.timeout=2m")
			child.Env = append(os.Environ(), append(env, killRoot+"="+d.root, killRun+"="+r.ID)...)
			out, err := child.CombinedOutput()
			if err == nil || !strings.Contains(err.Error(), "killed") {
				t.Fatalf("it was not killed: %v\n%s", err, out)
			}
			d.open(d.o.Dir, func(o *patch.Options) { o.Sandbox = "off" })
			if err := d.bench.Sweep(t.Context()); err != nil {
				t.Fatal(err)
			}
			l := d.repair(r.ID, func(q *patch.RepairRequest) { q.MaxAttempts, q.MaxRuntime = 7, time.Hour })
			want(t, l, run.Repaired, "")
			if len(l.Attempts) != 2 || len(l.Runs) != 2 || l.MaxAttempts != 2 {
				t.Fatalf("after the kill: %d attempts, runs %v, max %d", len(l.Attempts), l.Runs, l.MaxAttempts)
			}
			fixed, err := d.bench.Run(l.Repaired)
			if err != nil || len(fixed.Patch.Entries) != 1 || *fixed.Patch.Entries[0].ResultSHA256 != run.Sum([]byte("right")) {
				t.Errorf("the patch is %+v, %v", fixed.Patch, err)
			}
			if left, _ := filepath.Glob(filepath.Join(d.o.Dir, "patch", "runs", "*", "[wp][or]*")); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}
