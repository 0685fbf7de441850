package evidence_test

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"vise/engine/evidence"
	"vise/engine/score"
	"vise/engine/trace"
)

// pairOf is a pair whose arms scored c and t on the outcome.
func pairOf(n int, caseID string, kind evidence.Kind, c, t float64) evidence.Pair {
	p := evidence.Pair{Number: n, CaseID: caseID, Kind: kind,
		Control:   evidence.Arm{RunID: "c", Scores: map[string]float64{score.OutcomeCorrect: c}},
		Treatment: evidence.Arm{RunID: "t", Read: true, Scores: map[string]float64{score.OutcomeCorrect: t}}}
	p.Judge([]string{score.OutcomeCorrect}, nil)
	return p
}

func testOf(cases ...evidence.TestCase) evidence.Test {
	if len(cases) == 0 {
		cases = []evidence.TestCase{{ID: "a", Kind: evidence.Failure}}
	}
	return evidence.Test{ID: "t", Profile: evidence.Full, Threshold: 20, Cap: 30, Margin: 0.05, Cases: cases}
}

// many repeats one kind of pair.
func many(n int, edit func(*evidence.Pair)) []evidence.Pair {
	var out []evidence.Pair
	for i := range n {
		p := pairOf(i+1, "a", evidence.Failure, 0, 0)
		edit(&p)
		p.Judge([]string{score.OutcomeCorrect}, nil)
		out = append(out, p)
	}
	return out
}

func TestWeigh(t *testing.T) {
	helps := func(p *evidence.Pair) { p.Treatment.Scores = map[string]float64{score.OutcomeCorrect: 1} }
	harms := func(p *evidence.Pair) { p.Control.Scores = map[string]float64{score.OutcomeCorrect: 1} }
	nothing := func(*evidence.Pair) {}
	win := evidence.TestCase{ID: "w", Kind: evidence.Win}
	for _, c := range []struct {
		name    string
		test    evidence.Test
		pairs   []evidence.Pair
		outcome evidence.Outcome
		pending string
		counted int
	}{
		{"too early", testOf(), many(6, helps), "", "", 6},
		{"seven gains promote", testOf(), many(9, helps), evidence.Promote, "", 7},
		{"seven losses retire", testOf(), many(9, harms), evidence.Retire, "", 7},
		{"nothing happens: no pair that is left could decide", testOf(), many(30, nothing), evidence.PendingStill, evidence.Inconclusive, 24},
		{"mixed: given up after eight", testOf(), many(12, func(p *evidence.Pair) {
			if p.Number%2 == 0 {
				helps(p)
			} else {
				harms(p)
			}
		}), evidence.PendingStill, evidence.Inconclusive, 8},
		{"never read", testOf(), many(9, func(p *evidence.Pair) { helps(p); p.Treatment.Read = false }), evidence.PendingStill, evidence.CandidateNotExercised, 4},
		{"read in a third", testOf(), many(9, func(p *evidence.Pair) { helps(p); p.Treatment.Read = p.Number%3 == 0 }), evidence.PendingStill, evidence.CandidateNotExercised, 7},
		{"a gap holds what comes after it", testOf(), slices.DeleteFunc(many(9, helps), func(p evidence.Pair) bool { return p.Number == 3 }), "", "", 2},
		{"three outages in a row", testOf(), many(9, func(p *evidence.Pair) { helps(p); p.Treatment.Infrastructure = "provider" }), evidence.PendingStill, evidence.Infrastructure, 0},
		{"outages between do not count", testOf(), many(12, func(p *evidence.Pair) {
			helps(p)
			if p.Number%3 == 0 {
				p.Control.Infrastructure = "timeout"
			}
		}), evidence.Promote, "", 7},
		{"a global rule needs two cases", func() evidence.Test { x := testOf(); x.Global = true; return x }(), many(9, helps), evidence.PendingStill, evidence.NeedsTwoCases, 7},
		{"a promotion waits for the guard", testOf(evidence.TestCase{ID: "a", Kind: evidence.Failure}, win), many(9, helps), "", "", 7},
	} {
		f := evidence.Weigh(c.test, c.pairs)
		if f.Outcome != c.outcome || f.Pending != c.pending || f.Counted != c.counted || f.Stop != (c.outcome != "") {
			t.Errorf("%s: %q %q after %d (stop %v, E⁺ %.1f); want %q %q after %d", c.name, f.Outcome, f.Pending, f.Counted, f.Stop, f.EGain, c.outcome, c.pending, c.counted)
		}
	}
}

// A rule that helps failures and breaks a protected win is not promoted; the win is named.
func TestGuard(t *testing.T) {
	run := func(win func(p *evidence.Pair)) (evidence.Finding, []evidence.Pair) {
		test := testOf(evidence.TestCase{ID: "a", Kind: evidence.Failure}, evidence.TestCase{ID: "w1", Kind: evidence.Win}, evidence.TestCase{ID: "w2", Kind: evidence.Win})
		var pairs []evidence.Pair
		for {
			s, ok := test.Next(pairs, nil)
			if !ok {
				return evidence.Weigh(test, pairs), pairs
			}
			p := pairOf(s.Number, s.Case.ID, s.Case.Kind, 0, 1)
			if p.Kind == evidence.Win {
				p.Control.Scores = map[string]float64{score.TaskCompletion: 1, score.Coherence: 1}
				p.Treatment.Scores = map[string]float64{score.TaskCompletion: 1, score.Coherence: 1}
				win(&p)
				p.Judge(nil, nil)
			}
			pairs = append(pairs, p)
		}
	}
	f, pairs := run(func(*evidence.Pair) {})
	if f.Outcome != evidence.Promote || f.Guarded != 10 || f.Counted != 7 {
		t.Errorf("quiet wins: %s after %d and %d pairs", f.Outcome, f.Counted, f.Guarded)
	}
	if n := len(pairs); n != 17 || pairs[2].Kind != evidence.Win {
		t.Errorf("%d pairs, the third on a %s", n, pairs[2].Kind)
	}
	f, _ = run(func(p *evidence.Pair) {
		if p.CaseID == "w2" {
			p.Treatment.Scores[score.TaskCompletion] = 0
		}
	})
	if f.Outcome == evidence.Promote && f.EGuard < 1 {
		t.Errorf("one of two wins is lost every time and the guard says %v", f.EGuard)
	}
	f, _ = run(func(p *evidence.Pair) { p.Treatment.Scores[score.TaskCompletion] = 0 })
	if f.Pending != evidence.WinHarmed || fmt.Sprint(f.WinsHarmed) != "[w1 w2]" {
		t.Errorf("lost wins: %s %q %v, E %v", f.Outcome, f.Pending, f.WinsHarmed, f.EGuard)
	}
	f, _ = run(func(p *evidence.Pair) {
		p.Control.Scores = map[string]float64{score.OutcomeCorrect: 1}
		p.Treatment.Scores = map[string]float64{score.OutcomeCorrect: 0}
	})
	if f.Pending != evidence.WinHarmed || f.Guarded != 2 {
		t.Errorf("a verifier that fails twice blocks at once: %q after %d", f.Pending, f.Guarded)
	}
}

// No gain at more cost: retired at the cap, and only when the cost is sure.
func TestCostlyWithoutGain(t *testing.T) {
	dear := func(more int64) []evidence.Pair {
		return many(30, func(p *evidence.Pair) {
			p.Control.Scores = map[string]float64{score.OutcomeCorrect: 0.4} // not pass or fail: 30 of those exclude no gain of 0.05
			p.Treatment.Scores = map[string]float64{score.OutcomeCorrect: 0.4}
			p.Control.Usage = trace.Usage{Input: 1000, Output: 100}
			p.Treatment.Usage = trace.Usage{Input: 1000 + more, Output: 100}
		})
	}
	if f := evidence.Weigh(testOf(), dear(300)); f.Outcome != evidence.Retire || f.ECost < 20 || f.Cost.Tokens.Mean != 300 {
		t.Errorf("300 tokens more: %s, E %v, %+v", f.Outcome, f.ECost, f.Cost.Tokens)
	}
	if f := evidence.Weigh(testOf(), dear(0)); f.Outcome != evidence.PendingStill {
		t.Errorf("no tokens more: %s", f.Outcome)
	}
	if f := evidence.Weigh(testOf(), many(30, func(*evidence.Pair) {})); f.Cost.Tokens != nil {
		t.Errorf("unknown tokens read as %+v", f.Cost.Tokens)
	}
}

// Offline scores count where the checks agree; the verifier's outcome always does.
func TestJudgeProcess(t *testing.T) {
	arm := func(v float64, triggered bool, faults ...string) evidence.Arm {
		return evidence.Arm{Process: true, Triggered: triggered, Faults: faults, Scores: map[string]float64{score.TaskCompletion: v}}
	}
	for _, c := range []struct {
		name           string
		control, treat evidence.Arm
		graded, credit float64
	}{
		{"the check is gone and nothing new", arm(0.6, true, "last_call_failed"), arm(1, false), 1, 1},
		{"better, but the check still fires", arm(0.4, true, "last_call_failed", "repeat_failed"), arm(0.6, true, "last_call_failed"), 2. / 3, 0},
		{"the check is gone, another appears", arm(0.6, true, "last_call_failed"), arm(0.7, false, "no_answer"), 0, 0},
		{"the check appears", arm(1, false), arm(0.6, true, "last_call_failed"), -1, -1},
		{"a score without a check behind it", arm(0.6, true, "x"), arm(0.8, true, "x"), 0, 0},
	} {
		p := evidence.Pair{Kind: evidence.Failure, Control: c.control, Treatment: c.treat}
		p.Judge([]string{score.TaskCompletion}, nil)
		if d := p.Graded - c.graded; d > 1e-9 || d < -1e-9 || p.Credit-c.credit > 1e-9 || p.Credit-c.credit < -1e-9 {
			t.Errorf("%s: graded %v, credit %v; want %v and %v", c.name, p.Graded, p.Credit, c.graded, c.credit)
		}
	}
}

// A gain in one turn of many weighs by how little their mean varies, not by their number.
func TestJudgeLongSessions(t *testing.T) {
	for _, c := range []struct {
		turns int
		want  float64
	}{{1, 0.5}, {4, 1}, {9, 1}} {
		p := evidence.Pair{Kind: evidence.Failure, Turns: c.turns, Control: evidence.Arm{Process: true, Triggered: true, Scores: map[string]float64{score.TaskCompletion: 0.85}},
			Treatment: evidence.Arm{Process: true, Scores: map[string]float64{score.TaskCompletion: 1}}}
		p.Judge(nil, nil)
		if p.Graded < c.want-1e-9 || p.Graded > c.want+1e-9 {
			t.Errorf("+0.15 over %d turns is graded %v, want %v", c.turns, p.Graded, c.want)
		}
	}
}

// The guarantee of the test rests on this: arms that are swapped turn the grade round,
// and E⁺ never credits more than the grade.
func TestJudgeIsAntisymmetric(t *testing.T) {
	values := rapid.MapOf(rapid.SampledFrom(score.Metrics()), rapid.Float64Range(0, 1))
	arm := rapid.Custom(func(t *rapid.T) evidence.Arm {
		faults := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b", "c"}), 0, 3, rapid.ID[string]).Draw(t, "faults")
		return evidence.Arm{Scores: values.Draw(t, "scores"), Process: rapid.Bool().Draw(t, "process"),
			Triggered: rapid.Bool().Draw(t, "triggered"), Faults: faults, Late: rapid.Bool().Draw(t, "late")}
	})
	rapid.Check(t, func(t *rapid.T) {
		p := evidence.Pair{Kind: rapid.SampledFrom([]evidence.Kind{evidence.Failure, evidence.Win}).Draw(t, "kind"), Control: arm.Draw(t, "c"), Treatment: arm.Draw(t, "t")}
		q := p
		q.Control, q.Treatment = p.Treatment, p.Control
		p.Judge([]string{score.ToolCorrectness}, nil)
		q.Judge([]string{score.ToolCorrectness}, nil)
		if p.Graded != -q.Graded || p.Credit > p.Graded || p.Excluded != q.Excluded {
			t.Fatalf("%+v and %+v", p, q)
		}
		for m := range p.Guard {
			if p.Guard[m] != -q.Guard[m] {
				t.Fatalf("guard of %s: %v and %v", m, p.Guard[m], q.Guard[m])
			}
		}
	})
}

// However many pairs run at once, the same ones decide.
func TestNextInParallel(t *testing.T) {
	test := testOf(evidence.TestCase{ID: "a", Kind: evidence.Failure}, evidence.TestCase{ID: "b", Kind: evidence.Failure}, evidence.TestCase{ID: "w", Kind: evidence.Win})
	play := func(at int) evidence.Finding {
		var pairs []evidence.Pair
		var started []evidence.Slot
		for {
			for len(started) < at {
				s, ok := test.Next(pairs, started)
				if !ok {
					break
				}
				started = append(started, s)
			}
			if len(started) == 0 {
				return evidence.Weigh(test, pairs)
			}
			s := started[len(started)-1] // the last one ends first
			started = started[:len(started)-1]
			control, treat := 0.0, 1.0
			if s.Case.Kind == evidence.Win {
				control = 1
			} else if s.Number%4 == 0 {
				treat = 0
			}
			pairs = append(pairs, pairOf(s.Number, s.Case.ID, s.Case.Kind, control, treat))
		}
	}
	one := play(1)
	if one.Outcome != evidence.Promote {
		t.Fatalf("outcome %s %s", one.Outcome, one.Pending)
	}
	for _, at := range []int{2, 5} {
		if got := play(at); got.Outcome != one.Outcome || got.Counted != one.Counted || got.EGain != one.EGain {
			t.Errorf("%d at once: %s after %d pairs, E⁺ %v; one at a time: %d, %v", at, got.Outcome, got.Counted, got.EGain, one.Counted, one.EGain)
		}
	}
}

// TestSharedControlsCostNothing: what was run for another test is not spent again.
func TestSharedControlsCostNothing(t *testing.T) {
	p := pairOf(1, "a", evidence.Failure, 0, 1)
	p.Control.Usage, p.Treatment.Usage = trace.Usage{Input: 1000}, trace.Usage{Input: 10}
	q := p
	q.Number, q.Order = 2, evidence.ControlShared
	f := evidence.Weigh(testOf(), []evidence.Pair{p, q})
	if f.Runs != 3 || f.Shared != 1 || f.Cost.Spent.Input != 1020 {
		t.Errorf("%d runs, %d shared, %d tokens; want 3, 1, 1020", f.Runs, f.Shared, f.Cost.Spent.Input)
	}
}

// TestAGapIsFilled: a pair that was under way when its round ended is run again, so that
// those stored after it count; no repeat of a case is drawn twice.
func TestAGapIsFilled(t *testing.T) {
	test := testOf(evidence.TestCase{ID: "a", Kind: evidence.Failure}, evidence.TestCase{ID: "b", Kind: evidence.Failure})
	gain := func(n int, id string, repeat int) evidence.Pair {
		p := pairOf(n, id, evidence.Failure, 0, 1)
		p.Repeat = repeat
		return p
	}
	var stuck []evidence.Pair // as many as the cap, the second never stored
	for n := 1; n <= 31; n++ {
		if n != 2 {
			stuck = append(stuck, gain(n, "a", 0))
		}
	}
	for name, pairs := range map[string][]evidence.Pair{
		"no gap":                      {gain(1, "a", 1)},
		"one":                         {gain(1, "a", 1), gain(3, "a", 2)},
		"two":                         {gain(3, "a", 2), gain(4, "b", 2)},
		"behind the cap":              stuck,
		"of before repeats were kept": {gain(1, "a", 0), gain(3, "a", 0)},
	} {
		t.Run(name, func(t *testing.T) {
			drawn := map[string]int{}
			for _, p := range pairs {
				if p.Repeat > 0 {
					drawn[fmt.Sprint(p.CaseID, p.Repeat)]++
				}
			}
			for {
				s, ok := test.Next(pairs, nil)
				if !ok {
					break
				}
				key := fmt.Sprint(s.Case.ID, s.Repeat)
				if drawn[key]++; drawn[key] > 1 {
					t.Errorf("pair %d draws repeat %d of case %s again", s.Number, s.Repeat, s.Case.ID)
				}
				pairs = append(pairs, gain(s.Number, s.Case.ID, s.Repeat))
			}
			if f := evidence.Weigh(test, pairs); f.Outcome != evidence.Promote || f.Counted != 7 {
				t.Errorf("%d pairs, %d count: %s %s, want a promotion after 7", len(pairs), f.Counted, f.Outcome, f.Pending)
			}
		})
	}
}
