package patch_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"vise/engine/patch/risk"
	"vise/engine/patch/run"
)

// A lockfile says nothing about how a project is tested: its patch is proven, a person
// looks at it, and that is enough to apply it.
func TestLockfileUnderADetectedPlan(t *testing.T) {
	d := newDesk(t, map[string]string{"vise-policy.toml": openPolicy, "go.mod": "module x\n\ngo 1.26\n", "x.go": "package x\n\nfunc X() int { return 1 }\n",
		"x_test.go": "package x\n\nimport \"testing\"\n\nfunc TestX(t *testing.T) {\n\tif X() != 2 {\n\t\tt.Fatal(X())\n\t}\n}\n"}, nil)
	r := d.start([]string{"sh", "-c", `printf 'package x\n\nfunc X() int { return 2 }\n' > x.go; : > go.sum`})
	r, err := d.bench.Prove(t.Context(), r.ID)
	if err != nil || r.Proof.Verdict != run.Proven || !r.Proof.PlanTrusted || len(r.Proof.PlanKept) != 0 || len(r.Proof.Phases) != 2 {
		t.Fatalf("%v, %+v", err, r.Proof)
	}
	if r.Route.Kind != risk.Human || len(r.Causes) != 1 || r.Causes[0].Says() != "go.sum is protected (dependencies)" {
		t.Errorf("it goes to %+v", r.Route)
	}
	if _, err := d.bench.Apply(t.Context(), r.ID, false); err == nil || !strings.Contains(err.Error(), "a person must look") {
		t.Errorf("applied without a person: %v", err)
	}
	if _, err := d.bench.Apply(t.Context(), r.ID, true); err != nil {
		t.Fatal(err)
	}
	d.holds("go.sum", "")
}

const openPolicy = "version = 2\n[filesystem]\nallow_write = [\"**\"]\n[process]\ndefault = \"allow\"\n"

// A patch that changes what its tests are is proven by the base's tests, and says so.
func TestChangedPlanIsProvenByTheBases(t *testing.T) {
	makefile := map[string]string{"Makefile": "test:\n\t@grep -q right value.txt && echo 1 passed\n", "value.txt": "base"}
	npm := map[string]string{"package.json": `{"name": "x", "version": "1.0.0", "scripts": {"test": "grep -q right value.txt && echo 1 passed"}}`, "value.txt": "base"}
	for name, c := range map[string]struct {
		files  map[string]string
		tool   string
		script string
		passes bool
		kept   []string
	}{
		"make, a recipe that always passes": {makefile, "make", `printf 'test:\n\t@echo 1 passed\n' > Makefile`, false, []string{"Makefile"}},
		"make, a file that goes before it":  {makefile, "make", `printf 'test:\n\t@echo 1 passed\n' > GNUmakefile`, false, []string{"GNUmakefile"}},
		"make, mended and moved away":       {makefile, "make", `printf right > value.txt; rm Makefile`, true, []string{"Makefile"}},
		"make, a folder in its place":       {makefile, "make", `printf right > value.txt; rm Makefile; mkdir Makefile; echo > Makefile/x`, true, []string{"Makefile", "Makefile/x"}},
		"npm, a script that always passes":  {npm, "npm", `printf '{"name": "x", "scripts": {"test": "echo 1 passed"}}' > package.json`, false, []string{"package.json"}},
		"npm, another shell for scripts":    {npm, "npm", `echo 'script-shell=true' > .npmrc`, false, []string{".npmrc"}},
		"npm, what is no JSON":              {npm, "npm", `printf right > value.txt; echo '{' > package.json`, true, []string{"package.json"}},
		"npm, mended, and a new version":    {npm, "npm", `printf right > value.txt; sed -i s/1.0.0/1.0.1/ package.json`, true, nil},
		"npm, mended, and its script":       {npm, "npm", `printf right > value.txt; printf '{"version": "2.0.0", "scripts": {"test": "false"}}' > package.json`, true, []string{"package.json"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := exec.LookPath(c.tool); err != nil {
				t.Skip("there is no " + c.tool)
			}
			files := map[string]string{"vise-policy.toml": openPolicy}
			for p, text := range c.files {
				files[p] = text
			}
			d := newDesk(t, files, nil)
			r, err := d.bench.Prove(t.Context(), d.start([]string{"sh", "-c", c.script}).ID)
			if err != nil || r.Proof.Passes() != c.passes || !slices.Equal(r.Proof.PlanKept, c.kept) {
				t.Fatalf("%v, proof %+v", err, r.Proof)
			}
			told := slices.ContainsFunc(r.Causes, func(c risk.Cause) bool { return c.Code == "plan_changed" })
			if r.Route.Kind != risk.Human || told != (c.kept != nil) {
				t.Errorf("it goes to %+v", r.Route)
			}
			if left, _ := filepath.Glob(filepath.Join(d.o.Dir, "patch", "runs", "*", "proof")); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
			if !c.passes {
				return
			}
			if _, err := d.bench.Apply(t.Context(), r.ID, true); err != nil {
				t.Fatalf("a person looked at it: %v", err)
			}
			if b, _ := os.ReadFile(filepath.Join(d.root, "package.json")); name == "npm, mended, and its script" && !strings.Contains(string(b), "2.0.0") {
				t.Errorf("the patch's own file is applied, not the proof's: %s", b)
			}
		})
	}
}
