package tui

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"vise/engine/episode"
	"vise/engine/event"
	"vise/engine/repair"
)

func checkpoint(episode string, turn int, p repair.Point) repair.Checkpoint {
	return repair.Checkpoint{Point: p, SessionID: "s-1", EpisodeID: episode, Attempt: 1, Turn: turn}
}

// asked is what a run of the repair agent does: it asks at every checkpoint.
func asked(ctx context.Context, h *Hold, points ...repair.Checkpoint) chan repair.Action {
	out := make(chan repair.Action, len(points))
	go func() {
		defer close(out)
		for _, c := range points {
			a, err := h.At(ctx, c)
			if err != nil {
				a = repair.ActionCancel
			}
			out <- a
			if a == repair.ActionCancel {
				return
			}
		}
	}()
	return out
}

func TestHold(t *testing.T) {
	three := func(ep string) []repair.Checkpoint {
		return []repair.Checkpoint{checkpoint(ep, 1, repair.BeforeModel), checkpoint(ep, 1, repair.BeforeTool),
			checkpoint(ep, 1, repair.AfterTool), checkpoint(ep, 2, repair.BeforeResolve)}
	}
	t.Run("steps", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			h := NewHold(true)
			out := asked(t.Context(), h, three("e-1")...)
			for _, want := range []repair.Point{repair.BeforeModel, repair.BeforeTool, repair.BeforeResolve} {
				synctest.Wait()
				if w := h.Waiting(); w == nil || w.Point != want {
					t.Fatalf("waits at %+v, want %s", w, want)
				}
				time.Sleep(time.Hour) // a person may think as long as they like
				if !h.Step() {
					t.Fatal("the step was not taken")
				}
				synctest.Wait()
			}
			n := 0
			for a := range out {
				if n++; a != repair.ActionContinue {
					t.Errorf("action %v", a)
				}
			}
			if n != 4 {
				t.Errorf("%d checkpoints passed, want 4: a result is no place to wait", n)
			}
			if h.Step() || h.Continue() || h.Cancel() {
				t.Error("something is held that is not")
			}
		})
	})
	t.Run("continue is for one run", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			h := NewHold(true)
			out := asked(t.Context(), h, three("e-1")...)
			synctest.Wait()
			h.Continue()
			synctest.Wait()
			if len(out) != 4 {
				t.Fatalf("%d of 4 checkpoints passed", len(out))
			}
			again := three("e-1")
			for i := range again {
				again[i].Attempt = 2
			}
			asked(t.Context(), h, again[0])
			synctest.Wait()
			if h.Waiting() == nil {
				t.Error("the next run must be held again")
			}
			h.Cancel()
		})
	})
	t.Run("cancel", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			h := NewHold(true)
			out := asked(t.Context(), h, three("e-1")...)
			synctest.Wait()
			h.Cancel()
			if a := <-out; a != repair.ActionCancel {
				t.Errorf("action %v, want cancel", a)
			}
		})
	})
	t.Run("the end of the run frees it", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			ctx, stop := context.WithCancel(t.Context())
			h := NewHold(true)
			out := asked(ctx, h, three("e-1")...)
			synctest.Wait()
			stop()
			if a := <-out; a != repair.ActionCancel {
				t.Errorf("action %v, want cancel", a)
			}
			synctest.Wait()
			if h.Waiting() != nil {
				t.Error("still waiting")
			}
		})
	})
	t.Run("two episodes queue", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			h := NewHold(true)
			a := asked(t.Context(), h, checkpoint("e-1", 1, repair.BeforeModel))
			synctest.Wait()
			b := asked(t.Context(), h, checkpoint("e-2", 1, repair.BeforeModel))
			synctest.Wait()
			if w := h.Waiting(); w.EpisodeID != "e-1" {
				t.Fatalf("waits in %s", w.EpisodeID)
			}
			h.Step()
			<-a
			synctest.Wait()
			if w := h.Waiting(); w == nil || w.EpisodeID != "e-2" {
				t.Fatalf("waits at %+v, want e-2", w)
			}
			h.Step()
			<-b
		})
	})
}

// A run that goes on is held where a breakpoint holds; one that lasts holds once in a run.
func TestHoldBreakpoints(t *testing.T) {
	cents := 0.02
	add := checkpoint("e-1", 2, repair.BeforeTool)
	add.Call = &episode.Call{Name: "harness_rule_add", Arguments: "{}"}
	dear := checkpoint("e-1", 3, repair.BeforeModel)
	dear.Spent.CostUSD = &cents
	dearer := checkpoint("e-1", 4, repair.BeforeModel)
	dearer.Spent.CostUSD = &cents
	run := []repair.Checkpoint{checkpoint("e-1", 1, repair.BeforeModel), add, dear, dearer}
	breaks := func(texts ...string) (out []repair.Breakpoint) {
		for _, x := range texts {
			b, err := repair.ParseBreakpoint(x)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, b)
		}
		return out
	}
	for _, every := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			h := NewHold(every)
			h.SetBreakpoints(breaks("tool:rule_add", "cost>0.01"))
			out := asked(t.Context(), h, run...)
			if every {
				synctest.Wait()
				if w := h.Waiting(); w == nil || w.Break != "" || w.Turn != 1 {
					t.Fatalf("waits at %+v, want the first checkpoint", w)
				}
				h.Continue()
			}
			for _, want := range []string{"tool:rule_add", "cost>0.01"} {
				synctest.Wait()
				if w := h.Waiting(); w == nil || w.Break != want {
					t.Fatalf("every=%v: waits at %+v, want %s", every, w, want)
				}
				h.Continue()
			}
			synctest.Wait()
			if len(out) != len(run) {
				t.Errorf("every=%v: %d of %d checkpoints passed", every, len(out), len(run))
			}
		})
	}
	t.Run("a step from a breakpoint holds at the next checkpoint", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			h := NewHold(false)
			h.SetBreakpoints(breaks("tool:rule_add"))
			asked(t.Context(), h, run...)
			synctest.Wait()
			h.Step()
			synctest.Wait()
			if w := h.Waiting(); w == nil || w.Turn != 3 || w.Break != "" {
				t.Errorf("waits at %+v, want turn 3", w)
			}
			h.Cancel()
		})
	})
}

// The waiting is told on the bus, so that panes need not look for it.
func TestHoldTells(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bus, h := event.NewBus(), NewHold(true)
		h.Bind(bus, time.Now)
		sub := bus.Subscribe(16)
		defer sub.Close()
		out := asked(t.Context(), h, checkpoint("e-1", 3, repair.BeforeTool))
		synctest.Wait()
		h.Step()
		<-out
		synctest.Wait()
		b, _ := sub.TryNext()
		if len(b.Events) != 2 || b.Events[0].Type != event.StepWaiting || b.Events[0].Data["waiting"] != true || b.Events[1].Data["waiting"] != false ||
			b.Events[0].EpisodeID != "e-1" || b.Events[0].Data["turn"] != 3 {
			t.Errorf("told %+v", b.Events)
		}
	})
}
