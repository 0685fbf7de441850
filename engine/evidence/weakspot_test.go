package evidence_test

import (
	"slices"
	"strings"
	"testing"

	"vise/engine/evidence"
	"vise/engine/rule"
)

// A trial that got better while no session read the rule shows nothing about the rule.
func TestTrialThatNobodyReadDoesNotPromote(t *testing.T) {
	trial := rule.Trial{BaselineSessions: 4, BaselineBreachedSessions: 4, ObservedSessions: []string{"a", "b", "c"}}
	if v := evidence.TrialVerdict("r", &trial, 3, 0.05); v.Outcome != evidence.Promote {
		t.Errorf("reads unknown: %+v", v)
	}
	trial.TracksReads = true
	if v := evidence.TrialVerdict("r", &trial, 3, 0.05); v.Outcome != evidence.PendingStill || v.PendingReason != evidence.TrialNeverRead {
		t.Errorf("never read: %+v", v)
	}
	if evidence.ObserveRead(&trial, "elsewhere") {
		t.Error("a session outside the trial counts as a read")
	}
	if !evidence.ObserveRead(&trial, "b") || evidence.ObserveRead(&trial, "b") {
		t.Error("a read counts once")
	}
	if v := evidence.TrialVerdict("r", &trial, 3, 0.05); v.Outcome != evidence.Promote {
		t.Errorf("read once: %+v", v)
	}
	trial.BreachedSessions, trial.ReadSessions = []string{"a", "b", "c"}, nil
	if v := evidence.TrialVerdict("r", &trial, 3, 0.05); v.Outcome != evidence.Retire {
		t.Errorf("no better and never read: %+v", v)
	}
}

// A rule whose tags lost its failure signature still finds its cases in a paired test.
func TestPairedSelectionGoesByFailureSignaturesToo(t *testing.T) {
	r := rule.Rule{ID: "r", Tags: []string{"payments"}, FailureSignatures: []string{"breach:coherence"}}
	cases := []evidence.Case{{ID: "c1", Kind: evidence.Failure, Signature: []string{"breach:coherence"}, Input: &evidence.Input{Turns: []string{"x"}}},
		{ID: "c2", Kind: evidence.Failure, Signature: []string{"breach:plan_quality"}, Input: &evidence.Input{Turns: []string{"y"}}}}
	failures, _ := evidence.SelectPaired(r, cases, func(evidence.Case) bool { return false })
	if len(failures) != 1 || failures[0].ID != "c1" {
		t.Errorf("selected %+v", failures)
	}
}

// Every regression of a case is told, not only the last.
func TestEveryRegressionIsTold(t *testing.T) {
	c := evidence.Case{ID: "c", Kind: evidence.Win, Baseline: map[string]float64{"coherence": 1, "task_completion": 1}, Input: &evidence.Input{}}
	f := evidence.Case{ID: "f", Kind: evidence.Failure, Baseline: map[string]float64{"task_completion": 0.2}, Input: &evidence.Input{}}
	d := evidence.DecideReplay(rule.Rule{ID: "r"}, []evidence.Replayed{
		{Case: f, Scores: map[string]float64{"task_completion": 0.9}, Read: true},
		{Case: c, Scores: map[string]float64{"coherence": 0.5, "task_completion": 0.7}, Read: true},
	}, evidence.Margins{Promote: 0.05, Regress: 0.05})
	i := slices.IndexFunc(d.Verdict.Cases, func(x evidence.CaseResult) bool { return x.CaseID == "c" })
	if d.Verdict.Outcome != evidence.Retire || !strings.Contains(d.Verdict.Cases[i].Reason, "task_completion -0.30, coherence -0.50") {
		t.Errorf("%s: %q", d.Verdict.Outcome, d.Verdict.Cases[i].Reason)
	}
}
