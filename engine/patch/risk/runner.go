package risk

import (
	"path"
	"regexp"
	"strings"
)

// reaching is what source that is no test writes when it reaches for the runner that
// judges it, or ends the runner's process from within; by the ending of the file.
// What tests are made of in a library of tests is taken for it, too: a person looks.
var reaching = map[string]*regexp.Regexp{
	".py": regexp.MustCompile(`(?m)^\s*(?:import|from)\s+(?:unittest|_?pytest|nose2?)\b|\b_ShouldStop\b|\bos\._exit\s*\(|\bos\.abort\s*\(`),
	".go": regexp.MustCompile(`(?m)^\s*(?:import\s+)?(?:[\w.]+\s+)?"testing"|\bsyscall\.(?:Exit|RawSyscall)\(|\\x16(?:===|---) `),
	".js": regexp.MustCompile(`['"](?:node:test|mocha|@jest/globals|vitest)['"]|\bprocess\.reallyExit\b`),
	".rs": regexp.MustCompile(`\blibc::_exit\b|\bextern crate test\b`),
}

func init() {
	for _, like := range []string{".mjs", ".cjs", ".ts", ".mts", ".cts", ".tsx", ".jsx"} {
		reaching[like] = reaching[".js"]
	}
}

// stands are modules that would be found in the place of a runner of the same name: a
// program is looked for in the project's top first.
var stands = set("unittest.py unittest/__init__.py pytest.py pytest/__init__.py _pytest/__init__.py compileall.py")

// Reaches says how a file that is no test reaches for what judges it, where it did not
// before; "" for not at all.
func Reaches(t Text) string {
	if t.Type == "deleted" {
		return ""
	}
	if stands[strings.ToLower(t.Path)] {
		return "it stands in for the test runner"
	}
	re := reaching[strings.ToLower(path.Ext(t.Path))]
	if re == nil || testCode(t.Path) {
		return ""
	}
	had := map[string]int{}
	for _, m := range re.FindAllString(t.Before, -1) {
		had[strings.TrimSpace(m)]++
	}
	for _, m := range re.FindAllString(t.After, -1) {
		m = strings.TrimSpace(m)
		if had[m]--; had[m] < 0 {
			return "it reaches for what judges it (" + m + ")"
		}
	}
	return ""
}
