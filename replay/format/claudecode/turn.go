package claudecode

import (
	"fmt"

	"vise/engine/trace"
)

// turn is a turn under construction.
type turn struct {
	trace.Turn
	open  map[string]int   // unanswered calls: tool id → span
	anon  map[string][]int // unanswered calls without an id, by chain, oldest first
	llm   map[string]int   // message id → span
	bytes int
	done  bool // handed on: nothing may change any more
}

func newTurn(input string, synthetic bool) *turn {
	return &turn{Turn: trace.Turn{Input: input, Synthetic: synthetic},
		open: map[string]int{}, anon: map[string][]int{}, llm: map[string]int{}}
}

// pending reports whether a call of the turn waits for its result.
func (t *turn) pending() bool {
	if len(t.open) > 0 {
		return true
	}
	for _, q := range t.anon {
		if len(q) > 0 {
			return true
		}
	}
	return false
}

// keep bounds the text of a turn: beyond maxTurnBytes only its length is kept.
func (t *turn) keep(s string) string {
	if t.bytes += len(s); t.bytes > maxTurnBytes && len(s) > 1024 {
		t.bytes -= len(s)
		return fmt.Sprintf("[%d bytes not kept: the turn is larger than %d MB]", len(s), maxTurnBytes>>20)
	}
	return s
}

// finish closes the turn: start, end and usage are those of its spans.
func (t *turn) finish() trace.Turn {
	t.done = true
	for i := range t.Spans {
		s := &t.Spans[i]
		if t.Start.IsZero() || !s.Start.IsZero() && s.Start.Before(t.Start) {
			t.Start = s.Start
		}
		if s.End.After(t.End) {
			t.End = s.End
		}
		if s.Kind == trace.LLM {
			t.Usage = t.Usage.Add(s.Usage)
		}
	}
	return t.Turn
}

// real reports whether the agent did anything in the turn.
func (t *turn) real() bool {
	for _, s := range t.Spans {
		if s.Kind != trace.CHAIN {
			return true
		}
	}
	return false
}

// add appends a span to the current turn and returns its index. Before any input
// that is a synthetic turn, which a first input takes over if it holds nothing
// the agent did.
func (s *session) add(span trace.Span) int {
	if s.cur == nil {
		s.cur = newTurn("", true)
	}
	t := s.cur
	span.ID = s.uniqueID(span.ID, fmt.Sprintf("s%d.%d", s.turns, len(t.Spans)))
	span.Input, span.Output, span.Thought = t.keep(span.Input), t.keep(span.Output), t.keep(span.Thought)
	t.Spans = append(t.Spans, span)
	return len(t.Spans) - 1
}

// input opens the turn of a user text.
func (s *session) input(text string, r *record) error {
	rewind := -1
	if r.ParentUUID != "" {
		if at, ok := s.prompt[r.ParentUUID]; ok {
			rewind = at
		} else if len(s.prompt) >= maxKnown {
			clear(s.prompt)
		}
	}
	if s.cur != nil && s.cur.Synthetic && !s.cur.real() {
		s.cur.Synthetic, s.cur.Input = false, text
	} else {
		if err := s.finishTurn(); err != nil {
			return err
		}
		s.cur = newTurn(text, false)
	}
	s.cur.Start, s.cur.End = r.at, r.at
	s.prompt[r.ParentUUID] = s.turns
	if rewind >= 0 && r.ParentUUID != "" {
		// Two user texts with one parent: the person went back and asked again.
		// The turns from the first one on are not part of this conversation.
		s.add(trace.Span{Kind: trace.CHAIN, Name: "rewind", Start: r.at, End: r.at,
			Attrs: map[string]any{"abandons_from_turn": rewind}})
	}
	return nil
}

// finishTurn puts the current turn behind the held ones and lets go of those
// that wait for nothing, or have waited long enough.
func (s *session) finishTurn() error {
	if s.cur == nil {
		return nil
	}
	s.held = append(s.held, s.cur)
	s.cur = nil
	s.turns++
	for len(s.held) > 0 && (!s.held[0].pending() || len(s.held) > maxHeld) {
		t := s.held[0]
		if len(s.models) > maxKnown {
			clear(s.models)
		}
		for id := range t.llm {
			s.models[id] = true
		}
		if err := s.rec.Turn(t.finish()); err != nil {
			return err
		}
		s.held = s.held[1:]
	}
	return nil
}

// find returns the turn that has a value in one of its tables, the current one first.
func (s *session) find(has func(*turn) bool) *turn {
	if s.cur != nil && has(s.cur) {
		return s.cur
	}
	for i := len(s.held) - 1; i >= 0; i-- {
		if has(s.held[i]) {
			return s.held[i]
		}
	}
	return nil
}
