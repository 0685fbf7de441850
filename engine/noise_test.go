package engine_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"vise/engine"
	"vise/engine/config"
	"vise/engine/event"
	"vise/engine/evidence"
	"vise/engine/score"
	"vise/engine/trace"
	"vise/store"
)

// puppet is an agent whose answer to a job a test scripts.
type puppet struct {
	mu    sync.Mutex
	play  func(job evidence.Job) []trace.Turn
	jobs  []evidence.Job
	fails map[int]string // n-th job → infrastructure
	reads func(job evidence.Job) []string
}

func (r *puppet) Replay(_ context.Context, job evidence.Job) (evidence.Run, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.jobs = append(r.jobs, job)
	run := evidence.Run{RunID: job.RunID, Session: trace.Session{ID: "x-" + job.RunID, Origin: trace.Replay, Source: "acp", CaseID: job.CaseID,
		RuleID: job.RuleID, Started: time.Unix(1, 0), Attrs: map[string]any{"arm": job.Arm}}}
	if why := r.fails[len(r.jobs)]; why != "" {
		run.Infrastructure, run.Error = why, why
		return run, nil
	}
	if r.reads != nil {
		run.Read = r.reads(job)
	}
	run.Turns = r.play(job)
	for i := range run.Turns {
		run.Turns[i].SessionID, run.Turns[i].Index = run.Session.ID, i
		if i < len(job.Input.Turns) {
			run.Turns[i].Input = job.Input.Turns[i]
		}
	}
	return run, nil
}

// run plays a live session of the turns.
func (p *project) run(t *testing.T, id string, turns ...trace.Turn) {
	t.Helper()
	p.begin(id, trace.Live)
	for i, turn := range turns {
		turn.SessionID, turn.Index = id, i
		p.end(turn)
	}
}

func TestMeasureNoise(t *testing.T) {
	r := &puppet{fails: map[int]string{2: "timeout"}}
	n := 0
	r.play = func(job evidence.Job) []trace.Turn { // every third run goes badly
		n++
		last := good("x", len(job.Input.Turns)-1)
		if n%3 == 0 {
			last = bad("x", len(job.Input.Turns)-1)
		}
		turns := []trace.Turn{}
		for i := range len(job.Input.Turns) - 1 {
			turns = append(turns, good("x", i))
		}
		return append(turns, last)
	}
	p := open(t, func(_ *config.Config, o *engine.Options) { o.Replayer, o.Agent = r, "puppet" })
	if _, err := p.MeasureNoise(t.Context(), engine.NoiseOptions{Turns: 5, Repeats: 3}); err == nil || !strings.Contains(err.Error(), "no stored turn") {
		t.Fatalf("without turns: %v", err)
	}
	p.run(t, "s1", good("x", 0), good("x", 1), bad("x", 2))
	m, err := p.MeasureNoise(t.Context(), engine.NoiseOptions{Turns: 5, Repeats: 3, Cases: 2, Runs: 12})
	if err != nil {
		t.Fatal(err)
	}
	if m.Turns != 3 || m.Cases != 1 || m.Failed != 1 || m.EvaluatedBy != "local/1" || m.Agent != "puppet" {
		t.Errorf("measured %+v", m)
	}
	tc, ok := m.Reading(score.TaskCompletion)
	if !ok || tc.Evaluator.SD != 0 || tc.Evaluator.N != 9 || !tc.Decides || tc.Idle == nil || *tc.Idle >= tc.Evaluator.Mean {
		t.Errorf("the offline evaluator on task_completion: %+v %+v", tc, tc.Evaluator)
	}
	if sd, known := m.AgentSD(score.TaskCompletion); !known || sd < 0.05 {
		t.Errorf("the mean over three turns of an agent that fails the last one in every third run has sd %v (%v)", sd, known)
	}
	if ac, _ := m.Reading(score.ArgumentCorrectness); ac.Agent == nil || ac.Agent.Flips < 0.2 {
		t.Errorf("the worst turn crosses the line in every third run: %+v", ac.Agent)
	}
	seeds := map[string]bool{}
	for _, j := range r.jobs {
		if seeds[j.Seed] || j.RuleID != "" || j.Arm != "control" {
			t.Errorf("job %+v: every run is a control run with a seed of its own", j)
		}
		seeds[j.Seed] = true
	}
	p.view(func(tx *store.Tx) error {
		stored, ok, err := tx.Noise()
		if !ok || stored.At != m.At {
			t.Errorf("stored %+v", stored)
		}
		last, _ := tx.LastEvents(1, event.NoiseMeasured)
		if len(last) != 1 {
			t.Error("no event tells of the measurement")
		}
		return err
	})
	q := open(t, nil)
	if _, err := q.MeasureNoise(t.Context(), engine.NoiseOptions{Turns: 5, Repeats: 3, Runs: 2}); !errors.Is(err, engine.ErrNoAgent) {
		t.Errorf("runs without an agent: %v", err)
	}
}

// A turn that scores a little lower is a regression for a deterministic evaluator
// and noise for one that was measured to scatter.
func TestGateModeGoesByMeasuredNoise(t *testing.T) {
	weak := good("x", 1)
	weak.Spans[1].Output = "" // no answer: a little worse
	for _, c := range []struct {
		mode  string
		sd    float64 // measured; < 0 = not
		by    string
		alert bool
	}{
		{"seed", 0.15, "local/1", true},
		{"auto", -1, "", true},
		{"auto", 0.01, "local/1", true},
		{"auto", 0.15, "judge/2", true}, // another evaluator was measured
		{"auto", 0.30, "local/1", false},
		{"noise", 0.30, "local/1", false},
	} {
		p := open(t, func(cfg *config.Config, _ *engine.Options) { cfg.Gate.Mode = c.mode })
		if c.sd >= 0 {
			if err := p.store.Update(t.Context(), func(tx *store.Tx) error {
				return tx.PutNoise(evidence.Measured{EvaluatedBy: c.by, Readings: []evidence.Reading{{Metric: score.TaskCompletion,
					Evaluator: &evidence.MetricNoise{N: 30, Groups: 10, SD: c.sd}}}})
			}); err != nil {
				t.Fatal(err)
			}
		}
		p.run(t, "s", good("x", 0), weak)
		p.view(func(tx *store.Tx) error {
			r, _, err := tx.Report("s", 1)
			if r.Alerts() != c.alert {
				t.Errorf("mode %s, sd %v of %q: alerts %v, want %v: %+v", c.mode, c.sd, c.by, r.Alerts(), c.alert, r.Scores[0])
			}
			return err
		})
	}
}

// A judge is asked as a live turn asks it, one vote a time; one that flips, or that
// likes an agent which does nothing, may only inform.
func TestMeasureNoiseOfAJudge(t *testing.T) {
	x := &panel{}
	p := open(t, judged(t, x, 0))
	p.run(t, "s1", good("s1", 0), good("s1", 1), good("s1", 2), good("s1", 3))
	x.vary = func(n int, shown string) map[string]string {
		g := map[string]string{score.TaskCompletion: "0.8", score.Coherence: []string{"0.4", "0.6"}[n%2],
			score.ToolCorrectness: []string{"0.80", "0.86", "0.92"}[n%3], score.ArgumentCorrectness: "0.9"}
		if !strings.Contains(shown, "on the shelf") { // the agent did nothing
			g[score.ToolCorrectness], g[score.ArgumentCorrectness] = "0", "0.9"
			g[score.TaskCompletion] = "0.1"
		}
		return g
	}
	m, err := p.MeasureNoise(t.Context(), engine.NoiseOptions{Turns: 4, Repeats: 3})
	if err != nil {
		t.Fatal(err)
	}
	for metric, want := range map[string]string{score.TaskCompletion: "", score.Coherence: "disagree", score.ToolCorrectness: "", score.ArgumentCorrectness: "does nothing"} {
		r, _ := m.Reading(metric)
		if r.Decides != (want == "") || !strings.Contains(r.Why, want) {
			t.Errorf("%s: decides %v, %q, want %q", metric, r.Decides, r.Why, want)
		}
	}
	if sd, known := m.EvaluatorSD(score.ToolCorrectness); !known || sd < 0.05 || sd > 0.07 {
		t.Errorf("sd %v (%v), want 0.06", sd, known)
	}
	if !strings.HasPrefix(m.EvaluatedBy, "judge/1 acme/grader") {
		t.Errorf("evaluated by %q", m.EvaluatedBy)
	}
}

// The report after a stall is no recovery: nothing got better. (In the reference the
// gate starts to count anew, and the session "recovers" and alerts again for ever.)
func TestAStallHoldsUntilItGetsBetter(t *testing.T) {
	for mode, want := range map[string]int{"seed": 1, "auto": 0} {
		x := &panel{grades: map[string]string{score.TaskCompletion: "0.3"}}
		p := open(t, func(c *config.Config, o *engine.Options) {
			judged(t, x, 0)(c, o)
			c.Gate.Mode = mode
		})
		p.begin("s", trace.Live)
		for i := range 8 {
			p.end(good("s", i))
		}
		recovered := func() (n int) {
			p.view(func(tx *store.Tx) error {
				list, err := tx.LastEvents(100, event.Recovery)
				n = len(list)
				return err
			})
			return n
		}
		if n := p.notices(); len(n) != 1 || n[0].Signatures[0] != "stall:task_completion" {
			t.Fatalf("mode %s: notices %+v", mode, n)
		}
		if got := recovered(); got != want {
			t.Errorf("mode %s: %d recoveries while nothing got better, want %d", mode, got, want)
		}
		x.set(map[string]string{score.TaskCompletion: "0.9"}, 0)
		p.end(good("s", 8))
		if got := recovered(); got != 1 {
			t.Errorf("mode %s: %d recoveries after it got better, want 1", mode, got)
		}
	}
}
