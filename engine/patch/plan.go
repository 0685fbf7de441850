package patch

import (
	"regexp"
	"slices"
	"strings"

	"vise/engine/patch/policy"
	"vise/engine/patch/risk"
	"vise/engine/patch/run"
	"vise/engine/patch/tree"
)

// planned are the commands of a proof and where they come from.
type planned struct {
	run.Plan
	Source  string // policy, go, rust, python, node, make; "" = none found
	Trusted bool
	Why     string // why it is not trusted
}

var makeTest = regexp.MustCompile(`(?m)^test\s*:`)

// plan chooses what proves a patch: the policy's commands, or those of the first
// ecosystem whose files the base has. They are always the base's; where a project
// writes down itself what they do, keepPlan sees to that. Under the seed's rules a
// patch that touches what detected commands depend on is not proven by them.
func plan(p policy.Policy, base *tree.Tree, m run.Manifest, profile risk.Profile) planned {
	out := planned{Plan: run.Plan{Setup: p.Proof.Setup, Build: p.Proof.Build, Tests: p.Proof.Tests}, Source: "policy"}
	if len(out.Setup)+len(out.Build)+len(out.Tests) == 0 {
		out.Plan, out.Source = detect(base)
	}
	out.Tests = counting(out.Tests)
	for _, l := range []*[][]string{&out.Setup, &out.Build, &out.Tests} {
		if *l == nil {
			*l = [][]string{}
		}
	}
	switch {
	case out.Source == "":
		out.Why = "nothing says how to test the project: it has no Go, Rust, Python, Node or Make files that vise knows; name the commands in proof.tests of the policy"
		return out
	case len(out.Tests) == 0:
		out.Why = "the plan has no test command; name one in proof.tests of the policy"
		return out
	}
	if profile == risk.Seed && out.Source != "policy" {
		for _, e := range m.Entries {
			if seedPlanFile(out.Source, e.Path) {
				out.Why = "the patch touches " + e.Path + ", on which the detected commands may depend; name the commands in proof.tests of the policy"
				return out
			}
		}
	}
	out.Trusted = true
	return out
}

// seedPlanFile is AgentDiff 0.4's list of what its detected plans depend on: files at
// the project's top, by ecosystem, and everything under .github.
func seedPlanFile(source, p string) bool {
	if strings.HasPrefix(p, ".github/") {
		return true
	}
	names := map[string]string{
		"python": "pyproject.toml setup.py setup.cfg tox.ini pytest.ini conftest.py requirements.txt requirements-dev.txt Pipfile Pipfile.lock poetry.lock uv.lock",
		"node":   "package.json package-lock.json yarn.lock pnpm-lock.yaml tsconfig.json .npmrc",
	}[source]
	if names != "" {
		return slices.Contains(strings.Fields(names), p)
	}
	kind, is := risk.Protected(p) // ecosystems that it does not know
	return is && slices.Contains([]risk.Kind{risk.Dependencies, risk.Build, risk.VerifierConf}, kind)
}

// detect finds the commands of the base's ecosystem.
func detect(base *tree.Tree) (run.Plan, string) {
	has := func(p string) bool { _, ok := base.Files[p]; return ok }
	text := func(p string) string { b, _ := base.Content(p, 1<<20); return string(b) }
	argv := func(s string) []string { return strings.Fields(s) }
	switch {
	case has("go.mod") || has("go.work"):
		return run.Plan{Build: [][]string{argv("go build ./...")}, Tests: [][]string{argv("go test ./...")}}, "go"
	case has("Cargo.toml"):
		return run.Plan{Build: [][]string{argv("cargo build --all-targets")}, Tests: [][]string{argv("cargo test")}}, "rust"
	case has("uv.lock"):
		return run.Plan{Setup: [][]string{argv("uv sync --frozen")}, Tests: [][]string{argv("uv run --frozen pytest -q")}}, "python"
	case has("pyproject.toml") || has("setup.py") || has("setup.cfg") || has("requirements.txt") || python(base):
		tests := argv("python3 -m unittest discover -v")
		if has("pytest.ini") || has("conftest.py") || has("tests/conftest.py") || strings.Contains(text("pyproject.toml"), "pytest") || strings.Contains(text("setup.cfg"), "pytest") ||
			strings.Contains(text("tox.ini"), "pytest") || strings.Contains(text("requirements.txt")+text("requirements-dev.txt"), "pytest") {
			tests = argv("python3 -m pytest -q")
		} else if !unitAtTop(base) {
			tests = argv("python3 -m unittest discover -v -s tests -t .")
		}
		return run.Plan{Build: [][]string{argv("python3 -m compileall -q .")}, Tests: [][]string{tests}}, "python"
	case has("package.json"):
		p := run.Plan{Build: [][]string{argv("npm run build --if-present")}, Tests: [][]string{argv("npm test")}}
		switch file := text("package.json"); {
		case has("package-lock.json"):
			p.Setup = [][]string{argv("npm ci")}
		case strings.Contains(file, "ependencies\""):
			p.Setup = [][]string{argv("npm install --no-audit --no-fund")}
		}
		return p, "node"
	case has("Makefile") && makeTest.MatchString(text("Makefile")):
		return run.Plan{Tests: [][]string{argv("make test")}}, "make"
	}
	return run.Plan{}, ""
}

// python reports a project of bare Python tests.
func python(base *tree.Tree) bool {
	for p := range base.Files {
		if strings.HasSuffix(p, ".py") && risk.TestFile(p) {
			return true
		}
	}
	return false
}

// unitAtTop reports whether unittest finds tests without being told where: it
// looks in the top folder and in packages.
func unitAtTop(base *tree.Tree) bool {
	for p := range base.Files {
		dir, name, nested := strings.Cut(p, "/")
		if !nested {
			name = dir
		}
		if strings.HasPrefix(name, "test") && strings.HasSuffix(name, ".py") && !strings.Contains(name, "/") {
			if _, isPackage := base.Files[dir+"/__init__.py"]; !nested || isPackage {
				return true
			}
		}
	}
	return false
}
