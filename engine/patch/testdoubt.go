package patch

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Lines that show the end of one passed test, by runner.
var (
	unitOK    = regexp.MustCompile(`(?m)ok\s*$`) // `test_a (t.T.test_a) ... ok`, or what the test wrote between
	unitDots  = regexp.MustCompile(`(?m)^[.FEsxu]+$`)
	unitStart = regexp.MustCompile(`(?m)^test\w* \(.*\) \.\.\. `)
	cargoOK   = regexp.MustCompile(`(?m)^test .* \.\.\. ok\s*$`)
	cargoDots = regexp.MustCompile(`(?m)^[.iF]+(?: \d+/\d+)?$`)
	cargoList = regexp.MustCompile(`(?m)^running \d+ tests?\b`)
	tapOK     = regexp.MustCompile(`(?m)^\s*(?:ok \d+|[✔✓] )`)
	mochaOK   = regexp.MustCompile(`(?m)^\s*[✔✓√] `)
	pytestOK  = regexp.MustCompile(`(?m)\bPASSED\b`)
	pytestRow = regexp.MustCompile(`(?m)^(?:\S+ )?([.FEsxX]+)(?:\s+\[[ \d%]+\])?\s*$`)
)

// doubt says why the count of passed tests that a command printed cannot be trusted; ""
// when nothing speaks against it, which is no proof: what is tested runs in the
// runner's own process, and may print whatever the runner prints. It is found out
// when it prints a summary alone (fewer tests are shown than it counts), one more
// than the runner (which prints one), or one before the runner is through.
func doubt(argv []string, text string, passed int) string {
	shown, what := -1, ""
	switch {
	case cargoLine.MatchString(text):
		lists, sums := len(cargoList.FindAllString(text, -1)), len(cargoLine.FindAllString(text, -1))
		if sums > lists {
			return fmt.Sprintf("%d summaries were printed for %d lists of tests", sums, lists)
		}
		shown, what = len(cargoOK.FindAllString(text, -1))+marks(cargoDots, text), "cargo test"
	case unitRan.MatchString(text):
		all := unitRan.FindAllStringIndex(text, -1)
		if unittest(argv) {
			if len(all) > 1 {
				return fmt.Sprintf("unittest prints one summary, and there are %d", len(all))
			}
			if unitStart.MatchString(text[all[0][1]:]) {
				return "tests went on after the summary of unittest"
			}
			if slices.Contains(argv, "-q") || slices.Contains(argv, "--quiet") {
				return "" // it shows none
			}
		}
		shown, what = len(unitOK.FindAllString(text, -1))+marks(unitDots, text), "unittest"
	case tapPass.MatchString(text):
		shown, what = len(tapOK.FindAllString(text, -1)), "the runner"
	case mochaPass.MatchString(text):
		shown, what = len(mochaOK.FindAllString(text, -1)), "mocha"
	case pytestEnd.MatchString(text):
		if sums := len(pytestEnd.FindAllString(text, -1)); sums > 1 && pytest(argv) {
			return fmt.Sprintf("pytest prints one summary, and there are %d", sums)
		}
		shown = len(pytestOK.FindAllString(text, -1))
		for _, m := range pytestRow.FindAllStringSubmatch(text, -1) {
			shown += strings.Count(m[1], ".")
		}
		what = "pytest"
	default:
		return ""
	}
	if shown >= passed {
		return ""
	}
	return fmt.Sprintf("the summary of %s counts %d passed tests, and the end of %d is shown", what, passed, shown)
}

// marks counts the dots in rows of marks.
func marks(row *regexp.Regexp, text string) int {
	n := 0
	for _, line := range row.FindAllString(text, -1) {
		n += strings.Count(line, ".")
	}
	return n
}

// pytest reports a command that is pytest itself.
func pytest(argv []string) bool {
	return len(argv) > 0 && tells(argv) && slices.ContainsFunc(argv, func(a string) bool { return a == "pytest" || strings.HasSuffix(a, "/pytest") })
}
