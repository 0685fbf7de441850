package engine_test

import (
	"context"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"vise/engine"
	"vise/engine/config"
	"vise/engine/event"
	"vise/engine/evidence"
	"vise/engine/rule"
	"vise/engine/validate"
	"vise/store"
)

// lingering is an agent whose first replay gives another one time to begin beside it.
type lingering struct {
	*puppet
	running, most atomic.Int32
	inside        chan struct{} // one value: the first replay is under way
}

func (l *lingering) Replay(ctx context.Context, job evidence.Job) (evidence.Run, error) {
	n := l.running.Add(1)
	defer l.running.Add(-1)
	if n > l.most.Load() {
		l.most.Store(n)
	}
	select {
	case l.inside <- struct{}{}:
		for range 30 {
			if l.most.Load() > 1 {
				break
			}
			time.Sleep(5 * time.Millisecond)
		}
	default:
	}
	return l.puppet.Replay(ctx, job)
}

// A round that is asked for while one is under way waits for its end, whichever way the
// two are asked for: rounds beside each other would use up attempts twice.
func TestRoundsNeverOverlap(t *testing.T) {
	ways := map[string]func(*project) error{
		"a round":          func(p *project) error { _, err := p.Validate(t.Context()); return err },
		"until idle":       func(p *project) error { _, err := p.ValidateUntilIdle(t.Context()); return err },
		"rules in force":   func(p *project) error { _, err := p.ValidateActives(t.Context(), validate.Options{}); return err },
		"a regression run": func(p *project) error { _, err := p.Regress(t.Context(), 5, nil); return err },
	}
	for name, second := range ways {
		t.Run(name, func(t *testing.T) {
			l := &lingering{puppet: script(func(evidence.Job, int) bool { return true }), inside: make(chan struct{}, 1)}
			p := open(t, func(cfg *config.Config, o *engine.Options) { o.Replayer, cfg.Validate.Evidence = l, "seed" })
			p.caseOf("c1", evidence.Failure, 1, 0.2, "breach:task_completion")
			p.ruleOf("r-1", rule.Candidate, "breach:task_completion")
			p.ruleOf("r-2", rule.Active, "breach:task_completion")
			p.update(func(tx *store.Tx) error { // candidates of the repair agent have their trial
				r, _, err := tx.Rule("r-1")
				r.Trial = &rule.Trial{}
				if err != nil {
					return err
				}
				return tx.PutRule(r)
			})
			done := make(chan error, 1)
			go func() { _, err := p.Validate(t.Context()); done <- err }()
			for len(l.inside) == 0 {
				select {
				case err := <-done:
					t.Fatalf("the first round ended without a replay: %v", err)
				case <-time.After(time.Millisecond):
				}
			}
			before := l.jobCount()
			if err := second(p); err != nil {
				t.Fatal(err)
			}
			if err := <-done; err != nil {
				t.Fatal(err)
			}
			if n := l.most.Load(); n != 1 {
				t.Errorf("%d replays ran at once", n)
			}
			if n := l.jobCount(); n < before+2 {
				t.Errorf("%d replays: the second one tested nothing", n)
			}
			var order []event.Type
			p.view(func(tx *store.Tx) error {
				list, err := tx.Events(0, 0, store.EventFilter{})
				for _, e := range list {
					if e.Type == event.ValidationRoundStarted || e.Type == event.ValidationRoundEnded {
						order = append(order, e.Type)
					}
				}
				return err
			})
			for i := range order {
				if want := []event.Type{event.ValidationRoundStarted, event.ValidationRoundEnded}[i%2]; order[i] != want {
					t.Errorf("the journal says %v", order)
					break
				}
			}
			if !slices.Contains(order, event.ValidationRoundEnded) {
				t.Errorf("no round in the journal: %v", order)
			}
		})
	}
}

func (l *lingering) jobCount() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.jobs)
}
