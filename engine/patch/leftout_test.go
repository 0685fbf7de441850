package patch_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"vise/engine/patch"
	"vise/engine/patch/run"
)

// What git ignores is in no workspace: that is told, and a test that lacks it is a
// fault of the surroundings, for which no agent is paid.
func TestIgnoredDependenciesAreNoFailingTest(t *testing.T) {
	files := map[string]string{".gitignore": "vendor_/\n", "vendor_/dep.py": "def f(): return 1\n", "m.py": "x = 1\n", "vise-policy.toml": fast,
		"check.sh": "echo \"ModuleNotFoundError: No module named 'vendor_'\"; test -e vendor_/dep.py\n"}
	d := newDesk(t, files, nil)
	if out, err := exec.Command("git", "-C", d.root, "init", "-q").CombinedOutput(); err != nil {
		t.Skipf("git: %v %s", err, out)
	}
	r, err := d.bench.Prove(t.Context(), d.start([]string{"sh", "-c", "echo 'x = 2' > m.py"}).ID)
	if err != nil || r.Proof.Class != "environment" || r.Route.Kind != "HUMAN" {
		t.Fatalf("%+v %+v %v", r.Proof, r.Route, err)
	}
	if !slices.Equal(r.LeftOut, []string{"vendor_/"}) {
		t.Errorf("left out: %v", r.LeftOut)
	}
	l := d.repair(r.ID, nil)
	want(t, l, run.NeedsHuman, "environment")
}

// What only the patch asks for is the agent's to mend, and it is told.
func TestIgnoredDependencyThatOnlyThePatchUses(t *testing.T) {
	files := map[string]string{".gitignore": "vendor_/\n", "vendor_/dep.py": "x = 1\n", "m.py": "x = 1\n", "vise-policy.toml": fast,
		"check.sh": "if grep -q vendor_ m.py; then echo \"ModuleNotFoundError: No module named 'vendor_'\"; exit 1; fi\n"}
	d := newDesk(t, files, nil)
	if out, err := exec.Command("git", "-C", d.root, "init", "-q").CombinedOutput(); err != nil {
		t.Skipf("git: %v %s", err, out)
	}
	r, err := d.bench.Prove(t.Context(), d.start([]string{"sh", "-c", "echo 'import vendor_' > m.py"}).ID)
	if err != nil || r.Proof.Class != "tests" || r.Route.Kind != "RETRY" || !strings.Contains(strings.Join(r.Proof.Reasons, "; "), "it lacks vendor_/") {
		t.Fatalf("%+v %+v %v", r.Proof, r.Route, err)
	}
}

// What no workspace can have is told with its run, and as a possible cause when a proof
// fails for it. Projects that differ in nothing else share a base, and not these.
func TestEntriesThatCannotBeTakenAreTold(t *testing.T) {
	policy := strings.Replace(fast, "check.sh", "-c\", \"cat abs/x && echo 1 passed", 1)
	d := newDesk(t, map[string]string{"value.txt": "base", "vise-policy.toml": policy}, func(o *patch.Options) { o.Sandbox = "off" })
	first := d.start([]string{"sh", "-c", "echo 1 > value.txt"})
	if first.NotTaken != nil {
		t.Errorf("there is nothing of the kind yet: %v", first.NotTaken)
	}
	if err := os.Symlink("/usr", filepath.Join(d.root, "abs")); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(d.root, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := d.start([]string{"sh", "-c", "echo 2 > value.txt"})
	if r.BaseDigest != first.BaseDigest || len(r.NotTaken) != 2 || r.NotTaken["abs"] != "a link that leads out of the project" || r.NotTaken["pipe"] != "neither a file nor a link" {
		t.Errorf("not taken: %v", r.NotTaken)
	}
	if words := r.NotTakenWords(1); words != "abs: a link that leads out of the project; and 1 more; in no workspace" {
		t.Errorf("in words: %s", words)
	}
	r, err := d.bench.Prove(t.Context(), r.ID)
	if err != nil || r.Proof.Verdict == run.Proven {
		t.Fatalf("%v, %+v", err, r.Proof)
	}
	if all := strings.Join(r.Proof.Reasons, "\n"); !strings.Contains(all, "it may lack abs, which cannot be in a workspace: a link that leads out") {
		t.Errorf("because %s", all)
	}
}
