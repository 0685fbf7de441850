package gate_test

import (
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"

	"vise/engine/gate"
	"vise/engine/score"
)

func at(v float64) *float64 { return &v }

// seedGate is the gate of the PandaProbe harness: window 5, target 0.5, gain
// 0.02, drop 0.15, no starting peak.
func seedGate() gate.Config { return gate.Config{Window: 5, Target: 0.5, Gain: 0.02, Drop: 0.15} }

// seedLadder is the tiers of the PandaProbe harness.
func seedLadder() gate.Ladder {
	return gate.Ladder{
		Tier1: []string{score.TaskCompletion, score.Coherence},
		Tier2: []string{score.ToolCorrectness, score.ArgumentCorrectness},
		Tier3: []string{score.PlanAdherence, score.PlanQuality, score.StepEfficiency},
		Gate:  seedGate(),
	}
}

func TestStartPeakMakesABadFirstTurnARegression(t *testing.T) {
	c := seedGate()
	if _, f := gate.Fold(c, gate.State{}, at(0.4)); f.Fired() {
		t.Errorf("without a starting peak the first value cannot fire: %+v", f)
	}
	c.StartPeak = at(1)
	for v, want := range map[float64]bool{1: false, 0.85: false, 0.84: true, 0: true} {
		s, f := gate.Fold(c, gate.State{}, at(v))
		if f.Regressed != want || f.Stalled || *s.Peak != 1 {
			t.Errorf("first value %v: %+v, peak %v; want regressed %v", v, f, *s.Peak, want)
		}
	}
}

func TestFoldIgnoresWhatIsNoValue(t *testing.T) {
	s := gate.State{Peak: at(0.7), Turns: 3}
	for name, v := range map[string]*float64{"pending": nil, "not a number": at(math.NaN())} {
		if next, f := gate.Fold(seedGate(), s, v); !reflect.DeepEqual(next, s) || f.Fired() {
			t.Errorf("%s: %+v %+v", name, next, f)
		}
	}
}

// TestFoldInvariants: the peak never falls nor lags by more than the gain, the count stays below the window while
// the peak is below target, states survive JSON, inputs are not changed.
func TestFoldInvariants(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := gate.Config{Window: rapid.IntRange(0, 5).Draw(t, "window"), Target: 0.5, Gain: 0.02, Drop: 0.15}
		var s gate.State
		for _, v := range rapid.SliceOfN(rapid.Float64Range(0, 1), 1, 40).Draw(t, "values") {
			before, _ := json.Marshal(s)
			next, f := gate.Fold(c, s, &v)
			if after, _ := json.Marshal(s); string(after) != string(before) {
				t.Fatalf("Fold changed its input: %s → %s", before, after)
			}
			if s.Peak != nil && *next.Peak < *s.Peak || *next.Peak+c.Gain < v {
				t.Fatalf("peak %v after %v", *next.Peak, v)
			}
			if f.Fired() && next.Turns != 0 || *next.Peak < c.Target && next.Turns >= max(1, c.Window) {
				t.Fatalf("turns %d after %+v", next.Turns, f)
			}
			if s.Peak == nil && f.Fired() {
				t.Fatal("the first value fired")
			}
			s = next
		}
	})
}

func TestMutedMetricShowsButNeverFires(t *testing.T) {
	l := seedLadder()
	l.Gate.StartPeak = at(1)
	l.Muted = []string{score.Coherence}
	var asked [][]string
	low := func(traces, metrics []string) ([]score.Score, error) {
		asked = append(asked, metrics)
		out := []score.Score{}
		for _, m := range metrics {
			v := 0.95
			if m == score.Coherence {
				v = 0.1
			}
			out = append(out, score.Score{Metric: m, TraceID: traces[0], Value: &v})
		}
		return out, nil
	}
	scores, states, err := l.Climb(nil, []string{"t"}, low)
	if err != nil || len(asked) != 1 || (score.Report{Scores: scores}).Alerts() {
		t.Errorf("a muted metric opened a tier or alerted: asked %v, %+v, %v", asked, scores, err)
	}
	if scores[1].Value == nil || *scores[1].Value != 0.1 || states[score.Coherence].Peak == nil {
		t.Errorf("a muted metric is scored and folded: %+v %+v", scores[1], states)
	}
}

func TestClimbDegradesAFailedRequestToPending(t *testing.T) {
	l := seedLadder()
	before := gate.States{score.TaskCompletion: {Peak: at(0.9)}}
	down := errors.New("evaluator down")
	scores, after, err := l.Climb(before, []string{"t"}, func(_, _ []string) ([]score.Score, error) { return nil, down })
	if !errors.Is(err, down) || len(scores) != 2 || !(score.Report{Scores: scores}).Empty() {
		t.Fatalf("scores %+v, err %v", scores, err)
	}
	if !reflect.DeepEqual(after, before) {
		t.Errorf("states moved without a value: %+v", after)
	}
	calls := 0
	scores, _, err = l.Climb(before, []string{"t"}, func(_, metrics []string) ([]score.Score, error) {
		if calls++; calls > 1 {
			return nil, down
		}
		return []score.Score{{Metric: score.TaskCompletion, TraceID: "t", Value: at(0.1)}}, nil
	})
	if !errors.Is(err, down) || len(scores) != 4 || !scores[0].Regressed || scores[2].Value != nil {
		t.Errorf("tier 2 down: %+v, %v", scores, err)
	}
}

func TestAdmissionCountsAcrossRuns(t *testing.T) {
	a := gate.Admission{MaxEvals: 1}
	run, session := gate.RunState{}, gate.SessionState{}
	now := time.Unix(0, 0)
	for i, want := range []struct {
		skip    string
		journal bool
	}{{"", false}, {gate.SkipBudget, true}, {gate.SkipBudget, false}} {
		if skip, journal := a.Admit(&run, &session, now); skip != want.skip || journal != want.journal {
			t.Errorf("turn %d: %q %v, want %+v", i, skip, journal, want)
		}
	}
	if session.Turns != 1 {
		t.Errorf("a turn beyond the budget was counted: %d", session.Turns)
	}
}

func BenchmarkClimb(b *testing.B) {
	l := seedLadder()
	v := 0.9
	reply := []score.Score{{Metric: score.TaskCompletion, TraceID: "t", Value: &v}, {Metric: score.Coherence, TraceID: "t", Value: &v}}
	states := gate.States{}
	b.ReportAllocs()
	for b.Loop() {
		_, states, _ = l.Climb(states, []string{"t"}, func(_, _ []string) ([]score.Score, error) { return reply, nil })
	}
}

// TestTierTwoFollowsTheGate: when a turn brought several traces, the one that fired is
// looked into, not the healthy one behind it.
func TestTierTwoFollowsTheGate(t *testing.T) {
	for follow, want := range map[bool]string{true: "bad", false: "good"} {
		l := seedLadder()
		l.Follow = follow
		asked := ""
		_, _, err := l.Climb(gate.States{score.TaskCompletion: {Peak: at(0.9)}}, []string{"bad", "good"}, func(traces, metrics []string) ([]score.Score, error) {
			if len(traces) == 1 {
				asked = traces[0]
				return nil, nil
			}
			return []score.Score{{Metric: score.TaskCompletion, TraceID: "bad", Value: at(0.1)}, {Metric: score.TaskCompletion, TraceID: "good", Value: at(0.9)}}, nil
		})
		if err != nil || asked != want {
			t.Errorf("follow %v: asked about %q, %v", follow, asked, err)
		}
	}
}
