package acp

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	sdk "github.com/coder/acp-go-sdk"

	"vise/engine/trace"
	"vise/replay/driver"
)

var (
	errStart = errors.New("the agent did not open a session in time; raise agent.start_timeout if it starts slowly")
	errTurn  = errors.New("the turn took longer than agent.turn_timeout")
	errSaid  = errors.New("the agent said more in this turn than is taken")
	errIdle  = errors.New("nothing was heard from the agent for agent.idle_timeout")
)

// Prompt sends one user input. When the time is up, or ctx ends, the agent is
// told to cancel; if it does not answer within the grace its group is ended
// and the session is over.
func (s *session) Prompt(ctx context.Context, index int, input string) (trace.Turn, error) {
	op := fmt.Sprintf("prompt turn %d", index)
	turn := trace.Turn{SessionID: s.cfg.SessionID, Index: index, TraceID: fmt.Sprintf("%s.%d", s.cfg.SessionID, index),
		Input: input, Start: s.cfg.Now(), Spans: []trace.Span{}}
	if s.dead != nil {
		turn.End = turn.Start
		e := *s.dead
		e.Op = op
		return turn, &e
	}
	// Once, an agent that ended between turns is started again: also when that shows only
	// by its not saying a word to the prompt.
	preamble := !s.prompted
	for tried := false; ; tried = true {
		if s.over() {
			revived, err := s.revive(ctx)
			if err != nil {
				turn.End = s.cfg.Now()
				failed, ok := err.(*driver.Error)
				if !ok {
					failed = s.failure(op, err)
				}
				s.dead = failed
				return turn, failed
			}
			if revived {
				s.prompted = !preamble
			}
		}
		heard := s.c.handled.Load()
		got, err := s.ask(ctx, op, turn)
		if tried || err == nil || driver.KindOf(err) != driver.AgentExited || s.c.handled.Load() != heard || !s.revivable(ctx) {
			return got, err
		}
		s.dead = nil
	}
}

// ask sends the input of a turn and waits for its end.
func (s *session) ask(ctx context.Context, op string, turn trace.Turn) (trace.Turn, error) {
	index, input := turn.Index, turn.Input
	turn.Start = s.cfg.Now()
	rec := &recorder{turn: index, id: turn.TraceID, now: s.cfg.Now, maxSpans: s.cfg.MaxSpans, left: s.cfg.MaxTurn, said: s.cfg.MaxSaid, full: make(chan struct{}),
		tools: map[string]*building{}, terms: map[string]*terminal{}, emit: func(sp trace.Span) { s.cfg.OnSpan(index, sp) }}
	s.recMu.Lock()
	s.rec = rec
	s.turns++
	id := s.id
	s.recMu.Unlock()
	// The turn ends on the reader goroutine, in the order of the messages:
	// what follows the answer is late, however soon it is read.
	got := make(chan message, 1)
	ended := make(chan []trace.Span, 1)
	answer := func(m message) {
		if spans, ok := s.freeze(rec); ok {
			ended <- spans
		}
		got <- m
	}
	defer s.room.endTurn()
	s.beat(func(*driver.Info) {})
	prompt := []sdk.ContentBlock{sdk.TextBlock(input)}
	if !s.prompted && s.cfg.Preamble != "" {
		prompt = []sdk.ContentBlock{sdk.TextBlock(s.cfg.Preamble + "\n\n"), sdk.TextBlock(input)}
	}
	err := s.c.request(sdk.AgentMethodSessionPrompt, sdk.PromptRequest{SessionId: id, Prompt: prompt}, answer)
	s.prompted = true
	var m *message
	if err == nil {
		m, err = s.await(ctx, index, got, rec.full)
	}
	gone := false
	if m != nil {
		s.didSomething()
	}
	if m == nil && undecided(err) {
		m, gone = s.cancel(id, got)
	}
	var spans []trace.Span
	if frozen, ok := s.freeze(rec); ok {
		spans = frozen
	} else {
		spans = <-ended
	}
	turn.Spans = spans
	turn.End = s.cfg.Now()
	var done sdk.PromptResponse
	if m != nil {
		derr := m.decode(&done)
		turn.StopReason = oneLine(string(done.StopReason), 64)
		turn.Usage = s.usage(rec, &done)
		if err == nil {
			err = derr
		}
	}
	if err == nil {
		return turn, nil
	}
	failed := s.failure(op, err)
	if m == nil || gone {
		s.dead = failed
	}
	return turn, failed
}

// freeze closes the recorder; false when it was closed before.
func (s *session) freeze(rec *recorder) ([]trace.Span, bool) {
	s.recMu.Lock()
	defer s.recMu.Unlock()
	if s.rec != rec {
		return nil, false
	}
	s.rec = nil
	return rec.finish(), true
}

// await waits for the answer, and for the reasons not to wait any longer.
func (s *session) await(ctx context.Context, index int, got <-chan message, full <-chan struct{}) (*message, error) {
	began, wait := s.began, s.cfg.EnvWait
	select {
	case <-began:
		wait = 0
	default:
	}
	turn := time.NewTimer(s.cfg.TurnTimeout + wait)
	defer turn.Stop()
	idle := time.NewTimer(s.cfg.IdleTimeout / 2)
	defer idle.Stop()
	told := false // that it is silent
	for {
		select {
		case m := <-got:
			return &m, nil
		case <-began:
			if began = nil; wait > 0 {
				wait = 0
				turn.Reset(s.cfg.TurnTimeout)
				idle.Reset(s.cfg.IdleTimeout / 2)
			}
		case <-s.c.done:
			select {
			case m := <-got:
				return &m, nil
			default:
				return nil, s.c.err
			}
		case <-ctx.Done():
			return nil, cancelled(ctx)
		case <-full:
			return nil, fmt.Errorf("%w (%d bytes)", errSaid, s.cfg.MaxSaid)
		case <-turn.C:
			return nil, errTurn
		case <-idle.C:
			s.mu.Lock()
			silent := time.Since(s.heard)
			s.mu.Unlock()
			limit := max(s.cfg.IdleTimeout, wait)
			switch {
			case s.room.running(): // it may well be waiting for a command of its own
				idle.Reset(limit)
			case silent >= limit:
				return nil, errIdle
			case silent >= limit/2:
				if !told {
					s.cfg.OnIdle(index, silent)
				}
				told = true
				idle.Reset(limit - silent)
			default:
				told = false
				idle.Reset(limit/2 - silent)
			}
		}
	}
}

// undecided says that the agent may still be at work, so that it must be told to stop.
func undecided(err error) bool {
	var answered *answerError
	return err != nil && !errors.As(err, &answered) && !errors.Is(err, errClosed) && !errors.Is(err, errLineTooLong) && !errors.Is(err, errDeaf)
}

// cancel asks the agent to end the turn and waits for the grace; gone means
// that it did not and was ended.
func (s *session) cancel(id sdk.SessionId, got <-chan message) (m *message, gone bool) {
	if s.c.notify(sdk.AgentMethodSessionCancel, sdk.CancelNotification{SessionId: id}) == nil {
		t := time.NewTimer(s.cfg.CancelGrace)
		defer t.Stop()
		select {
		case a := <-got:
			return &a, false
		case <-s.c.done:
		case <-t.C:
		}
	}
	s.proc.Stop()
	return nil, true
}

// usage is what the turn used. Two agents that both report "usage" mean
// different things: the Claude adapter counts over the session, opencode gives
// the last model call. The former is turned into a difference; the latter is
// all there is, and less than the truth. Costs are always told over the session.
func (s *session) usage(rec *recorder, done *sdk.PromptResponse) trace.Usage {
	u := usageOf(done.Usage)
	if strings.Contains(strings.ToLower(s.Info().Agent), "claude") {
		total := u
		u.Input = max(0, u.Input-s.lastUse.Input)
		u.Output = max(0, u.Output-s.lastUse.Output)
		u.Cached = max(0, u.Cached-s.lastUse.Cached)
		u.Reasoning = max(0, u.Reasoning-s.lastUse.Reasoning)
		s.lastUse = total
	}
	if rec.cost != nil {
		d := max(0, *rec.cost-s.lastCost)
		s.lastCost = *rec.cost
		u.CostUSD = &d
	}
	return u
}

// failure turns a cause into a driver's error. When the agent cannot go on it
// is ended first, so that the message can say how it ended.
func (s *session) failure(op string, err error) *driver.Error {
	e := &driver.Error{Op: op, Err: err}
	var answered *answerError
	switch {
	case errors.As(err, &answered):
		e.Kind = driver.Refused
		return e
	case errors.Is(err, errStart), errors.Is(err, errTurn), errors.Is(err, context.DeadlineExceeded):
		e.Kind = driver.Timeout
	case errors.Is(err, errSaid):
		e.Kind = driver.OutputLimit
	case errors.Is(err, errIdle):
		e.Kind = driver.IdleTimeout
	case errors.Is(err, errLineTooLong):
		e.Kind = driver.LineTooLong
		s.proc.Stop()
	case errors.Is(err, errClosed):
		e.Kind = driver.AgentExited
		// Its output ended; its exit status follows in a moment, if it has one.
		t := time.NewTimer(politeWait)
		defer t.Stop()
		select {
		case <-s.proc.Exited():
		case <-t.C:
		}
		e.Exit = s.proc.Stop().String()
	case errors.As(err, new(*cancelError)):
		e.Kind = driver.Cancelled
	default:
		e.Kind = driver.Protocol
	}
	e.Stderr = s.proc.Tail()
	return e
}
