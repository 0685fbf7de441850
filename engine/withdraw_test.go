package engine_test

import (
	"context"
	"testing"
	"time"

	"vise/engine"
	"vise/engine/config"
	"vise/engine/evidence"
	"vise/engine/rule"
)

// stuckOn is an agent whose replays of a rule never end by themselves.
type stuckOn struct {
	*puppet
	rule   string
	inside chan struct{}
}

func (s *stuckOn) Replay(ctx context.Context, job evidence.Job) (evidence.Run, error) {
	if job.RuleID != s.rule {
		return s.puppet.Replay(ctx, job)
	}
	select {
	case s.inside <- struct{}{}:
	default:
	}
	<-ctx.Done()
	return evidence.Run{}, context.Cause(ctx)
}

// Who retires a rule while it is tested ends its test; the round goes on with the others.
func TestARetiredRuleIsTestedNoFurther(t *testing.T) {
	s := &stuckOn{puppet: script(func(evidence.Job, int) bool { return true }), rule: "r-1", inside: make(chan struct{}, 1)}
	p := open(t, func(cfg *config.Config, o *engine.Options) { o.Replayer, cfg.Validate.Evidence = s, "seed" })
	p.caseOf("c1", evidence.Failure, 1, 0.2, "breach:task_completion")
	p.ruleOf("r-1", rule.Candidate, "breach:task_completion")
	p.ruleOf("r-2", rule.Candidate, "breach:task_completion")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	type ended struct {
		verdicts []evidence.Verdict
		err      error
	}
	done := make(chan ended, 1)
	go func() {
		round, err := p.Validate(ctx)
		done <- ended{round.Verdicts, err}
	}()
	select {
	case <-s.inside:
	case got := <-done:
		t.Fatalf("the round ended without a replay: %+v", got)
	}
	if err := p.RetireRule(t.Context(), "r-1", "not what I want"); err != nil {
		t.Fatal(err)
	}
	got := <-done
	if got.err != nil || len(got.verdicts) != 1 || got.verdicts[0].RuleID != "r-2" {
		t.Errorf("the round ended with %+v, %v", got.verdicts, got.err)
	}
}
