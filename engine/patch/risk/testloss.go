package risk

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
)

// What a test, an assertion and a mark that skips tests look like, by the ending of
// the file. Declared names are compared; assertions and marks are counted. only is
// a mark by which all other tests are skipped.
var testForms = map[string]struct{ name, assert, skip, only *regexp.Regexp }{
	".go": {name: regexp.MustCompile(`(?m)^func ((?:Test|Fuzz|Example)\w*)\(`),
		assert: regexp.MustCompile(`\bt\.(Error|Fatal|Fail)\w*\(|\b(assert|require)\.\w+\(`), skip: regexp.MustCompile(`\.(Skip|SkipNow|Skipf)\(|(?m)^//go:build |\btesting\.Short\(`)},
	".py": {name: regexp.MustCompile(`(?m)^\s*(?:async\s+)?def (test\w*)\(`),
		assert: regexp.MustCompile(`(?m)^\s*assert\b|\bself\.assert\w+\(|pytest\.raises\(`),
		skip:   regexp.MustCompile(`\bpytest\.(mark\.)?(skip|xfail|importorskip)\w*|\bmark\.(skip|xfail)\w*|unittest\.(skip\w*|expectedFailure)|(?m)^\s*@(skip\w*|expectedFailure|xfail)\b|\.skipTest\(|\b__test__\s*=\s*False|\bpytestmark\b|\bcollect_ignore\b`)},
	".js": {name: regexp.MustCompile("\\b(?:it|test)(?:\\.each\\([^)]*\\))?\\(\\s*[\"'`]([^\"'`\\n]+)"),
		assert: regexp.MustCompile(`\bexpect\(|\bassert\b`),
		skip:   regexp.MustCompile(`\b(it|test|describe|suite|context|bench)\.(skip|skipIf|runIf|todo|failing|fails|fixme|fail)\b|\bx(it|describe|test|context|specify)\(|\bthis\.skip\(|\{\s*(skip|todo):|\bpending\(`),
		only:   regexp.MustCompile(`\b(it|test|describe|suite|context)\.only\b|\bf(it|describe|test|context)\(|\{\s*only:`)},
	".rs": {name: regexp.MustCompile(`#\[(?:\w+::)?test\][^{]*?fn (\w+)`), assert: regexp.MustCompile(`\bassert\w*!`), skip: regexp.MustCompile(`#\[ignore|#\[cfg\(|#\[cfg_attr\(|#\[should_panic`)},
	".java": {name: regexp.MustCompile(`@(?:Test|ParameterizedTest)\b[^{;]*?\b(\w+)\s*\(`), assert: regexp.MustCompile(`\bassert\w*\(`),
		skip: regexp.MustCompile(`@(Disabled|Ignore|EnabledIf|DisabledIf|EnabledOn|DisabledOn|Enabled|Xfail)\w*\b|\bassume\w*\(|\benabled\s*=\s*false`)},
	".rb": {name: regexp.MustCompile(`(?m)^\s*(?:(?:it|specify|test)\s*\(?\s*["']([^"'\n]+)|def (?:test_\w+))`), assert: regexp.MustCompile(`\bexpect\b|\bassert\w*\b|\brefute\w*\b|\.should\b`),
		skip: regexp.MustCompile(`\b(xit|xdescribe|xcontext|xspecify)\b|(?m)^\s*(skip|pending)\b|\b(skip|pending):`), only: regexp.MustCompile(`\b(fit|fdescribe|fcontext)\b|\b(focus):|:focus\b`)},
	".php": {name: regexp.MustCompile(`function (test\w*)\(`), assert: regexp.MustCompile(`(?:\$this->|self::|static::)assert\w+\(|\bexpect\(`),
		skip: regexp.MustCompile(`\bmarkTest(Skipped|Incomplete)\(|->skip\(|@(?:group|requires)\b|#\[(?:Group|Requires)`), only: regexp.MustCompile(`->only\(`)},
	".cs": {name: regexp.MustCompile(`\[(?:Fact|Theory|Test|TestCase|TestMethod)\b[^{;]*?\b(\w+)\s*\(`), assert: regexp.MustCompile(`\bAssert\.|\.Should\(`),
		skip: regexp.MustCompile(`\bSkip\s*=|\[(Ignore|Explicit)\b|\bAssert\.(Ignore|Inconclusive|Pass)\(`)},
	".swift": {name: regexp.MustCompile(`func (test\w*)\(`), assert: regexp.MustCompile(`\bXCTAssert\w*\(|#expect\(|#require\(`), skip: regexp.MustCompile(`\bXCTSkip\w*|\.disabled\(|\bXCTExpectFailure\(`)},
	".exs":   {name: regexp.MustCompile(`(?m)^\s*test "([^"\n]+)"`), assert: regexp.MustCompile(`\b(assert|refute)\w*\b`), skip: regexp.MustCompile(`@(module)?tag :?skip|@tag :?pending|\bexclude:`)},
	".cc":    {name: regexp.MustCompile(`\bTEST(?:_F|_P)?\(\s*(\w+\s*,\s*\w+)`), assert: regexp.MustCompile(`\b(EXPECT|ASSERT)_\w+\(|\bREQUIRE\w*\(|\bCHECK\w*\(`), skip: regexp.MustCompile(`\bDISABLED_|\bGTEST_SKIP\(|\bSKIP\(|\[!(mayfail|shouldfail|hide)|(?m)^#if 0\b`)},
	".dart":  {name: regexp.MustCompile(`\btest(?:Widgets)?\(\s*["']([^"'\n]+)`), assert: regexp.MustCompile(`\bexpect\w*\(`), skip: regexp.MustCompile(`\bskip:`), only: regexp.MustCompile(`\bsolo:`)},
}

func init() {
	for ext, like := range map[string]string{".jsx": ".js", ".ts": ".js", ".tsx": ".js", ".mjs": ".js", ".cjs": ".js", ".mts": ".js", ".cts": ".js", ".vue": ".js", ".svelte": ".js",
		".kt": ".java", ".groovy": ".java", ".scala": ".java", ".cpp": ".cc"} {
		testForms[ext] = testForms[like]
	}
}

// TestLoss says how a change takes strength from the tests: a test file is removed,
// a test of it is gone, tests are skipped that were not, it checks less than
// before, a test may end early that did not, a line of it is another one (an
// expected value, a limit of time), or what tests compare with is changed. Lines,
// tests and files that are only added take nothing, and a test file may be moved.
// "" when it does not. It reads text, so it can be fooled; it is there to send
// honest shortcuts to a person, not to catch a liar.
func TestLoss(t Text) string {
	ext := strings.ToLower(path.Ext(t.Path))
	form, known := testForms[ext]
	test := testCode(t.Path)
	switch {
	case test:
	case expected(t.Path):
		return expectedLoss(t)
	case !known || len(form.name.FindAllString(t.Before, 1)) == 0:
		return "" // Rust and others keep tests beside the code
	}
	switch {
	case t.Same:
		return ""
	case t.Type == "deleted" && t.MovedTo != "" && (testCode(t.MovedTo) || !test) && strings.EqualFold(path.Ext(t.MovedTo), ext):
		return "" // the same bytes are tests at another place
	case t.Type == "deleted":
		return "the test file is deleted"
	case t.Type == "created":
		if known && form.only != nil && form.only.MatchString(code(t.After, ext)) {
			return "all other tests are skipped by a mark of the new ones"
		}
		return ""
	case t.Unread:
		return "the test file is changed and could not be read"
	case t.Before == "":
		return ""
	case t.After == "":
		return "the test file is emptied"
	}
	before, after := t.Before, t.After
	if known {
		before, after = code(before, ext), code(after, ext)
		if why := weaker(before, after, ext); why != "" {
			return why
		}
	}
	if !test { // code with its tests below
		_, before, _ = strings.Cut(before, "#[cfg(test)]")
		_, after, _ = strings.Cut(after, "#[cfg(test)]")
	}
	if lost := lostLine(before, after, ext == ".py" || ext == ".exs"); lost != "" {
		return "a test was changed: " + lost
	}
	return ""
}

// weaker compares the tests, the assertions and the marks of a known language.
func weaker(before, after, ext string) string {
	form := testForms[ext]
	count := func(re *regexp.Regexp, s string) int {
		if re == nil {
			return 0
		}
		return len(re.FindAllStringIndex(s, -1))
	}
	have := map[string]int{}
	for _, m := range form.name.FindAllStringSubmatch(after, -1) {
		have[label(m)]++
	}
	for _, m := range form.name.FindAllStringSubmatch(before, -1) {
		if have[label(m)]--; have[label(m)] < 0 {
			return fmt.Sprintf("the test %s is gone", label(m))
		}
	}
	if count(form.skip, after) > count(form.skip, before) {
		return "tests are skipped that were not"
	}
	if count(form.only, after) > count(form.only, before) {
		return "all other tests are skipped by a mark"
	}
	if a, b := count(form.assert, after), count(form.assert, before); a < b {
		return fmt.Sprintf("the tests check less than before: %d of %d assertions are left", a, b)
	}
	now := bodies(after, form.name)
	for name, was := range bodies(before, form.name) {
		if body, ok := now[name]; ok && count(wayOut, body) > count(wayOut, was) {
			return fmt.Sprintf("the test %s may end early or not run in part, which it did not", name)
		}
	}
	return ""
}

// label is the name of a test that was matched.
func label(m []string) string {
	if m[1] != "" {
		return m[1]
	}
	return strings.TrimSpace(m[0])
}

// expectedLoss is TestLoss for what tests compare with. A new file is a new test's;
// of a file with many values in it, new values are.
func expectedLoss(t Text) string {
	switch {
	case t.Same || t.Type == "created":
		return ""
	case t.Type == "deleted" && t.MovedTo != "" && expected(t.MovedTo):
		return ""
	case t.Type == "deleted":
		return "what tests compare with is deleted"
	case !t.Unread && manyInOne(t) && lostLine(t.Before, t.After, true) == "":
		return ""
	}
	return "what tests compare with is changed"
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
