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
	"vise/engine/validate"
	"vise/store"
)

// Rules in force are tested again by leaving each out: one that still helps is
// confirmed, one that does not help any more is flagged and stays in force.
func TestActiveRulesAreTestedAgain(t *testing.T) {
	helps := map[string]bool{"r-good": true, "r-old": false}
	about := map[string]string{"c1": "r-good", "c2": "r-old"}
	sees := func(job evidence.Job, id string) bool {
		return slices.ContainsFunc(job.Rules, func(r rule.Rule) bool { return r.ID == id })
	}
	r := script(func(job evidence.Job, _ int) bool { id := about[job.CaseID]; return !(helps[id] && sees(job, id)) })
	r.reads = func(job evidence.Job) (ids []string) {
		for _, x := range job.Rules {
			ids = append(ids, x.ID)
		}
		return ids
	}
	p := open(t, func(_ *config.Config, o *engine.Options) { o.Replayer = r })
	for id, signature := range map[string]string{"c1": "breach:argument_correctness", "c2": "breach:tool_correctness"} {
		c := p.caseOf(id, evidence.Failure, 1, 0, signature)
		turn := bad("x", 0)
		turn.SessionID = "s-" + id
		p.run(t, turn.SessionID, turn) // what the case was captured from
		p.view(func(tx *store.Tx) error {
			report, _, err := tx.Report(turn.SessionID, 0)
			c.Baseline, c.BaselineBy = report.Baseline(), report.BaselineBy()
			delete(c.Baseline, "step_efficiency")
			return err
		})
		c.Input.Turns = []string{turn.Input}
		p.update(func(tx *store.Tx) error { return tx.PutCase(c) })
	}
	p.update(func(tx *store.Tx) error { // those that the runs above were captured as are not part of this
		all, err := tx.Cases("")
		for _, c := range all {
			if c.ID != "c1" && c.ID != "c2" {
				if err := tx.DeleteCase(c.ID); err != nil {
					return err
				}
			}
		}
		return err
	})
	p.ruleOf("r-good", rule.Active, "breach:argument_correctness")
	p.ruleOf("r-old", rule.Active, "breach:tool_correctness")
	p.update(func(tx *store.Tx) error {
		x, _, err := tx.Rule("r-good")
		x.Flag = &rule.Flag{Why: "looked bad"}
		if err != nil {
			return err
		}
		return tx.PutRule(x)
	})

	round, err := p.ValidateActives(t.Context(), validate.Options{})
	if err != nil || round.Confirmed != 1 || round.Flagged != 1 || round.Retired != 0 || len(round.Verdicts) != 2 {
		t.Fatalf("round %+v, %v", round, err)
	}
	if x := p.rule("r-good"); x.Status != rule.Active || x.Flag != nil || x.VerdictID == "" {
		t.Errorf("confirmed: %+v", x)
	}
	if x := p.rule("r-old"); !x.Flagged() || !strings.Contains(x.Flag.Why, "a new test found: no improvement") {
		t.Errorf("not confirmed: %+v %+v", x.Status, x.Flag)
	}
	for _, v := range round.Verdicts {
		if v.Validator != "retest" || v.Evidence != "deterministic" || v.Identity == nil {
			t.Errorf("verdict %+v", v)
		}
	}
	p.view(func(tx *store.Tx) error {
		why, err := tx.Expired(p.rule("r-good"))
		if why != "" {
			t.Errorf("the new verdict has expired at once: %s", why)
		}
		return err
	})

	// A second test makes runs of its own.
	before := len(r.jobs)
	if _, err := p.ValidateActives(t.Context(), validate.Options{Rules: []string{"r-good"}}); err != nil || len(r.jobs) == before {
		t.Errorf("tested again with %d new runs, %v", len(r.jobs)-before, err)
	}
	seeds := map[string]bool{}
	for _, j := range r.jobs {
		if seeds[j.Seed] {
			t.Errorf("the seed %s was used twice", j.Seed)
		}
		seeds[j.Seed] = true
	}
}

// A queued test is made by the next validation until idle, once.
func TestQueuedRetest(t *testing.T) {
	r := script(func(evidence.Job, int) bool { return true })
	p := open(t, func(_ *config.Config, o *engine.Options) { o.Replayer = r })
	p.ruleOf("r-1", rule.Active, "breach:tool_correctness")
	p.ruleOf("r-2", rule.Candidate)
	if err := p.QueueRetest(t.Context(), "r-2"); err == nil || !strings.Contains(err.Error(), "only active rules") {
		t.Errorf("a candidate is queued: %v", err)
	}
	for range 2 {
		if err := p.QueueRetest(t.Context(), "r-1"); err != nil {
			t.Fatal(err)
		}
	}
	waiting := func() (ids []string) {
		p.view(func(tx *store.Tx) (err error) { ids, err = engine.Retests(tx); return err })
		return ids
	}
	if got := waiting(); !slices.Equal(got, []string{"r-1"}) {
		t.Fatalf("queue %v", got)
	}
	rounds, err := p.ValidateUntilIdle(t.Context())
	if err != nil || len(rounds) == 0 || rounds[len(rounds)-1].Verdicts[0].RuleID != "r-1" {
		t.Fatalf("rounds %+v, %v", rounds, err)
	}
	if got := waiting(); len(got) != 0 {
		t.Errorf("after the test %v wait", got)
	}
	p.view(func(tx *store.Tx) error {
		last, err := tx.LastEvents(5, event.RetestQueued)
		if len(last) != 1 {
			t.Errorf("journal %+v", last)
		}
		return err
	})
}

// Paired evidence of harm retires a rule in force.
func TestHarmfulActiveRuleIsRetired(t *testing.T) {
	r := script(func(job evidence.Job, _ int) bool { return job.Arm == "treatment" })
	r.reads = func(evidence.Job) []string { return []string{"r-bad"} }
	p := open(t, func(cfg *config.Config, o *engine.Options) { o.Replayer, cfg.Validate.Evidence = r, "paired" })
	p.caseOf("c1", evidence.Failure, 1, 0.2, "breach:task_completion")
	p.ruleOf("r-bad", rule.Active, "breach:task_completion")
	round, err := p.ValidateActives(t.Context(), validate.Options{})
	if err != nil || round.Retired != 1 {
		t.Fatalf("round %+v, %v", round, err)
	}
	x := p.rule("r-bad")
	if x.Status != rule.Retired || x.VerdictID != round.Verdicts[0].ID || !round.Verdicts[0].Applied {
		t.Errorf("rule %+v", x)
	}
}
