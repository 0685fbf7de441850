// Package risk says what a patch may do: at once (the blast radius of its
// changes), later (what a changed workflow, script or agent file will trigger),
// and whether it crosses the boundary at which automation ends. It is pure.
package risk

import (
	"path"
	"strings"

	"vise/engine/patch/policy"
)

// Level of a path: a patch that touches a Full one always needs a person.
type Level string

// Levels of a path.
const (
	Full     Level = "full"
	Targeted Level = "targeted"
)

// dependencyNames are manifests and lockfiles, lower-cased base names.
var dependencyNames = set("cargo.lock cargo.toml composer.json composer.lock gemfile gemfile.lock go.mod go.sum package-lock.json package.json " +
	"pnpm-lock.yaml poetry.lock pyproject.toml requirements.txt uv.lock yarn.lock")

var secretNames = set("authorized_keys credentials id_dsa id_ed25519 id_rsa known_hosts")
var secretFolders = set(".aws .ssh .kube credentials secrets")
var secretEnds = []string{".key", ".pem", ".p12", ".pfx"}

// rootPrefixes are compared with the start of the path, as text.
var rootPrefixes = strings.Fields(".github/ Dockerfile Makefile CMakeLists.txt nx.json lerna.json go.work pnpm-workspace.yaml package.json pyproject.toml " +
	"setup.py setup.cfg tox.ini pytest.ini uv.lock poetry.lock package-lock.json yarn.lock pnpm-lock.yaml go.mod go.sum " +
	"Cargo.toml Cargo.lock Gemfile Gemfile.lock composer.json composer.lock pom.xml build.gradle AGENTS.md CLAUDE.md " +
	".codex/ .claude/ .gemini/ .copilot/")

// Path is AgentDiff 0.4's risk of a path, with the rule that decided ("" for
// Targeted) and the normal path. It is what the seed profile and the score go by;
// the boundary goes by Protected. The error is policy.ErrPath.
func Path(p string) (level Level, rule, normal string, err error) {
	normal, err = policy.Normal(p)
	if err != nil {
		return "", "", "", err
	}
	switch {
	case dependencyNames[strings.ToLower(path.Base(normal))]:
		return Full, "dependency_name", normal, nil
	case secret(normal, secretFolders):
		return Full, "security_path", normal, nil
	}
	for _, prefix := range rootPrefixes {
		if strings.HasPrefix(normal, prefix) {
			return Full, "root_prefix:" + prefix, normal, nil
		}
	}
	return Targeted, "", normal, nil
}

// secret reports a path that by its name holds a credential.
func secret(normal string, folders map[string]bool) bool {
	low := strings.ToLower(normal)
	base := path.Base(low)
	if base == ".env" || strings.HasPrefix(base, ".env.") || secretNames[base] {
		return true
	}
	for _, end := range secretEnds {
		if strings.HasSuffix(base, end) {
			return true
		}
	}
	for part := range strings.SplitSeq(low, "/") {
		if folders[part] {
			return true
		}
	}
	return false
}

func set(words string) map[string]bool {
	out := map[string]bool{}
	for _, w := range strings.Fields(words) {
		out[w] = true
	}
	return out
}
