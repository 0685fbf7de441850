package patch

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"vise/engine/patch/risk"
	"vise/engine/patch/run"
	"vise/engine/patch/tree"
	"vise/store"
)

// summary collects the lines of a test runner's output that count tests: the
// output itself is kept only at its head and tail.
type summary struct {
	line, end, kept []byte // end is that of a line that is longer than is kept of it
	full            bool   // not all could be kept
}

// Bounds of a summary, in bytes: of one line, and of all lines that are kept.
const (
	maxSummaryLine = 4 << 10
	maxSummary     = 4 << 20
)

// countingLine are lines that count tests, and lines that show the end of one.
var countingLine = regexp.MustCompile(`^(?:=== RUN |\s*--- (?:PASS|FAIL): |test result: |running \d+ tests?\b|test .* \.\.\. |Ran \d+ tests? in |(?:OK|FAILED)(?: \(|\s*$)|(?:#|ℹ) (?:pass|fail) \d|\s*\d+ (?:passing|failing)\b|` +
	`\s*(?:not )?ok \d|\s*[✔✓√✖×] |(?:\S+ )?[.FEsxXu]+(?:\s+\[[ \d%]+\])?\s*$|=*\s*\d+ (?:failed|passed|errors?|skipped)\b.* in |test\w* \(.*\) \.\.\. )|\bok\s*$|\bPASSED\b`)

func (s *summary) add(text []byte) {
	for part := range bytes.Lines(text) {
		room := min(len(part), maxSummaryLine-len(s.line))
		s.line = append(s.line, part[:room]...)
		if s.end = append(s.end, part[room:]...); len(s.end) > 64 {
			s.end = append(s.end[:0], s.end[len(s.end)-64:]...)
		}
		if part[len(part)-1] != '\n' {
			return
		}
		line := append(s.line, s.end...)
		runLine := bytes.HasPrefix(line, []byte("=== RUN ")) && len(s.kept) > 0 // one of them tells enough
		if !runLine && countingLine.Match(line) {
			if len(s.kept)+len(line) < maxSummary {
				s.kept = append(append(s.kept, bytes.TrimRight(line, "\r\n")...), '\n')
			} else {
				s.full = true
			}
		}
		s.line, s.end = s.line[:0], s.end[:0]
	}
}

// count reads how many tests a test command ran, and whether that can be believed.
func count(f *run.Phase, argv []string, marks *goMarks, lines summary) {
	if marks != nil {
		if marks.runs == 0 && !f.Passed {
			return // it does not build, say
		}
		passed, total := marks.passed, marks.passed+marks.failed
		f.TestsPassed, f.TestsTotal = &passed, &total
		if lost := marks.runs - total - marks.skipped; f.Passed && lost > 0 {
			f.TestsDoubt = fmt.Sprintf("%d of its tests began and did not end", lost)
		}
		return
	}
	text := f.Output
	report := ReadTests(text)
	if whole := ReadTests(string(lines.kept)); f.OutputBytes > maxPhase && whole.Total != nil {
		report, text = whole, string(lines.kept) // what is kept lacks its middle
	}
	f.TestsPassed, f.TestsTotal = report.Passed, report.Total
	if report.Passed != nil && f.Passed && !lines.full {
		f.TestsDoubt = doubt(argv, text, *report.Passed)
	}
}

// ran adds up the tests that ran in the test phases; nil when no runner said.
func ran(phases []run.Phase) *int {
	var sum *int
	for _, f := range phases {
		if f.Phase == run.Tests && f.TestsTotal != nil {
			if sum == nil {
				sum = new(int)
			}
			*sum += *f.TestsTotal
		}
	}
	return sum
}

// baseTests counts the tests that run on the bare base, whether they pass or not, and
// returns why that count cannot be trusted, if it cannot. An earlier proof of the same
// base by the same plan is believed. nil when no runner says.
func (b *Bench) baseTests(ctx context.Context, r run.Run, base *tree.Tree, pl run.Plan, digest string, how proving) (known *int, doubt string, err error) {
	err = b.o.Store.View(func(tx *store.Tx) error {
		all, err := tx.PatchRuns(store.Window{})
		for _, o := range all {
			if o.BaseDigest == r.BaseDigest && o.Proof != nil && o.Proof.PlanDigest == digest && o.Proof.BaseTests != nil {
				known, doubt = o.Proof.BaseTests, o.Proof.BaseDoubt
			}
		}
		return err
	})
	if err != nil || known != nil {
		return known, doubt, err
	}
	phases, err := b.onBase(ctx, r, base, pl, how)
	if err != nil {
		return nil, "", err
	}
	return ran(phases), doubtOf(phases), nil
}

// doubtOf is the first doubt about a count.
func doubtOf(phases []run.Phase) string {
	for _, f := range phases {
		if f.TestsDoubt != "" {
			return f.TestsDoubt
		}
	}
	return ""
}

// flakyCause is the cause of a test that failed, and then passed.
func flakyCause(what string) risk.Cause { return risk.Cause{Code: "flaky", Detail: what} }

// doubted replaces the causes that a proof gives: the patch changes what its tests are;
// fewer tests ran than on the base, or none, or nobody can tell; their count cannot
// be trusted; one failed at first. A run that does not say how many ran, where the base's
// did, counts as fewer. Commands that a person named in the policy may prove
// whatever they do, unless they are runners that always say how many ran.
func doubted(causes []risk.Cause, p run.Proof) []risk.Cause {
	causes = slices.DeleteFunc(slices.Clone(causes), func(c risk.Cause) bool {
		return slices.Contains([]string{"fewer_tests", "no_tests", "count_doubted", "plan_changed", "flaky"}, c.Code)
	})
	for _, path := range p.PlanKept {
		causes = append(causes, risk.Cause{Code: "plan_changed", Path: path})
	}
	if !p.Passes() {
		return causes
	}
	if p.Flaky != "" {
		causes = append(causes, flakyCause(p.Flaky))
	}
	if d := doubtOf(p.Phases); d != "" && p.BaseDoubt == "" {
		causes = append(causes, risk.Cause{Code: "count_doubted", Detail: d})
	}
	n := ran(p.Phases)
	now := 0
	if n != nil {
		now = *n
	}
	switch {
	case p.BaseTests != nil && now < *p.BaseTests:
		return append(causes, risk.Cause{Code: "fewer_tests", Detail: fmt.Sprintf("%d of %d", now, *p.BaseTests)})
	case now > 0, n == nil && p.PlanSource == "policy" && !slices.ContainsFunc(p.Plan.Tests, tells):
		return causes
	case n == nil && !slices.ContainsFunc(p.Plan.Tests, tells):
		return append(causes, risk.Cause{Code: "no_tests", Detail: "nothing says how many tests ran; name the commands in proof.tests of the policy if they prove enough"})
	}
	return append(causes, risk.Cause{Code: "no_tests", Detail: "no test ran, so nothing was proven"})
}

// tells reports a test runner that always says how many tests ran.
func tells(argv []string) bool {
	if len(argv) == 0 {
		return false
	}
	program := filepath.Base(argv[0])
	switch {
	case program == "go":
		return goTest(argv) && !tellsEvents(argv)
	case program == "cargo":
		return len(argv) > 1 && argv[1] == "test"
	case strings.HasPrefix(program, "python"):
		return len(argv) > 2 && argv[1] == "-m" && (argv[2] == "unittest" || argv[2] == "pytest" && !quiet(argv))
	case program == "uv":
		return slices.Contains(argv, "pytest") && !quiet(argv)
	}
	return program == "pytest" && !quiet(argv)
}

// quiet reports options of pytest under which it prints no summary.
func quiet(argv []string) bool {
	n := 0
	for _, a := range argv {
		switch {
		case a == "--quiet" || a == "--no-summary":
			n++
		case len(a) > 1 && a[0] == '-' && strings.Trim(a[1:], "q") == "":
			n += len(a) - 1
		}
	}
	return n > 1
}
