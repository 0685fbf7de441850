package engine_test

import (
	"slices"
	"strings"
	"testing"

	"vise/engine"
	"vise/engine/config"
	"vise/engine/event"
	"vise/engine/evidence"
	"vise/engine/rule"
	"vise/engine/trace"
	"vise/store"
)

// caseOf stores a case whose inputs are those of n good turns.
func (p *project) caseOf(id string, kind evidence.Kind, n int, baseline float64, signature ...string) evidence.Case {
	p.t.Helper()
	in := &evidence.Input{Digest: id}
	for i := range n {
		in.Turns = append(in.Turns, good(id, i).Input)
	}
	c := evidence.Case{ID: id, CreatedAt: "2026-03-01T09:00:0" + id[len(id)-1:] + "Z", SessionID: "s-" + id, Kind: kind, Signature: signature,
		Baseline: map[string]float64{"task_completion": baseline}, Input: in}
	p.update(func(tx *store.Tx) error { return tx.PutCase(c) })
	return c
}

func (p *project) update(fn func(tx *store.Tx) error) {
	p.t.Helper()
	if err := p.store.Update(p.t.Context(), fn); err != nil {
		p.t.Fatal(err)
	}
}

func (p *project) ruleOf(id string, status rule.Status, tags ...string) rule.Rule {
	p.t.Helper()
	r := rule.Rule{ID: id, CreatedAt: "2026-03-01T09:00:00Z", Text: "Mind " + id, Status: status, Scope: "global", Applicability: "global", Tags: tags}
	p.update(func(tx *store.Tx) error { return tx.PutRule(r) })
	return r
}

func (p *project) rule(id string) (r rule.Rule) {
	p.t.Helper()
	p.view(func(tx *store.Tx) (err error) {
		r, _, err = tx.Rule(id)
		return err
	})
	return r
}

// script plays the inputs of a job well, but ends badly in the runs of cases that
// ends says so for.
func script(ends func(job evidence.Job, n int) bool) *puppet {
	n := map[string]int{}
	return &puppet{play: func(job evidence.Job) (turns []trace.Turn) {
		k := n[job.CaseID]
		n[job.CaseID]++
		for i := range job.Input.Turns {
			if i == len(job.Input.Turns)-1 && ends(job, k) {
				turns = append(turns, bad(job.RunID, i))
			} else {
				turns = append(turns, good(job.RunID, i))
			}
		}
		return turns
	}}
}

func TestRegress(t *testing.T) {
	broken := true
	r := script(func(job evidence.Job, n int) bool {
		switch job.CaseID {
		case "c2":
			return broken
		case "c3":
			return n == 0 // one bad run of three
		}
		return false
	})
	p := open(t, func(_ *config.Config, o *engine.Options) { o.Replayer = r })
	p.caseOf("c1", evidence.Failure, 1, 0.2, "breach:tool_correctness")
	p.caseOf("c2", evidence.Failure, 2, 0.85, "breach:argument_correctness")
	p.caseOf("c3", evidence.Win, 2, 0.85, "win:turn-1")
	p.update(func(tx *store.Tx) error {
		return tx.PutCase(evidence.Case{ID: "c0", CreatedAt: "2026", SessionID: "s", Kind: evidence.Failure, Signature: []string{"breach:x"}})
	})
	p.ruleOf("r1", rule.Active, "breach:argument_correctness")
	p.ruleOf("r2", rule.Active, "breach:tool_correctness")
	p.ruleOf("r3", rule.Candidate, "breach:argument_correctness")

	var order []string
	got, err := p.Regress(t.Context(), 0, func(c evidence.CaseResult) { order = append(order, c.CaseID+" "+c.Status) })
	if err != nil {
		t.Fatal(err)
	}
	if want := "c3 unchanged, c2 regressed, c1 improved, c0 skipped"; strings.Join(order, ", ") != want {
		t.Errorf("results %v, want %s: wins first, one bad run of three is no regression", order, want)
	}
	if got.Clean || got.Regressed != 1 || got.Replayed != 3 || !slices.Equal(got.Flagged, []string{"r1"}) {
		t.Errorf("run %+v", got)
	}
	if x := p.rule("r1"); x.Status != rule.Active || !x.Flagged() || !slices.Equal(x.Flag.Cases, []string{"c2"}) || !strings.Contains(x.Flag.Why, "task_completion -") {
		t.Errorf("the flagged rule: %+v %+v", x.Status, x.Flag)
	}
	if p.rule("r2").Flag != nil || p.rule("r3").Flag != nil {
		t.Error("only the active rule whose case got worse is flagged")
	}
	for _, j := range r.jobs {
		if j.RuleID != "" || j.Arm != "control" {
			t.Errorf("job %+v shows a candidate", j)
		}
	}

	// A sample that does not replay the flag's case leaves the flag; one that does clears it.
	broken = false
	if got, err = p.Regress(t.Context(), 1, nil); err != nil || got.Total != 1 || len(got.Cleared) != 0 || !p.rule("r1").Flagged() {
		t.Errorf("sample of one: %+v, %v", got, err)
	}
	if got, err = p.Regress(t.Context(), 0, nil); err != nil || !got.Clean || !slices.Equal(got.Cleared, []string{"r1"}) || p.rule("r1").Flagged() {
		t.Errorf("mended: %+v, %v", got, err)
	}
	p.view(func(tx *store.Tx) error {
		last, err := tx.LastEvents(10, event.Regression, event.RuleFlagged, event.RuleCleared)
		if len(last) != 5 || last[1].Type != event.RuleCleared {
			t.Errorf("journal: %+v", last)
		}
		return err
	})
}

// What was not replayed shows nothing; a project without cases has nothing to show.
func TestRegressNothingReplayedIsNotClean(t *testing.T) {
	p := open(t, nil)
	if got, err := p.Regress(t.Context(), 0, nil); err != nil || !got.Clean {
		t.Errorf("no cases: %+v, %v", got, err)
	}
	p.caseOf("c1", evidence.Win, 1, 1)
	if got, err := p.Regress(t.Context(), 0, nil); err != nil || got.Clean || got.Skipped != 1 {
		t.Errorf("no agent: %+v, %v", got, err)
	}
	r := script(func(evidence.Job, int) bool { return false })
	r.fails = map[int]string{1: "provider"}
	q := open(t, func(_ *config.Config, o *engine.Options) { o.Replayer = r })
	q.caseOf("c1", evidence.Win, 1, 1)
	if got, err := q.Regress(t.Context(), 0, nil); err != nil || got.Clean || got.Skipped != 1 {
		t.Errorf("the provider failed: %+v, %v", got, err)
	}
}
