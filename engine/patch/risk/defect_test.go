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
	for _, p := range strings.Fields("src/main.go README.md docs/guide.md a_test.go tests/test_a.py src/requirements.go internal/config.go cmd/agent.go src/compose.go web/app.tsx src/lock.go src/lockfile.py block.md Makefile.go") {
		if kind, is := risk.Protected(p); is && p != "Makefile.go" {
			t.Errorf("%s is protected as %s", p, kind)
		}
	}
	for p, want := range map[string]risk.Kind{"a/b/.GitHub/workflows/x.yml": risk.CI, "deep/Pipfile.lock": risk.Dependencies, "x/.Cursor/rules/a.mdc": risk.AgentConfig, "sub/vise-policy.toml": risk.PolicyFile,
		".git/hooks/pre-commit": risk.Hooks, "sub/.gitignore": risk.IgnoreFile, ".vise/x": risk.StoreFile, "web/jest.config.ts": risk.VerifierConf, "app/Foo.csproj": risk.Dependencies, "keys/a.PEM": risk.Secret,
		"MODULE.bazel.lock": risk.Dependencies, "jl/Manifest.toml": risk.Dependencies, "some-tool.lock": risk.Dependencies, "x-lock.json": risk.Dependencies, ".terraform.lock.hcl": risk.Dependencies,
		".goreleaser.yml": risk.CI, "src/sitecustomize.py": risk.VerifierConf, "app.iml": risk.EditorConfig, ".dir-locals.el": risk.EditorConfig} {
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

// Marks, ways out and comments that take tests away are seen in every language
// that is known; what only adds is not.
func TestWeakenedTestsAreSeen(t *testing.T) {
	edit := func(old, new string) [2]string { return [2]string{old, new} }
	goTest := "package a\n\nfunc TestA(t *testing.T) {\n\tt.Run(\"x\", func(t *testing.T) {})\n\tt.Error(1)\n}\n"
	py := "import pytest\n\ndef test_a():\n    x = 1\n    assert x\n"
	js := "describe('d', () => {\n  it('works', () => {\n    expect(1).toBe(1)\n  })\n})\n"
	rust := "fn f() {}\n#[cfg(test)]\nmod t {\n  #[test]\n  fn adds() { assert!(true) }\n}\n"
	for name, c := range map[string]struct {
		path, before string
		edit         [2]string
		want         string // part of what is said, "" for nothing
	}{
		"go skip":            {"a_test.go", goTest, edit("{\n\tt.Run", "{\n\tt.Skip(\"later\")\n\tt.Run"), "skipped"},
		"go short":           {"a_test.go", goTest, edit("{\n\tt.Run", "{\n\tif testing.Short() {\n\t\treturn\n\t}\n\tt.Run"), "skipped"},
		"go build mark":      {"a_test.go", goTest, edit("package a", "//go:build never\n\npackage a"), "skipped"},
		"go early return":    {"a_test.go", goTest, edit("\tt.Error", "\treturn\n\tt.Error"), "TestA may end early"},
		"go never":           {"a_test.go", goTest, edit("\tt.Error(1)", "\tif false {\n\t\tt.Error(1)\n\t}"), "TestA may end early"},
		"go commented out":   {"a_test.go", goTest, edit("\tt.Error(1)", "\t/*\n\tt.Error(1)\n\t*/"), "0 of 1 assertions"},
		"go a comment":       {"a_test.go", goTest, edit("\tt.Error(1)", "\t// t.Skip is for others\n\tt.Error(1)"), ""},
		"go a helper":        {"a_test.go", goTest, edit("package a", "package a\n\nfunc help() {\n\tif x {\n\t\treturn\n\t}\n}"), ""},
		"py mark":            {"test_a.py", py, edit("def test_a", "@pytest.mark.xfail(reason='x')\ndef test_a"), "skipped"},
		"py module mark":     {"test_a.py", py, edit("import pytest", "import pytest\npytestmark = pytest.mark.skip"), "skipped"},
		"py return":          {"test_a.py", py, edit("    x = 1\n", "    x = 1\n    return\n"), "test_a may end early"},
		"py suppressed":      {"test_a.py", py, edit("    x = 1\n    assert x", "    x = 1\n    try:\n        assert x\n    except AssertionError:\n        pass"), "test_a may end early"},
		"py in a text":       {"test_a.py", py, edit("    assert x", "    \"\"\"\n    assert x\n    \"\"\""), "0 of 1 assertions"},
		"py a docstring":     {"test_a.py", py, edit("    x = 1", "    \"\"\"It does.\"\"\"\n    x = 1"), ""},
		"py commented out":   {"test_a.py", py, edit("    assert x", "    # assert x\n    pass"), "0 of 1 assertions"},
		"js only":            {"a.spec.ts", js, edit("describe('d'", "describe('e', () => { it.only('x', () => {}) })\ndescribe('d'"), "all other tests"},
		"js skip":            {"a.spec.ts", js, edit("it('works'", "it.skip('works'"), "gone"},
		"js failing":         {"a.test.mjs", js, edit("describe('d'", "describe.skip('d'"), "skipped"},
		"js timeout":         {"a.spec.ts", js + "jest.setTimeout(5000)\n", edit("5000", "60000"), "a test was changed: jest.setTimeout(5000)"},
		"js another value":   {"a.cy.ts", js, edit("toBe(1)", "toBe(2)"), "a test was changed"},
		"rust ignore":        {"src/lib.rs", rust, edit("#[test]", "#[test]\n  #[ignore]"), "skipped"},
		"rust a lifetime":    {"src/lib.rs", rust, edit("fn f() {}", "fn f<'a>(x: &'a str) -> &'a str { x } // it's"), ""},
		"java disabled":      {"src/test/java/ATest.java", "class ATest {\n@Test void adds() { assertEquals(1, f()); }\n}\n", edit("@Test", "@Disabled @Test"), "skipped"},
		"ruby pending":       {"spec/a_spec.rb", "it 'works' do\n  expect(1).to eq 1\nend\n", edit("  expect", "  pending\n  expect"), "skipped"},
		"php skipped":        {"tests/ATest.php", "function testA() {\n$this->assertTrue(1);\n}\n", edit("{\n", "{\n$this->markTestSkipped();\n"), "skipped"},
		"c# skipped":         {"ATests.cs", "[Fact]\npublic void Adds() { Assert.Equal(1, F()); }\n", edit("[Fact]", "[Fact(Skip = \"x\")]"), "skipped"},
		"c++ disabled":       {"a_test.cc", "TEST(A, Adds) {\n  EXPECT_EQ(1, f());\n}\n", edit("A, Adds", "A, DISABLED_Adds"), "gone"},
		"elixir skipped":     {"test/a_test.exs", "test \"adds\" do\n  assert f() == 1\nend\n", edit("test \"", "@tag :skip\ntest \""), "skipped"},
		"lua another value":  {"a_spec.lua", "assert.equal(1, f())\n", edit("1", "2"), "a test was changed"},
		"jest new snapshot":  {"__snapshots__/a.snap", "// Jest Snapshot v1\nexports[`a 1`] = `x`;\n", edit("// Jest", "exports[`b 1`] = `y`;\n// Jest"), ""},
		"jest old snapshot":  {"__snapshots__/a.snap", "// Jest Snapshot v1\nexports[`a 1`] = `x`;\n", edit("`x`", "`y`"), "compare with is changed"},
		"golden":             {"pkg/testdata/out.golden", "one\n", edit("one\n", "one\ntwo\n"), "compare with is changed"},
		"json fixture":       {"tests/data/cases.json", "{\"want\": 3}", edit("3", "4"), "compare with is changed"},
		"insta":              {"src/snapshots/a.snap", "---\nx\n", edit("x", "y"), "compare with is changed"},
		"a json of the code": {"src/config.json", "{\"want\": 3}", edit("3", "4"), ""},
		"a readme":           {"testdata/README.md", "x", edit("x", "y"), ""},
		"latest is no test":  {"src/Contest.java", "class A { int f() { return 1; } }", edit("1", "2"), ""},
	} {
		after := strings.Replace(c.before, c.edit[0], c.edit[1], 1)
		if after == c.before {
			t.Errorf("%s: nothing is edited", name)
		}
		if why := risk.TestLoss(risk.Text{Path: c.path, Type: "modified", Before: c.before, After: after}); (c.want == "") != (why == "") || !strings.Contains(why, c.want) {
			t.Errorf("%s: %q, want %q in it", name, why, c.want)
		}
	}
	for name, c := range map[string]struct {
		text risk.Text
		loss bool
	}{
		"a fixture removed":         {risk.Text{Path: "testdata/a.json", Type: "deleted", Before: "{}"}, true},
		"a fixture added":           {risk.Text{Path: "testdata/a.json", Type: "created", After: "{}"}, false},
		"bytes of a fixture":        {risk.Text{Path: "testdata/a.png", Type: "modified", Unread: true}, true},
		"only the mode":             {risk.Text{Path: "testdata/a.png", Type: "modified", Same: true}, false},
		"a test that is no text":    {risk.Text{Path: "a_test.go", Type: "modified", Unread: true}, true},
		"a test moved":              {risk.Text{Path: "tests/test_a.py", Type: "deleted", Before: py, MovedTo: "tests/unit/test_a.py"}, false},
		"a test moved out of sight": {risk.Text{Path: "tests/test_a.py", Type: "deleted", Before: py, MovedTo: "old/a.txt"}, true},
		"a fixture moved":           {risk.Text{Path: "testdata/a.json", Type: "deleted", Before: "{}", MovedTo: "old/a.json"}, true},
		"a new skipped test":        {risk.Text{Path: "b_test.go", Type: "created", After: goTest + "func TestB(t *testing.T) { t.Skip() }\n"}, false},
		"a new only":                {risk.Text{Path: "b.test.js", Type: "created", After: "it.only('x', () => {})"}, true},
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
		if (why != "") != c.changed {
			t.Errorf("%s: %q", name, why)
		}
	}
}

// Whatever a test file holds, what is said about it is found without end or fault,
// and an unchanged one takes nothing.
func FuzzTestLoss(f *testing.F) {
	f.Add("a_test.go", "func TestA(t *testing.T) { t.Error(`x`) } // y\n/* z", "package a")
	f.Add("test_a.py", "def test_a():\n  \"\"\"x\n  assert 1 # '''\n", "\"\"\"")
	f.Add("a_spec.rb", "it 'x' do\nend\ndef test_a\n", "'\\")
	f.Fuzz(func(t *testing.T, path, before, after string) {
		if len(path) > 100 || len(before)+len(after) > 4000 {
			return
		}
		risk.TestLoss(risk.Text{Path: path, Type: "modified", Before: before, After: after})
		if why := risk.TestLoss(risk.Text{Path: path, Type: "modified", Before: before, After: before}); why != "" && why != "what tests compare with is changed" && why != "the test file is emptied" {
			t.Errorf("%q with %q: %s", path, before, why)
		}
	})
}
