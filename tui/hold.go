package tui

import (
	"context"
	"strconv"
	"sync"
	"time"

	"vise/engine/event"
	"vise/engine/repair"
)

// Hold is the stepper of the workbench: it holds every episode at its first
// checkpoint until a person steps, lets it go on, or cancels it. Give it to
// engine.Options.Stepper and to Config.Stepper. While it holds, the clocks of the
// episode stand still.
type Hold struct {
	mu      sync.Mutex
	bus     *event.Bus
	now     func() time.Time
	free    map[string]bool // episodes (with attempt) that a person let go on
	waiting *Held
	place   chan struct{} // one checkpoint is held at a time; others queue
}

// Held is a checkpoint at which a repair waits.
type Held struct {
	repair.Checkpoint
	decide chan decision
}

type decision struct {
	action repair.Action
	free   bool
}

// NewHold returns a stepper that holds.
func NewHold() *Hold { return &Hold{free: map[string]bool{}, place: make(chan struct{}, 1)} }

// Bind makes the hold publish event.StepWaiting, with Data["waiting"], whenever it
// begins or ends to wait.
func (h *Hold) Bind(bus *event.Bus, now func() time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.bus, h.now = bus, now
}

// At implements repair.Stepper. It holds before a model call, before a tool call
// and before the episode resolves; a result needs no step of its own, it is seen
// in the prompt that follows.
func (h *Hold) At(ctx context.Context, c repair.Checkpoint) (repair.Action, error) {
	if err := ctx.Err(); err != nil {
		return repair.ActionCancel, err
	}
	key := runKey(c)
	h.mu.Lock()
	free := h.free[key]
	h.mu.Unlock()
	if free || c.Point == repair.AfterTool {
		return repair.ActionContinue, nil
	}
	select {
	case h.place <- struct{}{}:
		defer func() { <-h.place }()
	case <-ctx.Done():
		return repair.ActionCancel, ctx.Err()
	}
	held := &Held{Checkpoint: c, decide: make(chan decision, 1)}
	h.set(held, true)
	defer h.set(held, false)
	select {
	case d := <-held.decide:
		if d.free {
			h.mu.Lock()
			clear(h.free) // an older run of an episode does not come back
			h.free[key] = true
			h.mu.Unlock()
		}
		return d.action, nil
	case <-ctx.Done():
		return repair.ActionCancel, ctx.Err()
	}
}

func runKey(c repair.Checkpoint) string {
	return c.EpisodeID + "#" + strconv.Itoa(c.Attempt)
}

func (h *Hold) set(held *Held, on bool) {
	h.mu.Lock()
	if on {
		h.waiting = held
	} else {
		h.waiting = nil
	}
	bus, now := h.bus, h.now
	h.mu.Unlock()
	if bus != nil {
		bus.Publish(event.Event{At: now(), Type: event.StepWaiting, SessionID: held.SessionID, EpisodeID: held.EpisodeID,
			Data: map[string]any{"waiting": on, "point": string(held.Point), "turn": held.Turn, "attempt": held.Attempt}})
	}
}

// Waiting returns the checkpoint that is held, nil when none is.
func (h *Hold) Waiting() *Held {
	if h == nil {
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.waiting
}

// Step lets the held checkpoint pass and holds at the next one. It reports
// whether anything was held; a second key press at the same checkpoint does nothing.
func (h *Hold) Step() bool { return h.decide(decision{action: repair.ActionContinue}) }

// Continue lets the episode run to its end.
func (h *Hold) Continue() bool {
	return h.decide(decision{action: repair.ActionContinue, free: true})
}

// Cancel ends the episode; nothing is acknowledged.
func (h *Hold) Cancel() bool { return h.decide(decision{action: repair.ActionCancel}) }

func (h *Hold) decide(d decision) bool {
	held := h.Waiting()
	if held == nil {
		return false
	}
	select {
	case held.decide <- d:
		return true
	default:
		return false
	}
}
