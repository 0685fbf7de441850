package evidence_test

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"vise/engine/event"
	"vise/engine/evidence"
	"vise/engine/rule"
	"vise/engine/score"
)

func failure(id string) evidence.Case {
	return evidence.Case{ID: id, CreatedAt: id, Kind: evidence.Failure, Signature: []string{"regression:task_completion"},
		Baseline: map[string]float64{score.TaskCompletion: 0.3, score.ArgumentCorrectness: 0.3}, Input: &evidence.Input{Turns: []string{"hello"}}}
}

func win(id string) evidence.Case {
	c := failure(id)
	c.Kind, c.Signature, c.Baseline = evidence.Win, nil, map[string]float64{score.TaskCompletion: 1, score.StepEfficiency: 1}
	return c
}

var refund = rule.Rule{ID: "r-1", Metric: score.ArgumentCorrectness, Tags: []string{"regression:task_completion"}}

func TestDecideReplay(t *testing.T) {
	good := map[string]float64{score.TaskCompletion: 1, score.ArgumentCorrectness: 1}
	same := map[string]float64{score.TaskCompletion: 0.3, score.ArgumentCorrectness: 0.3}
	for _, c := range []struct {
		name    string
		replays []evidence.Replayed
		outcome evidence.Outcome
		reason  string
		status  string // of the last case
	}{
		{"nothing to replay", nil, evidence.PendingStill, evidence.NoReplayableCase, ""},
		{"a win alone decides nothing", []evidence.Replayed{{Case: win("w"), Scores: good, Read: true}}, evidence.PendingStill, evidence.NoReplayableCase, ""},
		{"read and better", []evidence.Replayed{{Case: failure("c"), Scores: good, Read: true}}, evidence.Promote, "", evidence.StatusImproved},
		{"read and no better", []evidence.Replayed{{Case: failure("c"), Scores: same, Read: true}}, evidence.Retire, "", evidence.StatusNoGain},
		{"better but unread", []evidence.Replayed{{Case: failure("c"), Scores: good}}, evidence.PendingStill, evidence.CandidateNotExercised, evidence.CandidateNotExercised},
		{"infrastructure says nothing", []evidence.Replayed{{Case: failure("c"), Read: true, Infrastructure: "agent_exited", Error: "exit 1"}},
			evidence.PendingStill, evidence.ReplayInconclusive, evidence.StatusInconclusive},
		{"a win that regresses outweighs a gain", []evidence.Replayed{{Case: failure("c"), Scores: good, Read: true},
			{Case: win("w"), Scores: map[string]float64{score.TaskCompletion: 1, score.StepEfficiency: 0.5}, Read: true}}, evidence.Retire, "", evidence.StatusRegressed},
		{"a foreign metric may fall on a failure", []evidence.Replayed{{Case: failure("c"),
			Scores: map[string]float64{score.ArgumentCorrectness: 1, score.Coherence: 0}, Read: true}}, evidence.Promote, "", evidence.StatusImproved},
	} {
		d := evidence.DecideReplay(refund, c.replays, seedMargins)
		status := ""
		if n := len(d.Verdict.Cases); n > 0 {
			status = d.Verdict.Cases[n-1].Status
		}
		if d.Verdict.Outcome != c.outcome || d.Verdict.PendingReason != c.reason || status != c.status || d.Verdict.Reason == "" {
			t.Errorf("%s: %s/%s, last case %q (%s); want %s/%s, %q", c.name, d.Verdict.Outcome, d.Verdict.PendingReason, status, d.Verdict.Reason, c.outcome, c.reason, c.status)
		}
	}
}

// A verdict that goes against the rule's own metric says which one overruled it.
func TestOverrulingMetricIsNamed(t *testing.T) {
	c := failure("c")
	c.Baseline = map[string]float64{score.OutcomeCorrect: 0.3, score.ArgumentCorrectness: 0.27}
	d := evidence.DecideReplay(refund, []evidence.Replayed{{Case: c, Scores: map[string]float64{score.OutcomeCorrect: 0.3, score.ArgumentCorrectness: 1}, Read: true}}, seedMargins)
	if want := "no improvement on c (outcome_correct +0.00 decides; it is trusted before argument_correctness +0.73)"; d.Verdict.Reason != want || d.Verdict.Outcome != evidence.Retire {
		t.Errorf("%s: %s", d.Verdict.Outcome, d.Verdict.Reason)
	}
}

// TestUnreadReplaysNeverDecide: without a read no replay promotes or retires.
func TestUnreadReplaysNeverDecide(t *testing.T) {
	values := rapid.MapOf(rapid.SampledFrom(score.Metrics()), rapid.Float64Range(0, 1))
	rapid.Check(t, func(t *rapid.T) {
		var replays []evidence.Replayed
		for i := range rapid.IntRange(0, 5).Draw(t, "n") {
			c := failure(fmt.Sprint(i))
			if rapid.Bool().Draw(t, "win") {
				c = win(fmt.Sprint(i))
			}
			c.Baseline = values.Draw(t, "baseline")
			replays = append(replays, evidence.Replayed{Case: c, Scores: values.Draw(t, "scores"), WaitTimedOut: rapid.Bool().Draw(t, "waited")})
		}
		if d := evidence.DecideReplay(refund, replays, seedMargins); d.Verdict.Outcome != evidence.PendingStill {
			t.Fatalf("%s: %s", d.Verdict.Outcome, d.Verdict.Reason)
		}
	})
}

func TestBaselineWindow(t *testing.T) {
	var events []event.Event
	for i := range 300 {
		events = append(events, event.Event{Type: event.Recovery, SessionID: fmt.Sprint("s", i)}, event.Event{Type: event.Skip, SessionID: "skipped"})
	}
	events[0] = event.Event{Type: event.Notice, SessionID: "s0", Data: map[string]any{"signatures": []any{"breach:task_completion", 7}}}
	trial := evidence.Baseline(events, score.TaskCompletion)
	if trial.BaselineWindow != evidence.BaselineWindow || trial.BaselineSessions != 200 || trial.BaselineBreachedSessions != 1 {
		t.Errorf("baseline %+v", trial)
	}
	if other := evidence.Baseline(events, score.Coherence); other.BaselineBreachedSessions != 0 {
		t.Errorf("a notice about another metric counts: %+v", other)
	}
}

func TestAdmitNeverEvictsWins(t *testing.T) {
	stored := []evidence.Case{win("w1"), win("w2")}
	stored[1].SessionID = "other"
	got := evidence.Admit(stored, evidence.Case{ID: "c", SessionID: "new", Kind: evidence.Failure, Signature: []string{"b:x", "a:x", "b:x"}}, 2)
	if !got.Refused {
		t.Errorf("Admit = %+v, want refused", got)
	}
	got = evidence.Admit(stored, evidence.Case{ID: "c", Signature: []string{"b:x", "a:x", "b:x"}}, 0)
	if !got.New || fmt.Sprint(got.Case.Signature) != "[a:x b:x]" {
		t.Errorf("Admit = %+v", got)
	}
}

// TestNoSessionBeforeTheRule: what was not there is not told as a share.
func TestNoSessionBeforeTheRule(t *testing.T) {
	v := evidence.TrialVerdict("r-1", &rule.Trial{ObservedSessions: []string{"a", "b"}}, 2, 0.05)
	if v.Outcome != evidence.Promote || strings.Contains(v.Reason, "100 %") || !strings.Contains(v.Reason, "none to compare with") {
		t.Errorf("%s: %s", v.Outcome, v.Reason)
	}
}
