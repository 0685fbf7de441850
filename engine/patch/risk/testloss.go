package risk

import (
	"fmt"
	"path"
	"regexp"
	"slices"
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
// removed, a test of it is gone, tests are skipped that were not, it checks less
// than before, or a line of it is another one: an expected value may be. Lines and
// tests that are only added take nothing. "" when it does not. It reads text, so it can be fooled; it is
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
	before, after := t.Before, t.After
	if !TestFile(t.Path) && !VerifierFile(t.Path) { // code with its tests below
		_, before, _ = strings.Cut(t.Before, "#[cfg(test)]")
		_, after, _ = strings.Cut(t.After, "#[cfg(test)]")
	}
	if lost := lostLine(before, after, strings.EqualFold(path.Ext(t.Path), ".py")); lost != "" {
		return "a test was changed: " + lost
	}
	return ""
}

// plumbing are lines of a test file that check nothing: imports and comments.
var plumbing = regexp.MustCompile(`^(?:import\b|from \S+ import\b|package\b|use\b|using\b|//|#(?:[^\[]|$)|/?\*)|^[)\]}(\[{;,]*$`)

// lostLine returns the first line that checks something and is not, in its order,
// among the lines of the new text; "" when lines were only added. Spaces and a
// comma at the end do not count, the indent does where it means something.
func lostLine(before, after string, indented bool) string {
	lines := func(s string) []string {
		var out []string
		for l := range strings.Lines(s) {
			text := strings.TrimRight(strings.Join(strings.Fields(l), " "), ", ")
			if plumbing.MatchString(text) {
				continue
			}
			if indented {
				text = l[:len(l)-len(strings.TrimLeft(l, " \t"))] + text
			}
			out = append(out, text)
		}
		return out
	}
	have := lines(after)
	for _, l := range lines(before) {
		i := slices.Index(have, l)
		if i < 0 {
			l = strings.TrimSpace(l)
			return l[:min(len(l), 120)]
		}
		have = have[i+1:]
	}
	return ""
}
