package risk_test

import (
	"slices"
	"strings"
	"testing"

	"vise/engine/internal/vectors"
	"vise/engine/patch/policy"
	"vise/engine/patch/risk"
)

// D24, D25, D23: what the reference's list of risky paths misses is protected
// here, and what it only takes for one by a prefix is not.
func TestD24ProtectedPathsAreComplete(t *testing.T) {
	falseHits := []string{"package.json.bak", "setup.pyc", "go.workspace.md", "CMakeLists.txt.in"}
	for _, c := range vectors.Load(t, "patchloop/path_risk.json") {
		var in struct{ Path string }
		vectors.Decode(t, c.Input, &in)
		normal, err := policy.Normal(in.Path)
		if err != nil {
			continue
		}
		level, _, _, _ := risk.Path(in.Path)
		kind, is := risk.Protected(normal)
		want := level == risk.Full || slices.ContainsFunc(c.Defect, func(d string) bool { return d == "D23" || d == "D24" || d == "D25" })
		if slices.Contains(falseHits, in.Path) {
			want = false
		}
		if want && !is || !want && is && c.Defect != nil {
			t.Errorf("%s: protected %v (%s), want %v", in.Path, is, kind, want)
		}
	}
	for _, p := range strings.Fields("src/main.go README.md docs/guide.md a_test.go tests/test_a.py src/requirements.go internal/config.go cmd/agent.go src/compose.go web/app.tsx Makefile.go") {
		if kind, is := risk.Protected(p); is && p != "Makefile.go" {
			t.Errorf("%s is protected as %s", p, kind)
		}
	}
	for p, want := range map[string]risk.Kind{"a/b/.GitHub/workflows/x.yml": risk.CI, "deep/Pipfile.lock": risk.Dependencies, "x/.Cursor/rules/a.mdc": risk.AgentConfig, "sub/vise-policy.toml": risk.PolicyFile,
		".git/hooks/pre-commit": risk.Hooks, "sub/.gitignore": risk.IgnoreFile, ".vise/x": risk.StoreFile, "web/jest.config.ts": risk.VerifierConf, "app/Foo.csproj": risk.Dependencies, "keys/a.PEM": risk.Secret} {
		if kind, _ := risk.Protected(p); kind != want {
			t.Errorf("%s is %q, want %q", p, kind, want)
		}
	}
}

// D37: the future risk of our profile sees what the reference's analyzers miss,
// and judges what a patch brings, not what the file held before.
func TestD37FutureRiskSeesWhatIsNew(t *testing.T) {
	for _, c := range []struct {
		path, before, after, level string
	}{
		{"Containerfile", "", "RUN x\n", "high"},
		{"justfile", "", "a:\n\tx\n", "high"},
		{"setup.py", "", "import os", "high"},
		{".gemini/settings.json", "", `{"tool":1}`, "high"},
		{"docs/AGENTS.md", "", "allow shell\n", "high"},
		{"AGENTS.md", "", "commands tools permissions\n", "high"},
		{"package.json", "", `{"scripts":{"prepack":"x"}}`, "critical"},
		{".gitlab-ci.yml", "", "job: {}\n", "critical"},
		{"sub/makefile", "a:\n\techo\n", "B=1\na:\n\techo\n", "low"},
		{"pyproject.toml", "[build-system]\nbuild-backend = \"x\"\n", "[build-system]\nbuild-backend = \"x\"\n[tool.ruff]\n", "low"},
		{"src/a.go", "", "package a", "low"},
	} {
		if f := risk.Later([]risk.Text{{Path: c.path, Type: "modified", Before: c.before, After: c.after}}, risk.Default); f.Level != c.level {
			t.Errorf("%s is %s %v, want %s", c.path, f.Level, f.Findings, c.level)
		}
	}
}

// D26: AUTO needs an explicit PROVEN, a denied outcome outranks a failed proof,
// case and unknown levels and decisions let nothing through, all causes are told.
func TestD26Router(t *testing.T) {
	cause := []risk.Cause{{Code: "protected_path"}}
	for _, c := range []struct {
		causes  []risk.Cause
		outcome policy.Action
		verdict string
		class   risk.Class
		want    string
	}{
		{nil, policy.Allow, risk.Proven, "", "AUTO normal"},
		{nil, policy.Allow, "", "", "HUMAN not_proven"},
		{nil, policy.Allow, "PROVEN ", risk.Tests, "RETRY proof_failed_in_scope"},
		{nil, policy.Allow, "NOT_PROVEN", risk.BuildFailed, "RETRY proof_failed_in_scope"},
		{nil, policy.Deny, "NOT_PROVEN", risk.Tests, "HUMAN policy_not_allow"},
		{nil, "", risk.Proven, "", "HUMAN policy_not_allow"},
		{nil, "ALLOW", risk.Proven, "", "HUMAN policy_not_allow"},
		{cause, policy.Allow, risk.Proven, "", "HUMAN boundary"},
		{nil, policy.Allow, "NOT_PROVEN", risk.Environment, "HUMAN environment"},
		{nil, policy.Allow, "NOT_PROVEN", risk.Untrusted, "HUMAN plan_untrusted"},
	} {
		if r := risk.Route(c.causes, c.outcome, c.verdict, c.class); r.Kind+" "+r.Code != c.want {
			t.Errorf("%+v gave %s %s", c, r.Kind, r.Code)
		}
	}
	e := risk.Evidence{Command: policy.Decision{Action: policy.Allow}, Future: risk.Future{Level: "HIGH"}, Unseen: map[string]string{"x": "socket"}, Limits: []risk.Limit{{Name: "files_changed", Observed: 3, Limit: 2}},
		Changes: []risk.Change{{Path: "go.mod", Decision: "maybe"}, {Path: "../x", Decision: policy.Allow}, {Path: "a.go", Decision: policy.Deny}}}
	var codes []string
	for _, c := range risk.Boundary(e) {
		codes = append(codes, c.Code)
	}
	if got := strings.Join(codes, " "); got != "policy_action protected_path invalid_path policy_action future_blast limit not_captured" {
		t.Errorf("causes are %s", got)
	}
}

// D12: what takes strength from the tests is found; what adds to it is not.
func TestD12TestLoss(t *testing.T) {
	goTest := "package a\n\nfunc TestA(t *testing.T) {\n\tt.Fatal(1)\n}\n"
	for name, c := range map[string]struct {
		text risk.Text
		loss bool
	}{
		"deleted":          {risk.Text{Path: "a_test.go", Type: "deleted", Before: goTest}, true},
		"test gone":        {risk.Text{Path: "a_test.go", Type: "modified", Before: goTest, After: "package a\n"}, true},
		"renamed away":     {risk.Text{Path: "a_test.go", Type: "modified", Before: goTest, After: strings.Replace(goTest, "TestA", "helper", 1)}, true},
		"skipped":          {risk.Text{Path: "a_test.go", Type: "modified", Before: goTest, After: strings.Replace(goTest, "t.Fatal(1)", "t.Skip()\n\tt.Fatal(1)", 1)}, true},
		"checks less":      {risk.Text{Path: "tests/test_a.py", Type: "modified", Before: "def test_a():\n    assert 1\n    assert 2\n", After: "def test_a():\n    assert 1\n"}, true},
		"js skip":          {risk.Text{Path: "a.test.ts", Type: "modified", Before: "it('works', () => { expect(1) })", After: "it.skip('works', () => { expect(1) })"}, true},
		"rust beside code": {risk.Text{Path: "src/lib.rs", Type: "modified", Before: "#[test]\nfn adds() { assert!(true) }", After: "fn x() {}"}, true},
		"more tests":       {risk.Text{Path: "a_test.go", Type: "modified", Before: goTest, After: goTest + "\nfunc TestB(t *testing.T) { t.Error() }\n"}, false},
		"new file":         {risk.Text{Path: "b_test.go", Type: "created", After: goTest}, false},
		"plain code":       {risk.Text{Path: "a.go", Type: "modified", Before: "package a\nvar x = 1\n", After: "package a\n"}, false},
		"a plain deletion": {risk.Text{Path: "a.go", Type: "deleted", Before: "package a\n"}, false},
	} {
		if why := risk.TestLoss(c.text); (why != "") != c.loss {
			t.Errorf("%s: %q", name, why)
		}
	}
}

// What a test of the base expects is changed only before a person's eyes; what is
// added to it, its imports and its layout are nobody's concern.
func TestAChangedTestIsSeen(t *testing.T) {
	py := "import unittest\n\nclass T(unittest.TestCase):\n    def test_add(self):\n        self.assertEqual(add(1, 2), 3)\n"
	goTest := "package a\n\nimport \"testing\"\n\nfunc TestA(t *testing.T) {\n\tif f() != 1 {\n\t\tt.Fatal(1)\n\t}\n}\n"
	rust := "fn f() -> i32 { 1 }\n#[cfg(test)]\nmod t {\n#[test]\nfn adds() { assert_eq!(f(), 1) }\n}\n"
	for name, c := range map[string]struct {
		path, before, after string
		changed             bool
	}{
		"another expected value": {"tests/test_calc.py", py, strings.Replace(py, ", 3)", ", -1)", 1), true},
		"another condition":      {"a_test.go", goTest, strings.Replace(goTest, "!= 1", "!= 2", 1), true},
		"moved under an if":      {"tests/test_calc.py", py, strings.Replace(py, "        self", "        if False:\n            self", 1), true},
		"rust, the test":         {"src/lib.rs", rust, strings.Replace(rust, "f(), 1", "f(), 2", 1), true},
		"rust, the code":         {"src/lib.rs", rust, strings.Replace(rust, "{ 1 }", "{ 2 }", 1), false},
		"a new test":             {"tests/test_calc.py", py, py + "\n    def test_more(self):\n        self.assertTrue(add(1, 1))\n", false},
		"a new import":           {"a_test.go", goTest, strings.Replace(goTest, "import \"testing\"", "import (\n\t\"os\"\n\t\"testing\"\n)", 1), false},
		"a new row":              {"a.test.js", "test('a', () => {\n  expect([\n    1\n  ])\n})", "test('a', () => {\n  expect([\n    1,\n    2\n  ])\n})", false},
	} {
		why := risk.TestLoss(risk.Text{Path: c.path, Type: "modified", Before: c.before, After: c.after})
		if strings.HasPrefix(why, "a test was changed") != c.changed || !c.changed && why != "" {
			t.Errorf("%s: %q", name, why)
		}
	}
}
