package replay

import (
	"cmp"
	"time"

	"vise/replay/otlp"
)

// maxHeldTraces is how many traces wait of which nobody knows yet whose they are; their
// spans together are at most maxToldSpans.
const maxHeldTraces = 256

// heldTrace is what has come of a trace that names no conversation: exporters send the
// ends of steps before that of the agent, which does.
type heldTrace struct {
	otlp.Trace
	last time.Time // last sign of it
}

// hold keeps a trace until it is known whose it is, or it is silent for too long.
func (l *Listener) hold(t otlp.Trace) {
	spans := len(t.Turn.Spans)
	for _, h := range l.held {
		spans += len(h.Turn.Spans)
	}
	for id, h := range l.held {
		if len(l.held) < maxHeldTraces && spans <= maxToldSpans {
			break
		}
		delete(l.held, id)
		spans -= len(h.Turn.Spans)
		l.trace(h.Trace, false)
	}
	l.held[t.ID] = &heldTrace{t, l.o.Now()}
	if l.idling != nil {
		l.idling(errTurn)
	}
}

// with adds what came later.
func (h *heldTrace) with(t otlp.Trace) otlp.Trace {
	t.Turn.Spans = append(h.Turn.Spans, t.Turn.Spans...)
	t.Turn.Input = cmp.Or(t.Turn.Input, h.Turn.Input)
	if t.Turn.Start.IsZero() || !h.Turn.Start.IsZero() && h.Turn.Start.Before(t.Turn.Start) {
		t.Turn.Start = h.Turn.Start
	}
	t.Session.ID, t.Session.Agent, t.Session.System = cmp.Or(t.Session.ID, h.Session.ID), cmp.Or(t.Session.Agent, h.Session.Agent), cmp.Or(t.Session.System, h.Session.System)
	if len(t.Session.Tools) == 0 {
		t.Session.Tools = h.Session.Tools
	}
	t.Whole = t.Whole || h.Whole
	return t
}

// release takes the traces that have been silent for as long as a turn may be, and returns
// how long until the next of them. Nothing more is to come of them: they are cut off.
func (l *Listener) release(now time.Time) time.Duration {
	next := time.Hour
	for id, h := range l.held {
		if left := h.last.Add(l.o.Longest).Sub(now); left > 0 {
			next = min(next, left)
			continue
		}
		delete(l.held, id)
		l.trace(h.Trace, false)
		if s := l.traces[id]; s != nil && s.turn != nil {
			s.turn.last = h.last
		}
	}
	return next
}
