package tui

import (
	"context"
	"sync"
	"time"

	"vise/engine/event"
	"vise/engine/patch"
	"vise/engine/patch/run"
)

// PatchHold is the stepper of the patch loop in the workbench: it holds a loop
// before the effect of every state until a person steps, lets it go on, or
// cancels it. The loop's budget stands still meanwhile.
type PatchHold struct {
	mu      sync.Mutex
	bus     *event.Bus
	now     func() time.Time
	free    bool // a person let the loop go on
	waiting *run.Loop
	decide  chan patchDecision
}

type patchDecision struct{ free, cancel bool }

// NewPatchHold returns a hold that tells the bus when it begins and ends to wait.
func NewPatchHold(bus *event.Bus, now func() time.Time) *PatchHold {
	return &PatchHold{bus: bus, now: now}
}

// begin makes the next loop be held at its first state.
func (h *PatchHold) begin() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.free = false
}

// At implements patch.Stepper.
func (h *PatchHold) At(ctx context.Context, l run.Loop) error {
	h.mu.Lock()
	if h.free {
		h.mu.Unlock()
		return ctx.Err()
	}
	decide := make(chan patchDecision, 1)
	h.waiting, h.decide = &l, decide
	h.mu.Unlock()
	h.tell(l, true)
	defer func() {
		h.mu.Lock()
		h.waiting, h.decide = nil, nil
		h.mu.Unlock()
		h.tell(l, false)
	}()
	select {
	case d := <-decide:
		if d.cancel {
			return patch.Cancel()
		}
		h.mu.Lock()
		h.free = d.free
		h.mu.Unlock()
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (h *PatchHold) tell(l run.Loop, on bool) {
	if h.bus != nil {
		h.bus.Publish(event.Event{At: h.now(), Type: event.StepWaiting, RunID: l.RunID, Data: map[string]any{"waiting": on, "point": string(l.State), "attempt": l.Attempt}})
	}
}

// Waiting is the loop that is held, nil when none is.
func (h *PatchHold) Waiting() *run.Loop {
	if h == nil {
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.waiting
}

// Step lets one state pass, Continue all, Cancel ends the loop. They report
// whether anything was held.
func (h *PatchHold) Step() bool     { return h.decided(patchDecision{}) }
func (h *PatchHold) Continue() bool { return h.decided(patchDecision{free: true}) }
func (h *PatchHold) Cancel() bool   { return h.decided(patchDecision{cancel: true}) }

func (h *PatchHold) decided(d patchDecision) bool {
	if h == nil {
		return false
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.decide == nil {
		return false
	}
	select {
	case h.decide <- d:
		return true
	default:
		return false
	}
}
