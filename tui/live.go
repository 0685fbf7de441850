package tui

import (
	"slices"

	"vise/engine/event"
	"vise/engine/trace"
)

// Bounds of what is kept of turns that are not stored yet: a run has one at a time, and
// the driver bounds its bytes.
const (
	liveTurnsHeld = 8
	liveSpansHeld = 50000
)

// liveTurns are the spans of turns that agents are working on, from events, since the store has
// a turn only once it has ended. They are kept apart from the pane that shows them: a person
// looks elsewhere while a run goes on, and comes back. The zero value is empty.
type liveTurns struct {
	turns    []*liveTurn // that with the newest span last
	sessions []string    // in which an agent is at work
}

type liveTurn struct {
	session string
	index   int
	spans   []trace.Span
	at      map[string]int // by id
}

// take keeps what an event tells. Runs of a validation are not looked at live.
func (l *liveTurns) take(e event.Event) {
	if e.CaseID != "" {
		return
	}
	switch e.Type {
	case event.AgentStarted:
		if l.sessions = append(l.sessions, e.SessionID); len(l.sessions) > liveTurnsHeld {
			l.sessions = l.sessions[1:]
		}
	case event.AgentExited:
		l.sessions = slices.DeleteFunc(l.sessions, func(id string) bool { return id == e.SessionID })
		l.turns = slices.DeleteFunc(l.turns, func(t *liveTurn) bool { return t.session == e.SessionID })
	case event.TurnReplayed:
		if e.TurnIndex != nil {
			l.turns = slices.DeleteFunc(l.turns, func(t *liveTurn) bool { return t.session == e.SessionID && t.index == *e.TurnIndex })
		}
	case event.SpanProgress:
		if s, ok := e.Data["span"].(trace.Span); ok && e.TurnIndex != nil {
			l.turn(e.SessionID, *e.TurnIndex).upsert(s)
		}
	}
}

func (l *liveTurns) turn(session string, index int) *liveTurn {
	i := slices.IndexFunc(l.turns, func(t *liveTurn) bool { return t.session == session && t.index == index })
	t := &liveTurn{session: session, index: index, at: map[string]int{}}
	if i >= 0 {
		t = l.turns[i]
		l.turns = slices.Delete(l.turns, i, i+1)
	} else if len(l.turns) == liveTurnsHeld {
		l.turns = slices.Delete(l.turns, 0, 1)
	}
	l.turns = append(l.turns, t)
	return t
}

func (t *liveTurn) upsert(s trace.Span) {
	if i, ok := t.at[s.ID]; ok {
		t.spans[i] = s
	} else if len(t.spans) < liveSpansHeld {
		t.at[s.ID] = len(t.spans)
		t.spans = append(t.spans, s)
	}
}

// Spans are those that have come of a turn that is not stored, in order; they must not
// be changed. None for any other turn.
func (l *liveTurns) Spans(session string, index int) []trace.Span {
	for _, t := range l.turns {
		if t.session == session && t.index == index {
			return t.spans
		}
	}
	return nil
}

// Turns are the turns of a session that have begun and are not stored, in order.
func (l *liveTurns) Turns(session string) []int {
	var out []int
	for _, t := range l.turns {
		if t.session == session {
			out = append(out, t.index)
		}
	}
	slices.Sort(out)
	return out
}

// Running reports whether an agent is at work on a session.
func (l *liveTurns) Running(session string) bool { return slices.Contains(l.sessions, session) }
