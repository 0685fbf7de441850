package engine_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"vise/engine"
	"vise/engine/config"
	"vise/engine/event"
	"vise/engine/evidence"
	"vise/store"
)

// The failure needs the second input; the agent fails whenever it is among them.
func TestShrinkCase(t *testing.T) {
	var key string
	r := script(func(job evidence.Job, _ int) bool { return slices.Contains(job.Input.Turns, key) })
	p := open(t, func(_ *config.Config, o *engine.Options) { o.Replayer = r })
	c := p.caseOf("c1", evidence.Failure, 6, 0.3, "breach:argument_correctness")
	c.Baseline = map[string]float64{"argument_correctness": 0.3}
	p.update(func(tx *store.Tx) error { return tx.PutCase(c) })
	key = c.Input.Turns[1]
	got, err := p.ShrinkCase(t.Context(), "c1", 100, nil)
	if err != nil || got.Before != 6 || got.After != 2 || !got.Minimal || got.Case == "" || got.Why != "" {
		t.Fatalf("%+v, %v", got, err)
	}
	if got.Runs != len(r.jobs) || got.Runs > 40 {
		t.Errorf("%d runs are told of %d", got.Runs, len(r.jobs))
	}
	p.view(func(tx *store.Tx) error {
		small, ok, err := tx.Case(got.Case)
		if !ok || !slices.Equal(small.Input.Turns, []string{key, c.Input.Turns[5]}) || small.ShrunkFrom != "c1" || small.Input.Digest == c.Input.Digest ||
			small.Kind != evidence.Failure || small.Baseline["argument_correctness"] >= 0.5 {
			t.Errorf("the smaller case: %+v %+v", small, small.Input)
		}
		if !evidence.Own(small, c.SessionID, c.Input) {
			t.Error("a case shrunk from the writing case is no held-out case")
		}
		if was, ok, _ := tx.Case("c1"); !ok || len(was.Input.Turns) != 6 {
			t.Error("the original is not kept")
		}
		last, _ := tx.LastEvents(5, event.CaseShrunk)
		if len(last) != 1 || last[0].CaseID != "c1" {
			t.Errorf("journal %+v", last)
		}
		return err
	})
	again, err := p.ShrinkCase(t.Context(), "c1", 100, nil)
	if err != nil || again.Case != got.Case {
		t.Errorf("a second time: %+v, %v, want the same case", again, err)
	}
}

func TestShrinkCaseThatCannotBeShrunk(t *testing.T) {
	fails, lost := false, map[int]string{}
	r := script(func(evidence.Job, int) bool { return fails })
	r.fails = lost
	p := open(t, func(_ *config.Config, o *engine.Options) { o.Replayer = r })
	c := p.caseOf("c1", evidence.Failure, 3, 0.3, "breach:argument_correctness")
	c.Baseline = map[string]float64{"argument_correctness": 0.3}
	p.update(func(tx *store.Tx) error { return tx.PutCase(c) })
	p.caseOf("c2", evidence.Win, 1, 1)
	for _, step := range []struct {
		what string
		set  func()
		runs int
		why  string
	}{
		{"mended since", func() {}, 40, "does not fail any more"},
		{"infrastructure", func() { fails = true; lost[len(r.jobs)+1] = "provider" }, 40, "ended early"},
		{"no runs left", func() { clear(lost) }, 3, "--runs N allows more"},
	} {
		step.set()
		before := len(r.jobs)
		got, err := p.ShrinkCase(t.Context(), "c1", step.runs, nil)
		if err != nil || got.Case != "" || !strings.Contains(got.Why, step.why) || got.Runs != len(r.jobs)-before || got.Runs > step.runs {
			t.Errorf("%s: %+v, %v", step.what, got, err)
		}
	}
	if _, err := p.ShrinkCase(t.Context(), "c2", 40, nil); err == nil || !strings.Contains(err.Error(), "only failures") {
		t.Errorf("a win: %v", err)
	}
	q := open(t, nil)
	q.caseOf("c1", evidence.Failure, 3, 0.3)
	if _, err := q.ShrinkCase(t.Context(), "c1", 40, nil); !errors.Is(err, engine.ErrNoAgent) {
		t.Errorf("without an agent: %v", err)
	}
}
