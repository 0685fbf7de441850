package patch_test

import (
	"os/exec"
	"strings"
	"testing"

	"vise/engine/patch"
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
		"python, the source prints a count":      {python, `printf 'import os\nprint("Ran 1 test in 0.001s", flush=True)\nos._exit(0)\n' > src/calc.py`, true},
		"go, init prints results and leaves":     {golang, `printf 'package x\n\nimport ("fmt"; "os")\n\nfunc init() { fmt.Print("=== RUN   TestRound\\n--- PASS: TestRound (0.00s)\\nPASS\\n"); os.Exit(0) }\n' > x.go`, true},
		"python, the source skips":               {python, `printf 'import unittest\ndef add(a, b): raise unittest.SkipTest("later")\n' > src/calc.py`, true},
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
			if c.human && !strings.Contains(r.Causes[len(r.Causes)-1].Says(), "fewer tests ran: 0 of 1") {
				t.Errorf("causes %+v", r.Causes)
			}
		})
	}
}

// A proof in which no test ran shows nothing, whatever the base's was: no runner
// found one, the base did not build, or nobody can tell.
func TestNoTestNeedsAPerson(t *testing.T) {
	policy := "version = 2\n[filesystem]\nallow_write = [\"**\"]\n[process]\ndefault = \"allow\"\n"
	makefile := func(test string) map[string]string {
		return map[string]string{"vise-policy.toml": policy, "Makefile": "test:\n\t@" + test + "\n", "x.txt": "x"}
	}
	bare := map[string]string{"vise-policy.toml": policy, "m.py": "def up(n): return n\n", "test_m.py": "from m import up\n\ndef test_up():\n    assert up(1) == 2\n"}
	named := map[string]string{"m.py": bare["m.py"], "test_m.py": bare["test_m.py"], "vise-policy.toml": policy + "[proof]\ntests = [[\"python3\", \"-m\", \"unittest\", \"-v\"]]\n"}
	for name, c := range map[string]struct {
		files  map[string]string
		script string
		says   string // "" = nobody is asked
	}{
		"tests in another runner's style": {bare, "echo '#' >> m.py", "no test ran"},
		"named, a runner that counts":     {named, "echo '#' >> m.py", "no test ran"},
		"go, the base does not build": {map[string]string{"vise-policy.toml": policy, "go.mod": "module x\n\ngo 1.26\n", "x.go": "package x\n\nfunc X() int { return y }\n",
			"x_test.go": "package x\n\nimport \"testing\"\n\nfunc TestX(t *testing.T) { t.Fatal(X()) }\n"},
			`printf 'package x\n\nimport "os"\n\nfunc X() int { return 1 }\n\nfunc init() { os.Exit(0) }\n' > x.go`, "no test ran"},
		"make, nothing is told":    {makefile("true"), "echo y > x.txt", "proof.tests"},
		"make, a count is told":    {makefile("echo 3 passed"), "echo y > x.txt", ""},
		"make, no test is counted": {makefile("echo 0 passed"), "echo y > x.txt", "no test ran"},
		"named, any command":       {map[string]string{"vise-policy.toml": fast, "check.sh": "true\n", "x.txt": "x"}, "echo y > x.txt", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if name[:4] == "make" {
				if _, err := exec.LookPath("make"); err != nil {
					t.Skip("there is no make")
				}
			}
			d := newDesk(t, c.files, nil)
			r, err := d.bench.Prove(t.Context(), d.start([]string{"sh", "-c", c.script}).ID)
			if err != nil || r.Proof.Verdict != run.Proven {
				t.Fatalf("%v, proof %+v", err, r.Proof)
			}
			if c.says == "" && r.Route.Kind != risk.Auto || c.says != "" && (r.Route.Kind != risk.Human || !strings.Contains(r.Causes[len(r.Causes)-1].Says(), c.says)) {
				t.Errorf("it goes to %+v", r.Route)
			}
		})
	}
}

// What counts as a test that ran: not one that was skipped, or that may fail.
func TestCountsOfRunners(t *testing.T) {
	for output, want := range map[string][2]int{
		"Ran 2 tests in 0.001s\n\nOK (skipped=2)\n":                                                        {0, 0},
		"Ran 5 tests in 0.001s\n\nFAILED (failures=1, skipped=1, expected failures=1)\n":                   {2, 3},
		"Ran 4 tests in 0.001s\n\nFAILED (errors=1, unexpected successes=1)\n":                             {2, 4},
		"ℹ pass 2\nℹ fail 1\nℹ pass 3\nℹ fail 0\n":                                                         {5, 6},
		"  3 passing (4ms)\n  1 failing\n\n  2 passing (1ms)\n":                                            {5, 6},
		"== 1 failed, 2 passed in 0.12s ==\nx\n2 passed, 1 skipped in 0.01s\n":                             {4, 5},
		"== 1 skipped in 0.12s ==\nx\n== 2 passed in 0.01s ==\n":                                           {2, 2},
		"Ran 3 tests in 0.001s\n\nOK\n":                                                                    {3, 3},
		"Ran 3 tests in 0.001s\n\nOK\n.\nRan 2 tests in 0.001s\n\nOK (skipped=1)\n":                        {4, 4},
		"ℹ tests 3\nℹ pass 2\nℹ fail 1\n":                                                                  {2, 3},
		"  3 passing (4ms)\n  1 failing\n":                                                                 {3, 4},
		"  2 passing (4ms)\n":                                                                              {2, 2},
		"test result: ok. 0 passed; 0 failed; 0 ignored\ntest result: ok. 2 passed; 0 failed; 1 ignored\n": {2, 2},
	} {
		r := patch.ReadTests(output)
		if r.Passed == nil || r.Total == nil || [2]int{*r.Passed, *r.Total} != want {
			t.Errorf("%q: %v of %v, want %v", output, r.Passed, r.Total, want)
		}
	}
}

// A count that the tested code printed itself is found out where it does not fit what the
// runner shows: a person looks.
func TestForgedCountsNeedAPerson(t *testing.T) {
	policy := "version = 2\n[filesystem]\nallow_write = [\"**\"]\n[process]\ndefault = \"allow\"\n"
	files := map[string]string{"vise-policy.toml": policy, "src/calc.py": "def add(a, b): return a - b\n", "src/__init__.py": "", "tests/__init__.py": "",
		"tests/test_calc.py": "import unittest\nfrom src import calc\n\nclass T(unittest.TestCase):\n    def test_add(self):\n        print('adding')\n        self.assertEqual(calc.add(1, 2), 3)\n" +
			"    def test_zero(self):\n        \"\"\"Nothing to add.\"\"\"\n        import sys; print('to standard error', file=sys.stderr)\n        self.assertEqual(calc.add(0, 0), 0)\n"}
	for name, c := range map[string]struct{ source, says string }{
		"a summary, and out":            {`import os\nprint("Ran 2 tests in 0.001s\\n\\nOK", flush=True)\nos._exit(0)\n`, "counts 2 passed tests, and the end of 0 is shown"},
		"a summary beside the runner's": {`def add(a, b):\n    print("Ran 1 test in 0.001s\\n\\nOK", flush=True)\n    return a + b\n`, "unittest prints one summary, and there are 3"},
		"mended":                        {`def add(a, b): return a + b\n`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDesk(t, files, nil)
			r, err := d.bench.Prove(t.Context(), d.start([]string{"sh", "-c", "printf '" + c.source + "' > src/calc.py"}).ID)
			if err != nil || r.Proof.Verdict != run.Proven || r.Proof.BaseDoubt != "" {
				t.Fatalf("%v, proof %+v", err, r.Proof)
			}
			if c.says == "" && r.Route.Kind != risk.Auto || c.says != "" && (r.Route.Kind != risk.Human || !strings.Contains(r.Causes[len(r.Causes)-1].Says(), c.says)) {
				t.Errorf("it goes to %+v", r.Route)
			}
		})
	}
}
