package patch_test

import (
	"strings"
	"testing"

	"vise/engine/patch/risk"
	"vise/engine/patch/run"
)

// A patch under which fewer tests run than on the base, or none, goes to a person:
// a program that leaves before its tests is no proof. The same project mended
// honestly needs nobody.
func TestFewerTestsThanOnTheBaseNeedAPerson(t *testing.T) {
	policy := "version = 2\n[filesystem]\nallow_write = [\"**\"]\n[process]\ndefault = \"allow\"\n"
	python := map[string]string{"vise-policy.toml": policy, "src/calc.py": "def add(a, b): return a - b\n", "src/__init__.py": "",
		"tests/__init__.py": "", "tests/test_calc.py": "import unittest\nfrom src import calc\n\nclass T(unittest.TestCase):\n    def test_add(self):\n        self.assertEqual(calc.add(1, 2), 3)\n"}
	golang := map[string]string{"vise-policy.toml": policy, "go.mod": "module x\n\ngo 1.26\n", "round.go": "package x\n\nfunc Round() int { return 1 }\n",
		"round_test.go": "package x\n\nimport \"testing\"\n\nfunc TestRound(t *testing.T) {\n\tif Round() != 2 {\n\t\tt.Fatal(Round())\n\t}\n}\n"}
	for name, c := range map[string]struct {
		files  map[string]string
		script string
		human  bool
	}{
		"python, a module in the runner's place": {python, `printf 'import sys\nsys.exit(0)\n' > unittest.py`, true},
		"python, mended":                         {python, `printf 'def add(a, b): return a + b\n' > src/calc.py`, false},
		"go, init leaves":                        {golang, `printf 'package x\n\nimport "os"\n\nfunc init() { os.Exit(0) }\n' > x.go`, true},
		"go, TestMain leaves":                    {golang, `printf 'package x\n\nimport (\n"os"\n"testing"\n)\n\nfunc TestMain(m *testing.M) { os.Exit(0) }\n' > main_test.go`, true},
		"go, mended":                             {golang, `printf 'package x\n\nfunc Round() int { return 2 }\n' > round.go`, false},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, c.files, nil)
			r, err := d.bench.Prove(t.Context(), d.start([]string{"sh", "-c", c.script}).ID)
			if err != nil || r.Proof.Verdict != run.Proven || r.Proof.BaseTests == nil || *r.Proof.BaseTests != 1 {
				t.Fatalf("%v, proof %+v", err, r.Proof)
			}
			if (r.Route.Kind == risk.Human) != c.human {
				t.Fatalf("it goes to %+v", r.Route)
			}
			if c.human && (len(r.Causes) != 1 || !strings.Contains(r.Causes[0].Says(), "fewer tests ran: 0 of 1")) {
				t.Errorf("causes %+v", r.Causes)
			}
		})
	}
}
