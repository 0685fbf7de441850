package replay

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"time"

	"vise/engine/event"
	"vise/engine/model/cassette"
	"vise/engine/trace"
	"vise/replay/format/recording"
	"vise/replay/llmproxy"
)

// heard is a session of an agent that was started by somebody else.
type heard struct {
	head   trace.Session
	source string // what it was first heard through: proxy | otlp
	name   string // as the agent names the conversation, "" if it does not
	last   time.Time
	next   int // index of the next turn
	turn   *heardTurn
	done   []string // trace ids of ended turns, the newest last
	ended  int      // turns

	// Where the conversation stands (llmproxy.Question, llmproxy.Reply).
	users   []llmproxy.Sum
	said    llmproxy.Sum
	replies []string // ids of answers
	asked   []string // ids of calls that the model asked for
	conns   []string // connections that it asked on

	calls  int // model calls so far
	tracer *llmproxy.Tracer
	mask   *liveMask
	read   map[string]bool // rules
}

// heardTurn is its open turn.
type heardTurn struct {
	index int
	input string
	start time.Time
	last  time.Time // last sign of it

	flying   int  // model calls under way
	proxied  bool // a model call of it was seen
	moved    bool // one was answered
	answered bool // the last one was no call for a tool, or its whole trace is there
	broken   bool // the last one got no whole answer
	hungUp   bool // as its answer broke off
	spent    bool // by the budget
	over     bool

	calls  []cassette.Exchange // not written yet
	bytes  int                 // of them
	told   []trace.Span        // by telemetry
	lost   int                 // spans beyond the bound
	traces []string            // their ids
}

// within notes that a trace tells of the turn.
func (t *heardTurn) within(traceID string) {
	if traceID != "" && len(t.traces) < maxTraces && !slices.Contains(t.traces, traceID) {
		t.traces = append(t.traces, traceID)
	}
}

// newest adds an id to the newest ones of a session.
func newest(list []string, id string) []string {
	if id == "" {
		return list
	}
	list = append(list, id)
	return list[max(0, len(list)-maxNamed):]
}

// How surely a question goes on with a session.
const (
	no     = iota
	likely // by what the user said
	surely // by the answer that it goes on from, too
)

// continues says whether a question goes on with the conversation.
func (s *heard) continues(q llmproxy.Question) int {
	if q.Previous != "" {
		if slices.Contains(s.replies, q.Previous) {
			return surely
		}
		return no
	}
	n := len(s.users)
	if n == 0 || len(q.Users) < n || !slices.Equal(q.Users[:n], s.users) {
		return no
	}
	switch {
	case len(q.Users) == n && !q.Fresh:
		if q.Result != "" && len(s.asked) > 0 && !slices.Contains(s.asked, q.Result) {
			return no // the result of somebody else's call: two runs began with the same words
		}
		return surely
	case len(q.Users) == n:
		// Asked once more what was never answered; else another run begins with the same words.
		if s.turn != nil && !s.turn.moved && s.turn.flying == 0 {
			return surely
		}
		return no
	case q.Said == s.said:
		return surely
	}
	return likely
}

// describe fills the head from the session's first question.
func (s *heard) describe(q llmproxy.Question) {
	s.head.Agent, s.head.System, s.head.Tools = bounded(q.Client, 80), q.System, q.Tools
	if q.Client != "" {
		s.head.Attrs["client"] = bounded(q.Client, 200)
	}
	if q.Model != "" {
		s.head.Attrs["model"] = bounded(q.Model, 200)
	}
}

func (s *heard) traceID(turn int) string { return s.head.ID + "." + strconv.Itoa(turn) }

func (s *heard) reads(ids []string) {
	for _, id := range ids {
		s.read[id] = true
	}
}

// over reports a trace of a turn that has ended.
func (s *heard) over(traceID string) bool { return slices.Contains(s.done, traceID) }

// reason is why a turn ends that was not cut off; cut is what it is called otherwise.
func (t *heardTurn) reason(cut string) string {
	switch {
	case t.spent:
		return "budget"
	case t.flying > 0:
		return cut
	case t.answered:
		return "end_turn"
	case t.broken:
		return "error" // its provider failed
	case !t.proxied && cut == "timeout":
		return "" // all that came was ended; nothing says that more was to come
	}
	return cut
}

// whole is the turn with all that was told of it.
func (t *heardTurn) whole(s *heard, cut string) trace.Turn {
	turn := trace.Turn{SessionID: s.head.ID, Index: t.index, TraceID: s.traceID(t.index), Input: t.input, StopReason: t.reason(cut), Start: t.start, End: t.last,
		TaskSummary: s.head.TaskSummary, ScopeHints: s.head.ScopeHints}
	told := t.told
	ids := map[string]bool{}
	for _, o := range told {
		ids[o.ID] = true
	}
	for i, o := range told {
		// A parent that came with a later request.
		if p, _ := o.Attrs["parent_elsewhere"].(string); p != "" && ids[p] {
			told[i].Parent, told[i].Attrs = p, maps.Clone(o.Attrs)
			delete(told[i].Attrs, "parent_elsewhere")
		}
	}
	if t.proxied {
		turn.Spans = s.tracer.Spans()
		told = slices.DeleteFunc(told, func(o trace.Span) bool { return o.Kind == trace.LLM })
		turn = join(turn, told)
	} else {
		slices.SortStableFunc(told, func(a, b trace.Span) int { return a.Start.Compare(b.Start) })
		turn.Spans = told
	}
	turn.Usage = trace.Usage{}
	for _, o := range turn.Spans {
		if o.Kind == trace.LLM {
			turn.Usage = turn.Usage.Add(o.Usage)
		}
	}
	return turn
}

// begin opens a session.
func (l *Listener) begin(source string) *heard {
	if len(l.open) >= maxHeard {
		l.endSession(l.stalest(), "too many sessions at once")
	}
	now := l.o.Now()
	s := &heard{source: source, last: now, mask: newLiveMask(l.o.Redactor), tracer: &llmproxy.Tracer{}, read: map[string]bool{},
		head: trace.Session{ID: l.o.NewID("s"), Origin: trace.Live, Source: source, Started: now, Attrs: map[string]any{}}}
	l.open = append(l.open, s)
	return s
}

// stalest is the session that was heard longest ago, one between turns before others.
func (l *Listener) stalest() *heard {
	return slices.MinFunc(l.open, func(a, b *heard) int {
		if (a.turn == nil) != (b.turn == nil) {
			if a.turn == nil {
				return -1
			}
			return 1
		}
		return a.last.Compare(b.last)
	})
}

// beginTurn opens the next turn of a session, and stores the session with its first one.
func (l *Listener) beginTurn(s *heard, input string) *heardTurn {
	now := l.o.Now()
	t := &heardTurn{index: s.next, input: input, start: now, last: now}
	s.turn = t
	s.next++
	s.tracer.Turn(s.traceID(t.index))
	s.reads(l.reads)
	l.reads = nil
	if l.idling != nil {
		l.idling(errTurn)
	}
	if t.index == 0 {
		s.head.Title = recording.FirstWords(input)
		if s.name != "" {
			s.head.Attrs["conversation"] = s.name
		}
		head := s.head
		l.write("begin session "+head.ID, func(ctx context.Context) error {
			return l.host.BeginSession(ctx, head, event.Event{Type: event.AgentStarted, SessionID: head.ID,
				Data: map[string]any{"agent": head.Agent, "through": head.Source}})
		})
	}
	return t
}

// endTurn closes the open turn of a session; cut is its stop reason if it had no answer.
func (l *Listener) endTurn(s *heard, cut string) {
	t := s.turn
	turn := t.whole(s, cut)
	t.over, s.turn = true, nil
	s.ended++
	s.done = append(s.done, t.traces...)
	s.done = s.done[max(0, len(s.done)-maxTraces):]
	l.keepCalls(s, t)
	id := s.head.ID
	l.write("end turn of session "+id, func(ctx context.Context) error {
		err := l.host.EndTurn(ctx, turn)
		if err == nil {
			l.todo.add(errand{session: id})
		}
		return err
	})
}

// keepCalls writes the model calls of a turn that are not written yet.
func (l *Listener) keepCalls(s *heard, t *heardTurn) {
	if len(t.calls) == 0 {
		return
	}
	id, index, calls := s.head.ID, t.index, t.calls
	t.calls, t.bytes = nil, 0
	l.write("keep model calls of session "+id, func(ctx context.Context) error { return l.host.KeepCalls(ctx, id, index, calls) })
}

// endSession closes a session; why is told in the journal.
func (l *Listener) endSession(s *heard, why string) {
	if s.turn != nil {
		l.endTurn(s, "cancelled")
	}
	l.open = slices.DeleteFunc(l.open, func(o *heard) bool { return o == s })
	maps.DeleteFunc(l.traces, func(_ string, o *heard) bool { return o == s })
	if s.next == 0 {
		return // it never had a turn: nothing was stored
	}
	head := s.head
	head.Ended, head.RulesRead = s.last, slices.Sorted(maps.Keys(s.read))
	e := event.Event{Type: event.AgentExited, SessionID: head.ID, Data: map[string]any{"turns": s.ended, "exit": why, "rules_read": len(head.RulesRead)}}
	// After its last turn was settled: what it is evidence for wants scores.
	l.write("end session "+head.ID, func(context.Context) error {
		l.todo.add(errand{session: head.ID, end: func(ctx context.Context) error { return l.host.EndSession(ctx, head, e) }})
		return nil
	})
}
