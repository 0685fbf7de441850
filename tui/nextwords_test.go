package tui

import (
	"strings"
	"testing"

	"vise/engine/evidence"
	"vise/engine/rule"
)

// Validation advises what can be done in the workbench, for the rule as it is now.
func TestNextIsWhatWorksHere(t *testing.T) {
	d := worked(t)
	d.size(PaneValidation, 160, 40)
	p := d.panes[PaneValidation].(*validationPane)
	p.data.found, p.data.rule.Status = true, rule.Active
	own := evidence.Verdict{RuleID: "r-1", Outcome: evidence.Promote, OwnCaseOnly: true}
	if got := p.next(own); strings.Contains(got, "vise replay") || !strings.HasSuffix(got, "J in 1 Sessions.") {
		t.Errorf("active: %q", got)
	}
	p.data.rule.Status = rule.Candidate
	if got := p.next(own); !strings.Contains(got, "a candidate again since: V tests it anew") {
		t.Errorf("a candidate again: %q", got)
	}
	p.data.rule.Status = rule.Retired
	if got := p.next(own); !strings.Contains(got, "U in 6 Rules makes it a candidate") {
		t.Errorf("retired: %q", got)
	}
}
