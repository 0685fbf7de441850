package engine_test

import (
	"testing"

	"vise/engine"
	"vise/engine/config"
	"vise/engine/event"
	"vise/engine/evidence"
	"vise/engine/trace"
	"vise/store"
)

// An agent that does not start is asked once, not once for every run of every case; what
// was measured before stays, and no rule is flagged or cleared.
func TestAnAgentThatDoesNotStartEndsRunsForEvidence(t *testing.T) {
	for what, run := range map[string]func(p *project) error{
		"regress": func(p *project) error { _, err := p.Regress(t.Context(), 0, nil); return err },
		"measure noise": func(p *project) error {
			_, err := p.MeasureNoise(t.Context(), engine.NoiseOptions{Turns: 2, Repeats: 2, Cases: 3, Runs: 3})
			return err
		},
		"shrink case c1": func(p *project) error { _, err := p.ShrinkCase(t.Context(), "c1", 40, nil); return err },
	} {
		t.Run(what, func(t *testing.T) {
			r := &puppet{fails: map[int]string{}, play: func(evidence.Job) []trace.Turn { return nil }}
			for n := range 20 {
				r.fails[n+1] = "start_failed"
			}
			p := open(t, func(_ *config.Config, o *engine.Options) { o.Replayer = r })
			p.run(t, "s1", good("s1", 0))
			p.caseOf("c1", evidence.Failure, 3, 0.3, "breach:argument_correctness")
			p.caseOf("c2", evidence.Failure, 2, 0.3)
			p.caseOf("c3", evidence.Win, 1, 1)
			p.update(func(tx *store.Tx) error { return tx.PutNoise(evidence.Measured{At: "before"}) })
			err := run(p)
			if err == nil || err.Error() != what+": start_failed" {
				t.Errorf("it ends with %v", err)
			}
			if len(r.jobs) != 1 {
				t.Errorf("%d starts of the agent", len(r.jobs))
			}
			p.view(func(tx *store.Tx) error {
				m, _, err := tx.Noise()
				if m.At != "before" {
					t.Errorf("the measurement of %s is in the place of the one before", m.At)
				}
				return err
			})
			p.view(func(tx *store.Tx) error {
				list, err := tx.Events(0, 0, store.EventFilter{Types: []event.Type{event.Regression, event.NoiseMeasured, event.CaseShrunk}})
				if len(list) > 0 {
					t.Errorf("%s is journalled: %v", list[0].Type, list[0].Data)
				}
				if len(r.jobs) > 0 {
					if _, kept, _ := tx.Session("x-" + r.jobs[0].RunID); kept {
						t.Error("the session of a run that never was is kept")
					}
				}
				return err
			})
		})
	}
}
