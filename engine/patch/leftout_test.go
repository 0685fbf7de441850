package patch_test

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

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
