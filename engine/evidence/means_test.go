package evidence_test

import (
	"strings"
	"testing"

	"vise/engine/evidence"
	"vise/engine/rule"
	"vise/engine/score"
)

func judgedWin() evidence.Case {
	return evidence.Case{ID: "w", Kind: evidence.Win, Input: &evidence.Input{Turns: []string{"hello"}},
		Baseline:   map[string]float64{score.OutcomeCorrect: 1, score.TaskCompletion: 1, score.ToolCorrectness: 1},
		BaselineBy: map[string]string{score.OutcomeCorrect: "v1", score.TaskCompletion: "local/1"}}
}

// What the baseline has and a run does not is unknown; a run without calls has nothing to
// be judged by on the metrics of calls.
func TestUncompared(t *testing.T) {
	all := map[string]float64{score.OutcomeCorrect: 1, score.TaskCompletion: 1, score.ToolCorrectness: 1}
	by := map[string]string{score.OutcomeCorrect: "v1", score.TaskCompletion: "local/1", score.ToolCorrectness: "local/1"}
	without := func(metric string) map[string]float64 {
		out := map[string]float64{}
		for m, v := range all {
			if m != metric {
				out[m] = v
			}
		}
		return out
	}
	for name, x := range map[string]struct {
		scores map[string]float64
		by     map[string]string
		called bool
		want   string
	}{
		"all there":          {all, by, true, ""},
		"verifier silent":    {without(score.OutcomeCorrect), by, true, "outcome_correct was not scored"},
		"verifier edited":    {all, map[string]string{score.OutcomeCorrect: "v2", score.TaskCompletion: "local/1"}, true, "outcome_correct was scored by another evaluator (v2, before by v1)"},
		"no call, no metric": {without(score.ToolCorrectness), by, false, ""},
		"calls not scored":   {without(score.ToolCorrectness), by, true, "tool_correctness was not scored"},
	} {
		if got := strings.Join(evidence.Uncompared(judgedWin(), x.scores, x.by, x.called), ", "); got != x.want {
			t.Errorf("%s: %q, want %q", name, got, x.want)
		}
	}
}

// A result with something unknown is skipped and the run not clean; a fall that is known stays one.
func TestWithheldResultIsNotClean(t *testing.T) {
	m := seedMargins
	r := evidence.JudgeRegression(judgedWin(), map[string]float64{score.TaskCompletion: 1}, "", m)
	r.Withhold([]string{"outcome_correct was not scored"})
	fine := evidence.CaseResult{Status: evidence.StatusUnchanged}
	if totals := evidence.Totals([]evidence.CaseResult{r, fine}); r.Status != evidence.StatusSkipped || totals.Uncompared != 1 || totals.Clean() {
		t.Errorf("%+v, %+v", r, totals)
	}
	r = evidence.JudgeRegression(judgedWin(), map[string]float64{score.TaskCompletion: 0.2}, "", m)
	r.Withhold([]string{"outcome_correct was not scored"})
	if r.Status != evidence.StatusRegressed {
		t.Errorf("a fall that is known: %+v", r)
	}
}

// Turns before the last one count: their mean falls although the last turn holds.
func TestMeansOfAllTurns(t *testing.T) {
	before := evidence.TurnScores{{"task_completion": 1}, {"task_completion": 1}}
	after := evidence.TurnScores{{"task_completion": 0.4}, {"task_completion": 1, "tool_correctness": 1}}
	got := evidence.CompareMeans(before, []evidence.TurnScores{after}, []string{"task_completion", "tool_correctness"})
	if len(got) != 1 || got[0].String() != "mean task_completion 1.00 → 0.70 (worst 0.40 in turn 0)" {
		t.Fatalf("%v", got)
	}
	r := evidence.CaseResult{Status: evidence.StatusUnchanged}
	if r.WithMeans(got, seedMargins); r.Status != evidence.StatusRegressed {
		t.Errorf("%+v", r)
	}
	// One such run of three is no regression.
	three := evidence.CompareMeans(before, []evidence.TurnScores{after, before, before}, []string{"task_completion"})
	r = evidence.CaseResult{Status: evidence.StatusUnchanged}
	if r.WithMeans(three, seedMargins); r.Status != evidence.StatusUnchanged || three[0].Worst != 0.4 {
		t.Errorf("%+v", r)
	}
}

// No rule is promoted past a protected win of which something is not known.
func TestSeedDoesNotPromotePastAWinNotCompared(t *testing.T) {
	r := rule.Rule{ID: "r", Metric: score.ArgumentCorrectness, FailureSignatures: []string{"breach:argument_correctness"}}
	failure := evidence.Case{ID: "f", Kind: evidence.Failure, Signature: r.FailureSignatures, Baseline: map[string]float64{score.ArgumentCorrectness: 0.2}}
	better := evidence.Replayed{Case: failure, Read: true, Scores: map[string]float64{score.ArgumentCorrectness: 1}}
	kept := evidence.Replayed{Case: judgedWin(), Read: true, Scores: map[string]float64{score.TaskCompletion: 1}}
	if d := evidence.DecideReplay(r, []evidence.Replayed{better, kept}, seedMargins); d.Verdict.Outcome != evidence.Promote {
		t.Fatalf("all known: %+v", d)
	}
	kept.Uncompared = []string{"outcome_correct was not scored"}
	d := evidence.DecideReplay(r, []evidence.Replayed{better, kept}, seedMargins)
	if d.Verdict.Outcome != evidence.PendingStill || !strings.Contains(d.Verdict.Reason, "w (outcome_correct was not scored)") || d.Verdict.Cases[1].Status != evidence.StatusSkipped {
		t.Errorf("%+v", d.Verdict)
	}
	better.Uncompared = kept.Uncompared
	d = evidence.DecideReplay(r, []evidence.Replayed{better}, seedMargins)
	if d.Verdict.Outcome != evidence.PendingStill {
		t.Errorf("the failure's outcome is not known: %+v", d.Verdict)
	}
}

// seedMargins are those of the PandaProbe harness: 0.05 each.
var seedMargins = evidence.Margins{Promote: 0.05, Regress: 0.05}
