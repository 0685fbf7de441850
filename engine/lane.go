package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"vise/engine/event"
	"vise/engine/gate"
	"vise/engine/notice"
	"vise/engine/score"
	"vise/engine/score/local"
	"vise/engine/trace"
	"vise/store"
)

// lane evaluates the turns of one session in order, one at a time. A turn that
// arrives while another is being scored waits; none is skipped or cancelled, and
// a turn counts as seen only in the transaction that stores its scores.
type lane struct {
	running bool
	wanted  bool          // turns may have come since the worker last looked
	idle    chan struct{} // closed when the worker has nothing left
	err     error         // of the last evaluation

	// The evaluator's fold over the session so far, and the turn it expects next.
	eval *local.Evaluator
	next int
	// until stops the worker before this turn when it is positive: a recorded
	// session, whose turns are all there at once, is settled turn by turn too.
	until int
}

// sessionState is what the harness remembers of a session between turns: one
// small document, so that a turn costs the same however long the session is.
type sessionState struct {
	// Next is the index of the first turn that has not been scored.
	Next int         `json:"next"`
	Gate gate.States `json:"gate,omitempty"`
	// GateBy is whose scores the gate was folded from: those of another evaluator start anew.
	GateBy    string            `json:"gate_by,omitempty"`
	Dedup     notice.Dedup      `json:"dedup"`
	Admission gate.SessionState `json:"admission"`
	// Down: an outage of the evaluator at the turn Next has been journalled.
	Down bool `json:"down,omitempty"`
	// Alerted: the session has alerted before. Quiet: its latest report was quiet.
	Alerted bool `json:"alerted,omitempty"`
	Quiet   bool `json:"quiet,omitempty"`
	// Again: turns are, or were, evaluated again; a notice that is there is not raised twice.
	Again bool `json:"again,omitempty"`
}

func stateName(session string) string { return "session/" + session }

// EndTurn stores a finished turn and returns; scoring goes on behind it. Settle
// waits for it. The turn's session must have begun.
func (h *Harness) EndTurn(ctx context.Context, t trace.Turn) error {
	if t.SessionID == "" {
		return errors.New("end turn: the turn names no session")
	}
	if t.TraceID == "" {
		t.TraceID = traceID(t.SessionID, t.Index)
	}
	if err := h.ctx.Err(); err != nil {
		return fmt.Errorf("end turn %d of session %s: %w", t.Index, t.SessionID, ErrClosed)
	}
	t.Spans = slices.Clone(t.Spans) // the caller's stay as they are
	h.red.Turn(&t)
	staged, err := h.store.StageTurn(ctx, t)
	if err != nil {
		return fmt.Errorf("end turn %d of session %s: %w", t.Index, t.SessionID, err)
	}
	counts := trace.Count([]trace.Turn{t})
	if err := h.store.Update(ctx, func(tx *store.Tx) error {
		if err := tx.PutTurn(staged); err != nil {
			return err
		}
		return tx.Emit(event.Event{Type: event.TurnReplayed, SessionID: t.SessionID, TurnIndex: event.Turn(t.Index),
			Data: map[string]any{"calls": counts.Calls, "errors": counts.Errors, "steps": counts.Steps, "stop_reason": t.StopReason}})
	}); err != nil {
		return fmt.Errorf("end turn %d of session %s: %w", t.Index, t.SessionID, err)
	}
	if !t.Usage.IsZero() && !h.booked {
		h.ledger.Add("agent", t.Usage)
	}
	h.wake(t.SessionID)
	return nil
}

// wake makes sure that a worker looks at the session's unscored turns.
func (h *Harness) wake(session string) *lane {
	h.mu.Lock()
	defer h.mu.Unlock()
	l := h.lane(session)
	l.wanted = true
	if !l.running && h.ctx.Err() == nil {
		l.running, l.idle = true, make(chan struct{})
		h.work.Add(1)
		go h.run(session, l)
	}
	return l
}

// lane returns the lane of a session; h.mu is held.
func (h *Harness) lane(session string) *lane {
	l := h.lanes[session]
	if l == nil {
		l = &lane{}
		h.lanes[session] = l
	}
	return l
}

// run is the worker of one lane; it ends when nothing is left to score.
func (h *Harness) run(session string, l *lane) {
	defer h.work.Done()
	for {
		h.mu.Lock()
		if !l.wanted || h.ctx.Err() != nil {
			l.running = false
			close(l.idle)
			h.mu.Unlock()
			return
		}
		l.wanted = false
		h.mu.Unlock()

		err := h.evaluateNew(session, l)
		h.mu.Lock()
		l.err = err
		h.mu.Unlock()
		if err != nil && h.ctx.Err() == nil {
			h.log.Error("evaluate", "session", session, "err", err)
		}
	}
}

// forget drops what is kept in memory of an ended session.
func (h *Harness) forget(session string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if l := h.lanes[session]; l != nil && !l.running {
		delete(h.lanes, session)
	}
}

// Await waits until the session's stored turns are scored and repairs nothing. It returns
// false when the context, or settle.barrier_timeout, ended first.
func (h *Harness) Await(ctx context.Context, session string) (bool, error) {
	return h.await(ctx, session)
}

// await waits until the session's stored turns are scored. It returns false
// when the context or the barrier ended first.
func (h *Harness) await(ctx context.Context, session string) (bool, error) {
	l := h.wake(session)
	h.mu.Lock()
	idle := l.idle
	h.mu.Unlock()
	if idle == nil {
		return false, ErrClosed
	}
	ctx, stop := context.WithTimeout(ctx, h.cfg.Settle.BarrierTimeout)
	defer stop()
	select {
	case <-idle:
		h.mu.Lock()
		defer h.mu.Unlock()
		return l.err == nil, l.err
	case <-ctx.Done():
		return false, nil
	}
}

// evaluateNew scores every stored turn that has not been scored, in order.
func (h *Harness) evaluateNew(session string, l *lane) error {
	select {
	case h.slot <- struct{}{}:
		defer func() { <-h.slot }()
	case <-h.ctx.Done():
		return context.Cause(h.ctx)
	}
	for h.ctx.Err() == nil {
		var head trace.Session
		var state sessionState
		var turn trace.Turn
		var ok bool
		later := -1
		if err := h.store.View(func(tx *store.Tx) (err error) {
			if head, ok, err = tx.Session(session); err != nil || !ok {
				return err
			}
			if _, err = tx.State(stateName(session), &state); err != nil {
				return err
			}
			if turn, ok, err = tx.Turn(session, state.Next); ok || err != nil {
				return err
			}
			return tx.EachTurn(session, state.Next+1, 1, func(t trace.Turn) (bool, error) {
				later = t.Index
				return false, nil
			})
		}); err != nil {
			return fmt.Errorf("read session %s: %w", session, err)
		}
		h.mu.Lock()
		stop := l.until > 0 && state.Next >= l.until
		h.mu.Unlock()
		if stop || !ok && later < 0 {
			return nil
		}
		if !ok {
			if err := h.passOver(session, state, later); err != nil {
				return fmt.Errorf("pass over turn %d of session %s: %w", state.Next, session, err)
			}
			continue
		}
		err := h.evaluate(head, turn, state, l)
		if errors.Is(err, errMoved) {
			continue
		}
		if err != nil {
			return fmt.Errorf("evaluate session %s turn %d: %w", session, turn.Index, err)
		}
	}
	return context.Cause(h.ctx)
}

// errMoved tells that what is remembered of a session changed while a turn of it was being
// evaluated: its recording was imported anew, say. The result is about what was; the next
// look at the session finds what is.
var errMoved = errors.New("the session changed while it was evaluated")

// unmoved fails with errMoved when the state of a session is not what it was read as.
func unmoved(tx *store.Tx, session string, was []byte) error {
	var now sessionState
	if _, err := tx.State(stateName(session), &now); err != nil {
		return err
	}
	raw, err := json.Marshal(now)
	if err == nil && !bytes.Equal(raw, was) {
		err = errMoved
	}
	return err
}

// passOver goes on at a later turn where the next one cannot be read, and says so in the
// journal: a damaged turn must not keep all that follow from being scored.
func (h *Harness) passOver(session string, state sessionState, later int) error {
	was, err := json.Marshal(state)
	if err != nil {
		return err
	}
	missing := state.Next
	state.Next, state.Down = later, false
	err = h.store.Update(h.ctx, func(tx *store.Tx) error {
		if err := unmoved(tx, session, was); err != nil {
			return err
		}
		if err := tx.PutState(stateName(session), state); err != nil {
			return err
		}
		return tx.Emit(event.Event{Type: event.Skip, SessionID: session, TurnIndex: event.Turn(missing),
			Data: map[string]any{"what": "evaluation", "reason": skipUnread, "turns": later - missing}})
	})
	if errors.Is(err, errMoved) {
		return nil
	}
	return err
}

// fold returns the scores of a turn from the session's running evaluator, which
// is rebuilt from the stored turns when it is not at this turn (after a restart).
func (h *Harness) fold(l *lane, head trace.Session, turn trace.Turn) ([]score.Score, error) {
	if l.eval == nil || l.next != turn.Index {
		if err := h.store.View(func(tx *store.Tx) error {
			l.eval = local.New(head, local.Options{Handoff: h.cfg.Evaluate.Handoff})
			if turn.Index == 0 {
				return nil
			}
			return tx.EachTurn(head.ID, 0, 0, func(t trace.Turn) (bool, error) {
				if t.Index < turn.Index {
					l.eval.Turn(t)
				}
				return t.Index+1 < turn.Index, nil
			})
		}); err != nil {
			l.eval = nil
			return nil, err
		}
	}
	l.next = turn.Index + 1
	return l.eval.Turn(turn), nil
}
