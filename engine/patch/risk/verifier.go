package risk

import (
	"path"
	"strings"

	"vise/engine/patch/policy"
)

var testFolders = set("test tests __tests__ spec specs __snapshots__ fixtures")

// rootCI are CI files and folders that count at the project's root.
var rootCI = []string{".github/workflows/", ".github/actions/", ".circleci/", ".buildkite/"}
var rootCIFiles = set(".travis.yml .gitlab-ci.yml azure-pipelines.yml jenkinsfile bitbucket-pipelines.yml appveyor.yml .drone.yml")

var runnerNames = set("conftest.py makefile gnumakefile pytest.ini tox.ini noxfile.py setup.cfg setup.py pyproject.toml package.json package-lock.json " +
	"yarn.lock pnpm-lock.yaml pipfile pipfile.lock poetry.lock uv.lock .coveragerc .npmrc justfile taskfile.yml tsconfig.json .mocharc.json phpunit.xml")

var runnerHeads = []string{"vitest.config.", "jest.config.", "playwright.config.", "cypress.config.", "karma.conf.", "vite.config."}

var testEnds = []string{"_test.py", "_test.go"}

var testInfixEnds = set("js jsx ts tsx py go rs")

// VerifierFile reports whether a path takes part in the verdict about a patch: a
// test, a fixture, the configuration of a test runner, a manifest or a CI file.
// (Rust and Java keep tests beside the code; those are seen by TestLoss only, and
// manifests of compiled languages are Protected anyway.)
func VerifierFile(p string) bool {
	normal, err := policy.Normal(p)
	if err != nil {
		return false
	}
	low := strings.ToLower(normal)
	dir, base := path.Split(low)
	for part := range strings.SplitSeq(strings.TrimSuffix(dir, "/"), "/") {
		if testFolders[part] {
			return true
		}
	}
	for _, prefix := range rootCI {
		if strings.HasPrefix(low, prefix) {
			return true
		}
	}
	if dir == "" && rootCIFiles[base] || runnerNames[base] {
		return true
	}
	for _, head := range runnerHeads {
		if strings.HasPrefix(base, head) {
			return true
		}
	}
	return strings.HasPrefix(base, "requirements") && requirementFile(base) || TestFile(normal)
}

// TestFile reports a file of test code by its own name.
func TestFile(normal string) bool {
	base := strings.ToLower(path.Base(normal))
	if strings.HasPrefix(base, "test_") && strings.HasSuffix(base, ".py") {
		return true
	}
	for _, end := range testEnds {
		if strings.HasSuffix(base, end) {
			return true
		}
	}
	parts := strings.Split(base, ".")
	n := len(parts)
	return n >= 3 && (parts[n-2] == "test" || parts[n-2] == "spec") && testInfixEnds[parts[n-1]]
}
