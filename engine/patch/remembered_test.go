package patch

import (
	"slices"
	"testing"

	"vise/engine/patch/risk"
	"vise/engine/patch/run"
)

// Proving a patch again until its tests happen to pass forgets no failure: the same patch
// by the same commands stays flaky, which asks a person. Another patch, or another plan,
// starts afresh.
func TestEarlierFailuresAreRemembered(t *testing.T) {
	holds := run.Proof{Verdict: run.Proven, PatchDigest: "p", PlanDigest: "c", Phases: []run.Phase{{Phase: run.Tests, Passed: true}}}
	failed := run.Proof{Verdict: run.NotProven, Class: risk.Tests, PatchDigest: "p", PlanDigest: "c", Reasons: []string{"tests: make test exited 1"},
		FailedTests: []string{"test_up"}, Phases: []run.Phase{{Phase: run.Tests, Output: "FAILED test_up"}}}
	machine := failed
	machine.Class = risk.Environment
	other, plan := failed, failed
	other.PatchDigest, plan.PlanDigest = "q", "d"
	flaky := remembered(failed, holds)
	for name, c := range map[string]struct {
		before run.Proof
		flaky  bool
	}{"failed": {failed, true}, "failed twice, then flaky": {flaky, true}, "this machine failed": {machine, false},
		"another patch failed": {other, false}, "another plan failed": {plan, false}, "it held before": {holds, false}} {
		p := remembered(c.before, holds)
		asked := slices.ContainsFunc(doubted(nil, p), func(x risk.Cause) bool { return x.Code == "flaky" })
		if asked != c.flaky || (p.Class == risk.Flaky) != c.flaky || p.Verdict != run.Proven {
			t.Errorf("%s: asks a person %v, class %q, %s", name, asked, p.Class, p.Verdict)
		}
		if c.flaky && (p.FirstFailure == nil || p.Flaky != "tests: make test exited 1: test_up") {
			t.Errorf("%s: what failed is forgotten: %q", name, p.Flaky)
		}
	}
	if p := remembered(holds, failed); p.Flaky != "" || p.Verdict != run.NotProven {
		t.Errorf("a failure after a proof: %+v", p)
	}
}
