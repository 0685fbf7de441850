package risk

import (
	"fmt"
	"path"
	"regexp"
	"strings"
)

// What a test, an assertion and a skip look like, by the ending of the file.
// Declared names are compared; assertions and skips are counted.
var testForms = map[string]struct{ name, assert, skip *regexp.Regexp }{
	".go": {regexp.MustCompile(`(?m)^func ((?:Test|Fuzz|Example)\w*)\(`),
		regexp.MustCompile(`\bt\.(Error|Fatal|Fail)\w*\(|\b(assert|require)\.\w+\(`), regexp.MustCompile(`\.(Skip|SkipNow|Skipf)\(|(?m)^//go:build `)},
	".py": {regexp.MustCompile(`(?m)^\s*(?:async\s+)?def (test\w*)\(`),
		regexp.MustCompile(`(?m)^\s*assert\b|\bself\.assert\w+\(|pytest\.raises\(`), regexp.MustCompile(`pytest\.(mark\.)?(skip|xfail|importorskip)\w*|unittest\.(skip\w*|expectedFailure)|\.skipTest\(`)},
	".js": {regexp.MustCompile("\\b(?:it|test)(?:\\.each\\([^)]*\\))?\\(\\s*[\"'`]([^\"'`\\n]+)"),
		regexp.MustCompile(`\bexpect\(|\bassert\b`), regexp.MustCompile(`\b(it|test|describe)\.(skip|only|todo|failing)\b|\bx(it|describe|test)\(`)},
	".rs":   {regexp.MustCompile(`#\[(?:\w+::)?test\][^{]*?fn (\w+)`), regexp.MustCompile(`\bassert\w*!`), regexp.MustCompile(`#\[ignore|#\[cfg\(`)},
	".java": {regexp.MustCompile(`@(?:Test|ParameterizedTest)\b[^{;]*?\b(\w+)\s*\(`), regexp.MustCompile(`\bassert\w*\(`), regexp.MustCompile(`@(Disabled|Ignore)\b`)},
}

func init() {
	for _, alias := range []string{".jsx", ".ts", ".tsx", ".mjs", ".cjs"} {
		testForms[alias] = testForms[".js"]
	}
	testForms[".kt"] = testForms[".java"]
}

// TestLoss says how a change takes strength from the tests: a test file is
// removed, a test of it is gone, tests are skipped that were not, or it checks
// less than before. "" when it does not. It reads text, so it can be fooled; it is
// there to send honest shortcuts to a person, not to catch a liar.
func TestLoss(t Text) string {
	form, known := testForms[strings.ToLower(path.Ext(t.Path))]
	test := TestFile(t.Path) || VerifierFile(t.Path) && known
	if !test {
		// Rust and others keep tests beside the code.
		if !known || len(form.name.FindAllString(t.Before, 1)) == 0 {
			return ""
		}
	}
	if t.Type == "deleted" {
		return "the test file is deleted"
	}
	if t.Type == "created" || !known || t.Before == "" {
		if known && t.Type == "created" && form.skip.MatchString(t.After) {
			return "the new tests are skipped"
		}
		return ""
	}
	if t.After == "" {
		return "the test file is emptied"
	}
	have := map[string]int{}
	for _, m := range form.name.FindAllStringSubmatch(t.After, -1) {
		have[m[1]]++
	}
	for _, m := range form.name.FindAllStringSubmatch(t.Before, -1) {
		if have[m[1]]--; have[m[1]] < 0 {
			return fmt.Sprintf("the test %s is gone", m[1])
		}
	}
	count := func(re *regexp.Regexp, s string) int { return len(re.FindAllStringIndex(s, -1)) }
	if before, after := count(form.skip, t.Before), count(form.skip, t.After); after > before {
		return "tests are skipped that were not"
	}
	if before, after := count(form.assert, t.Before), count(form.assert, t.After); after < before {
		return fmt.Sprintf("the tests check less than before: %d of %d assertions are left", after, before)
	}
	return ""
}
