package tui

import (
	"context"
	"slices"
	"strconv"
	"sync"
	"time"

	"vise/engine/event"
	"vise/engine/repair"
)

// Hold is the stepper of the workbench: it holds every episode at its first
// checkpoint until a person steps, lets it go on, or cancels it, and one that goes on
// where a breakpoint holds. Give it to engine.Options.Stepper and to Config.Stepper.
// While it holds, the clocks of the episode stand still.
type Hold struct {
	mu      sync.Mutex
	bus     *event.Bus
	now     func() time.Time
	every   bool            // runs are held from their first checkpoint on
	free    map[string]bool // runs (episode and attempt) that go on (true) or are stepped
	breaks  []repair.Breakpoint
	passed  map[string]bool // run and lasting breakpoint that has held already
	waiting *Held
	place   chan struct{} // one checkpoint is held at a time; others queue
}

// Held is a checkpoint at which a repair waits.
type Held struct {
	repair.Checkpoint
	// Break is the breakpoint that holds it; "" = it is stepped.
	Break  string
	decide chan decision
}

type decision struct {
	action repair.Action
	free   bool
}

// NewHold returns a stepper that holds runs from their first checkpoint on (every), or
// at breakpoints only.
func NewHold(every bool) *Hold {
	return &Hold{every: every, free: map[string]bool{}, passed: map[string]bool{}, place: make(chan struct{}, 1)}
}

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
	why, hold := h.holds(key, c)
	if !hold {
		return repair.ActionContinue, nil
	}
	select {
	case h.place <- struct{}{}:
		defer func() { <-h.place }()
	case <-ctx.Done():
		return repair.ActionCancel, ctx.Err()
	}
	held := &Held{Checkpoint: c, Break: why, decide: make(chan decision, 1)}
	h.set(held, true)
	defer h.set(held, false)
	select {
	case d := <-held.decide:
		h.mu.Lock()
		if len(h.free) >= maxPassed {
			clear(h.free) // runs of old; an older run of an episode does not come back
		}
		h.free[key] = d.free
		h.mu.Unlock()
		return d.action, nil
	case <-ctx.Done():
		return repair.ActionCancel, ctx.Err()
	}
}

// holds decides whether a checkpoint is held, and by which breakpoint.
func (h *Hold) holds(key string, c repair.Checkpoint) (why string, hold bool) {
	if c.Point == repair.AfterTool {
		return "", false
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, b := range h.breaks {
		if !b.At(c) {
			continue
		}
		if once := key + " " + b.String(); b.Lasting() {
			if h.passed[once] {
				continue
			}
			if len(h.passed) >= maxPassed {
				clear(h.passed)
			}
			h.passed[once] = true
		}
		if why == "" {
			why = b.String()
		}
	}
	free, known := h.free[key]
	return why, why != "" || known && !free || !known && h.every
}

// maxPassed bounds what is remembered of runs and of breakpoints that have held in them,
// maxBreaks the breakpoints themselves.
const (
	maxPassed = 1000
	maxBreaks = 50
)

// Breakpoints are those that are set, oldest first.
func (h *Hold) Breakpoints() []repair.Breakpoint {
	if h == nil {
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.breaks)
}

// SetBreakpoints replaces them; they hold from the next checkpoint on.
func (h *Hold) SetBreakpoints(list []repair.Breakpoint) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.breaks = slices.Clone(list)
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
			Data: map[string]any{"waiting": on, "point": string(held.Point), "turn": held.Turn, "attempt": held.Attempt, "break": held.Break}})
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

// Continue lets the episode run to its end, or to the next breakpoint.
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
