package patch

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"vise/engine/guard"
	"vise/engine/patch/run"
)

var (
	passedCount = regexp.MustCompile(`(?i)(\d+)\s+passed`)
	failedCount = regexp.MustCompile(`(?i)(\d+)\s+failed`)
)

func number(re *regexp.Regexp, s string) *int {
	m := re.FindStringSubmatch(s)
	if m == nil {
		return nil
	}
	n, err := strconv.Atoi(m[1])
	if err != nil {
		return nil
	}
	return &n
}

// numbers is the sum of all numbers that a pattern finds; nil when it finds none.
func numbers(re *regexp.Regexp, s string) *int {
	found := re.FindAllStringSubmatch(s, -1)
	if found == nil {
		return nil
	}
	sum := 0
	for _, m := range found {
		sum += atoi(m[1])
	}
	return &sum
}

// Report is what a test runner's output says.
type Report struct {
	Passed, Total *int // nil when it does not say
	// Failed are the names of failing tests, in order, each once, at most maxFailed.
	Failed []string
}

const maxFailed = 50

// Lines by which runners name a failing test, each with the name in its group.
var failedLines = []*regexp.Regexp{
	regexp.MustCompile(`(?m)^\s*--- FAIL: (\S+)`),                        // go test
	regexp.MustCompile(`(?m)^FAILED ([^\s(]\S*?)(?: - .*)?$`),            // pytest -ra, the summary of its default
	regexp.MustCompile(`(?m)^(?:FAIL|ERROR): (\S+ \([^)\n]+\))`),         // unittest
	regexp.MustCompile(`(?m)^test (\S+) \.\.\. FAILED`),                  // cargo test
	regexp.MustCompile(`(?m)^\s*not ok \d+ (?:- )?(.+?)\s*(?:#.*)?$`),    // TAP, node --test
	regexp.MustCompile(`(?m)^\s*● (.+ › .+|\S.+)$`),                      // jest
	regexp.MustCompile(`(?m)^\s*(?:×|✗|FAIL)\s+(\S+ > .+?)(?: \d+ms)?$`), // vitest
	regexp.MustCompile(`(?m)^\[  FAILED  \] (\w+\.\w+)`),                 // googletest
	regexp.MustCompile(`(?m)^FAIL\t(\S+) \[(?:build|setup) failed\]`),    // go test, a package that does not build
	regexp.MustCompile(`(?m)^\[ERROR\]\s+(\w+(?:\.\w+)*:\d+|\w+\.\w+) `), // maven
}

var (
	goRun      = regexp.MustCompile(`(?m)^=== RUN `)
	goPass     = regexp.MustCompile(`(?m)^\s*--- PASS: \S+`)
	goFail     = regexp.MustCompile(`(?m)^--- FAIL: \S+`)
	pytestLine = regexp.MustCompile(`(?m)^=*\s*(?:.*?\b\d+ (?:failed|passed|error)).*$`)
	pytestEnd  = regexp.MustCompile(`(?m)^=*\s*\d+ (?:failed|passed|errors?|skipped|deselected|xfailed|xpassed|warnings?)\b.* in [\d.]+s\b.*$`)
	errorCount = regexp.MustCompile(`(?i)(\d+)\s+errors?\b`)
	// A summary of unittest is two lines; one of them alone is the program's own text.
	unitRan   = regexp.MustCompile(`(?m)^Ran (\d+) tests? in .*\s+^(?:OK|FAILED)(?: \((.*)\))?\s*$`)
	equals    = regexp.MustCompile(`(failures|errors|unexpected successes|skipped|expected failures)=(\d+)`)
	cargoLine = regexp.MustCompile(`(?m)^test result: \w+\. (\d+) passed; (\d+) failed`)
	tapPass   = regexp.MustCompile(`(?m)^(?:#|ℹ) pass (\d+)`)
	mochaPass = regexp.MustCompile(`(?m)^\s*(\d+) passing\b`)
	mochaFail = regexp.MustCompile(`(?m)^\s*(\d+) failing\b`)
	tapFail   = regexp.MustCompile(`(?m)^(?:#|ℹ) fail (\d+)`)
)

// ReadTests reads the counts and the names of failing tests from the output of go
// test, pytest, unittest, cargo test, jest, vitest, TAP and others. Several
// summaries (one per package or crate) are added up.
func ReadTests(output string) Report {
	var r Report
	seen := map[string]bool{}
	for _, re := range failedLines {
		for _, m := range re.FindAllStringSubmatch(output, -1) {
			name := guard.Line(m[1], 200)
			if name != "" && !seen[name] && len(r.Failed) < maxFailed {
				seen[name] = true
				r.Failed = append(r.Failed, name)
			}
		}
	}
	sum := func(passed, failed int) { r.Passed, r.Total = &passed, new(int); *r.Total = passed + failed }
	if m := cargoLine.FindAllStringSubmatch(output, -1); m != nil {
		p, f := 0, 0
		for _, x := range m {
			p, f = p+atoi(x[1]), f+atoi(x[2])
		}
		sum(p, f)
	} else if m := unitRan.FindAllStringSubmatch(output, -1); m != nil {
		passed, failed := 0, 0
		for _, one := range m {
			bad, left := 0, 0 // a test that is skipped, or may fail, shows nothing
			for _, x := range equals.FindAllStringSubmatch(one[2], -1) {
				if x[1] == "skipped" || x[1] == "expected failures" {
					left += atoi(x[2])
				} else {
					bad += atoi(x[2])
				}
			}
			passed, failed = passed+max(0, atoi(one[1])-bad-left), failed+bad
		}
		sum(passed, failed)
	} else if p, f := numbers(tapPass, output), numbers(tapFail, output); p != nil && f != nil {
		sum(*p, *f)
	} else if p := numbers(mochaPass, output); p != nil {
		f := numbers(mochaFail, output)
		if f == nil {
			f = new(int)
		}
		sum(*p, *f)
	} else if lines := pytestEnd.FindAllString(output, -1); len(lines) > 1 {
		passed, failed := 0, 0
		for _, line := range lines {
			for _, re := range []*regexp.Regexp{failedCount, errorCount} {
				if n := number(re, line); n != nil {
					failed += *n
				}
			}
			if n := number(passedCount, line); n != nil {
				passed += *n
			}
		}
		sum(passed, failed)
	} else if p, f := len(goPass.FindAllString(output, -1)), len(goFail.FindAllString(output, -1)); p+f > 0 {
		if p > 0 || goRun.MatchString(output) { // without -v, passing tests are not named
			sum(p, f)
		}
	} else if lines := pytestLine.FindAllString(output, -1); lines != nil {
		last := lines[len(lines)-1]
		p, f := number(passedCount, last), number(failedCount, last)
		if e := number(errorCount, last); e != nil {
			if f == nil {
				f = new(int)
			}
			*f += *e
		}
		if p != nil || f != nil {
			zero := new(int)
			if p == nil {
				p = zero
			}
			if f == nil {
				f = zero
			}
			sum(*p, *f)
		}
	}
	slices.Sort(r.Failed)
	return r
}

func atoi(s string) int { n, _ := strconv.Atoi(s); return n }

var (
	volatile  = regexp.MustCompile(`0x[0-9a-fA-F]+|\b[0-9a-f]{12,}\b|\d+(?:\.\d+)?|/[^\s:"']*`)
	errorLine = regexp.MustCompile(`(?i)error|fail|panic|assert|undefined|expected|exception|cannot|not found`)
)

// signature reduces a failure to what is the same when it happens again: the
// phase, the failing tests, and without names the first lines that tell of an
// error, without numbers, addresses and paths.
func signature(phase string, failed []string, output string) string {
	parts := append([]string{phase}, failed...)
	if len(failed) == 0 {
		n := 0
		for line := range strings.Lines(output) {
			if errorLine.MatchString(line) {
				parts = append(parts, volatile.ReplaceAllString(strings.TrimSpace(line), "#"))
				if n++; n == 5 {
					break
				}
			}
		}
	}
	return run.Sum([]byte(strings.Join(parts, "\n")))[:16]
}
