package patch

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"vise/engine/patch/risk"
	"vise/engine/patch/run"
	"vise/engine/patch/tree"
	"vise/store"
)

// summary collects the lines of a test runner's output that count tests: the
// output itself is kept only at its head and tail.
type summary struct {
	line, kept []byte
}

// Bounds of a summary, in bytes: of one line, and of all lines that are kept.
const (
	maxSummaryLine = 4 << 10
	maxSummary     = 4 << 20
)

var countingLine = regexp.MustCompile(`^(?:=== RUN |\s*--- (?:PASS|FAIL): |test result: |Ran \d+ tests? in |(?:OK|FAILED)(?: \(|\s*$)|(?:#|ℹ) (?:pass|fail) \d|\s*\d+ (?:passing|failing)\b)`)

func (s *summary) add(text []byte) {
	for part := range bytes.Lines(text) {
		s.line = append(s.line, part[:min(len(part), maxSummaryLine-min(maxSummaryLine, len(s.line)))]...)
		if part[len(part)-1] != '\n' {
			return
		}
		runLine := bytes.HasPrefix(s.line, []byte("=== RUN ")) && len(s.kept) > 0 // one of them tells enough
		if !runLine && countingLine.Match(s.line) && len(s.kept)+len(s.line) < maxSummary {
			s.kept = append(append(s.kept, bytes.TrimRight(s.line, "\r\n")...), '\n')
		}
		s.line = s.line[:0]
	}
}

// verbose makes go test name the tests that pass: without it nothing tells how
// many ran.
func verbose(tests [][]string) [][]string {
	out := slices.Clone(tests)
	for i, argv := range out {
		if len(argv) < 2 || filepath.Base(argv[0]) != "go" || argv[1] != "test" {
			continue
		}
		if !slices.ContainsFunc(argv, func(a string) bool {
			return a == "-v" || a == "--v" || a == "-json" || a == "--json" || len(a) > 2 && a[:3] == "-v="
		}) {
			out[i] = slices.Insert(slices.Clone(argv), 2, "-v")
		}
	}
	return out
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

// baseTests counts the tests that run on the bare base, whether they pass or not.
// An earlier proof of the same base by the same plan is believed. nil when no
// runner says.
func (b *Bench) baseTests(ctx context.Context, r run.Run, base *tree.Tree, pl run.Plan, digest string, limit time.Duration) (*int, error) {
	var known *int
	err := b.o.Store.View(func(tx *store.Tx) error {
		all, err := tx.PatchRuns(store.Window{})
		for _, o := range all {
			if o.BaseDigest == r.BaseDigest && o.Proof != nil && o.Proof.PlanDigest == digest && o.Proof.BaseTests != nil {
				known = o.Proof.BaseTests
			}
		}
		return err
	})
	if err != nil || known != nil {
		return known, err
	}
	phases, err := b.onBase(ctx, r, base, pl, limit)
	if err != nil {
		return nil, err
	}
	return ran(phases), nil
}

// fewer replaces the cause that a proof gives: fewer tests ran than on the base, or
// none, or nobody can tell. A run that does not say how many ran, where the base's
// did, counts as fewer. Commands that a person named in the policy may prove
// whatever they do, unless they are runners that always say how many ran.
func fewer(causes []risk.Cause, p run.Proof) []risk.Cause {
	causes = slices.DeleteFunc(slices.Clone(causes), func(c risk.Cause) bool { return c.Code == "fewer_tests" || c.Code == "no_tests" })
	if !p.Passes() {
		return causes
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
		return len(argv) > 1 && argv[1] == "test" && !slices.ContainsFunc(argv, func(a string) bool {
			return strings.HasPrefix(strings.TrimLeft(a, "-"), "json")
		})
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
