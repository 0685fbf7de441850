package engine_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"vise/engine"
	"vise/engine/config"
	"vise/engine/episode"
	"vise/engine/event"
	"vise/engine/repair"
	"vise/engine/trace"
	"vise/store"
)

// checkpoint holds or cancels a repair at its first checkpoint.
type checkpoint struct {
	cancel  bool
	reached chan struct{}
	goOn    chan struct{}
}

func (c *checkpoint) At(ctx context.Context, _ repair.Checkpoint) (repair.Action, error) {
	if c.cancel {
		return repair.ActionCancel, nil
	}
	select {
	case c.reached <- struct{}{}:
	default:
	}
	select {
	case <-c.goOn:
		return repair.ActionContinue, nil
	case <-ctx.Done():
		return repair.ActionCancel, context.Cause(ctx)
	}
}

func (p *project) onlyEpisode() episode.Episode {
	p.t.Helper()
	var list []episode.Episode
	p.view(func(tx *store.Tx) (err error) {
		list, err = tx.Episodes(store.Window{})
		return err
	})
	if len(list) != 1 {
		p.t.Fatalf("episodes: %+v", list)
	}
	return list[0]
}

// TestCancelledRunsAreNoFailures: a person who presses x does not wear an episode out,
// and is not asked again by the session's next settlement.
func TestCancelledRunsAreNoFailures(t *testing.T) {
	hold := &checkpoint{cancel: true}
	p := open(t, func(c *config.Config, o *engine.Options) {
		builtin(t)(c, o)
		o.Stepper, c.Repair.MaxAttempts = hold, 2
	})
	p.begin("s", trace.Live)
	p.end(bad("s", 0))
	id := p.onlyEpisode().ID
	for i := range 3 {
		if s := p.settle("s"); s.Repair != nil {
			t.Fatalf("settlement %d began it again: %+v", i, s.Repair)
		}
		if got, err := p.RunRepair(t.Context(), id); err != nil || got.Status != episode.Cancelled {
			t.Fatalf("on a person's word: %+v, %v", got, err)
		}
	}
	if e := p.onlyEpisode(); e.Attempts != 4 || e.Failures != 0 || e.Status != episode.Cancelled {
		t.Errorf("after four cancelled runs: %+v", e)
	}
}

// TestAnEpisodeThatEndsItsProcessBecomesADeadLetter: who opens the store after the
// process was killed counts, and stops starting it in the end.
func TestAnEpisodeThatEndsItsProcessBecomesADeadLetter(t *testing.T) {
	p := open(t, func(c *config.Config, _ *engine.Options) { c.Repair.MaxAttempts = 3 })
	p.begin("s", trace.Live)
	p.end(bad("s", 0))
	n := p.notices()[0]
	e := episode.Episode{ID: "e-000000000001", SessionID: "s", NoticeIDs: []string{n.ID}, AllowedTraces: n.FlaggedTraces, CreatedAt: n.CreatedAt}
	o := engine.Options{Config: p.cfg, Store: p.store}
	builtin(t)(p.cfg, &o)
	for kill := 1; kill <= 3; kill++ {
		if kill > 1 {
			e = p.onlyEpisode()
		}
		if e.Status == episode.Dead {
			t.Fatalf("given up after %d starts", kill-1)
		}
		e.Attempts, e.Status = kill, episode.Running // a start, and then no more
		if err := p.store.Update(t.Context(), func(tx *store.Tx) error { return tx.PutEpisode(e) }); err != nil {
			t.Fatal(err)
		}
		p.start(o)
	}
	if e = p.onlyEpisode(); e.Status != episode.Dead || e.Failures != 3 || p.count(event.Skip) != 1 {
		t.Errorf("after three ended processes: %+v, %d events say so", e, p.count(event.Skip))
	}
	if s := p.settle("s"); s.Repair != nil {
		t.Errorf("started again: %+v", s.Repair)
	}
	// A person may try it once more.
	if res, err := p.RunRepair(t.Context(), e.ID); err != nil || res.Status != episode.CandidateAdded {
		t.Errorf("on a person's word: %+v, %v", res, err)
	}
}

// TestWhoJoinsARepairAndRunsOutOfTimeLeavesItRunning: it is told what goes on; only
// who began the repair, or Close, can end it.
func TestWhoJoinsARepairAndRunsOutOfTimeLeavesItRunning(t *testing.T) {
	hold := &checkpoint{reached: make(chan struct{}, 1), goOn: make(chan struct{})}
	p := open(t, func(c *config.Config, o *engine.Options) {
		builtin(t)(c, o)
		o.Stepper = hold
	})
	p.begin("s", trace.Live)
	if err := p.EndTurn(t.Context(), bad("s", 0)); err != nil {
		t.Fatal(err)
	}
	first := make(chan episode.Settlement, 1)
	go func() {
		s, err := p.Settle(context.WithoutCancel(t.Context()), "s")
		if err != nil {
			t.Error(err)
		}
		first <- s
	}()
	<-hold.reached
	id := p.onlyEpisode().ID
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	s, err := p.Settle(ctx, "s")
	if err != nil || s.Running != id || s.Repair != nil || !s.Evaluated {
		t.Errorf("the second one: %+v, %v", s, err)
	}
	var going *engine.StillRunning
	if _, err := p.RunRepair(ctx, id); !errors.As(err, &going) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a third one, by its id: %v", err)
	}
	close(hold.goOn)
	if s := <-first; s.Repair == nil || s.Repair.Status != episode.CandidateAdded {
		t.Errorf("the first one: %+v", s.Repair)
	}
}
