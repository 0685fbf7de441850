package tui

import (
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"vise/engine/event"
	"vise/engine/patch/policy"
	"vise/engine/patch/risk"
	"vise/engine/patch/run"
	"vise/store"
	"vise/tui/action"
)

// The pane tells what no workspace has, of a proof that was cut off, and of a failure
// before the proof; a patch about which only the policy asks a person may be applied.
func TestAttemptsTellOfTheirProof(t *testing.T) {
	base := run.Run{ID: "20270114T091500Z-5c0ffee5c0de", Command: []string{"claude"}, Created: noon, Status: run.Passed, Exit: "exit status 0", Outcome: policy.Allow}
	for name, c := range map[string]struct {
		change  func(*run.Run)
		says    []string
		applies bool
	}{
		"cut off": {func(r *run.Run) { r.ProofCut = true }, []string{"cut off", "makes it"}, false},
		"entries": {func(r *run.Run) {
			r.LeftOut, r.NotTaken = []string{"node_modules/"}, map[string]string{"pipe": "neither a file nor a link"}
		}, []string{"node_modules/: ignored", "pipe: neither a file nor a link; in no workspace"}, false},
		"flaky": {func(r *run.Run) {
			r.Proof = &run.Proof{Verdict: run.Proven, Class: risk.Flaky, Repeated: true, FirstFailure: &run.Phase{Phase: run.Tests, Output: "--- FAIL: TestRound\n"}}
			r.Causes = []risk.Cause{{Code: "flaky", Detail: "TestRound"}}
			r.Route = &risk.Routed{Kind: risk.Human, Code: "boundary", Causes: r.Causes}
		}, []string{"at first, before it was proven once more", "--- FAIL: TestRound", "needs you", "a test is flaky"}, true},
		"policy": {func(r *run.Run) {
			r.Outcome = policy.Review
			r.Proof = &run.Proof{Verdict: run.NotProven, Class: risk.PolicyClass, Phases: []run.Phase{{Phase: run.Tests, Passed: true}}}
			r.Route = &risk.Routed{Kind: risk.Human, Code: "policy_not_allow"}
		}, []string{"needs you"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, false)
			d.workshop()
			r := base
			c.change(&r)
			if err := d.store.Update(t.Context(), func(tx *store.Tx) error {
				if err := tx.PutPatchRun(r); err != nil {
					return err
				}
				return tx.Emit(event.Event{Type: event.PatchProved, RunID: r.ID})
			}); err != nil {
				t.Fatal(err)
			}
			d.size(PaneAttempts, 100, 40)
			d.pump()
			p := d.panes[PaneAttempts].(*attemptsPane)
			text := ansi.Strip(strings.Join(p.Rows(), "\n"))
			for _, want := range c.says {
				if !strings.Contains(text, want) {
					t.Errorf("%q is not in\n%s", want, text)
				}
			}

			if why := p.Disabled(d.ctx, action.PatchApply); (why == "") != c.applies {
				t.Errorf("applying: %q", why)
			}
		})
	}
}
