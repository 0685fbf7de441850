package validate

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"vise/engine/evidence"
	"vise/engine/rule"
	"vise/engine/trace"
)

// An agent is called deterministic only when that was seen: in every turn, without the
// rule and with it.
func TestDeterminismIsSeen(t *testing.T) {
	said := func(run evidence.Run, early string) evidence.Run {
		first := trace.Turn{Input: "hello", Spans: []trace.Span{{Kind: trace.LLM, Output: early}}}
		run.Turns = append([]trace.Turn{first}, run.Turns...)
		return run
	}
	var mu sync.Mutex
	with := map[string]int{} // runs with the rule, by case
	nth := func(job evidence.Job, s rule.Set) int {
		mu.Lock()
		defer mu.Unlock()
		if !sees(s, "r-1") {
			return 0
		}
		with[job.CaseID]++
		return with[job.CaseID]
	}
	for _, c := range []struct {
		name  string
		agent func(evidence.Job, rule.Set, *rand.Rand) evidence.Run
		grade string
	}{
		{"nothing differs", func(job evidence.Job, s rule.Set, _ *rand.Rand) evidence.Run {
			return said(outcomeOf(float64(min(nth(job, s), 1))), "hi")
		}, "deterministic"},
		{"only an early turn of the control runs differs", func(job evidence.Job, s rule.Set, r *rand.Rand) evidence.Run {
			if sees(s, "r-1") {
				return said(outcomeOf(1), "hi")
			}
			return said(outcomeOf(0), fmt.Sprint(r.IntN(1000)))
		}, "paired"},
		{"only an early turn of the runs with the rule differs", func(job evidence.Job, s rule.Set, r *rand.Rand) evidence.Run {
			if !sees(s, "r-1") {
				return said(outcomeOf(0), "hi")
			}
			return said(outcomeOf(1), fmt.Sprint(r.IntN(1000)))
		}, "paired"},
		{"the first run with the rule was a lucky one", func(job evidence.Job, s rule.Set, _ *rand.Rand) evidence.Run {
			return outcomeOf(map[bool]float64{true: 1}[nth(job, s) == 1])
		}, "paired"},
		{"the first run with the rule was an unlucky one", func(job evidence.Job, s rule.Set, _ *rand.Rand) evidence.Run {
			return outcomeOf(map[bool]float64{true: 1}[nth(job, s) > 1])
		}, "paired"},
	} {
		t.Run(c.name, func(t *testing.T) {
			clear(with)
			b := newBench(t, "auto", c.agent)
			v := b.round(Options{})["r-1"]
			if v.Evidence != c.grade {
				t.Errorf("%s by %s evidence: %s; want %s", v.Outcome, v.Evidence, v.Reason, c.grade)
			}
			if c.grade == "deterministic" && len(b.runs) != 2*(proofs+repeats) {
				t.Errorf("%d runs of two cases", len(b.runs))
			}
		})
	}
}
