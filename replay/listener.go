package replay

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"vise/engine/event"
	"vise/engine/guard"
	"vise/engine/model"
	"vise/engine/model/cassette"
	"vise/engine/trace"
	"vise/replay/llmproxy"
	"vise/replay/otlp"
)

// ListenerOptions say how a Listener tells sessions and turns apart.
type ListenerOptions struct {
	// TurnGap is how long an agent is silent after an answer until its turn has ended;
	// Longest how long it may be silent within a turn, such as in a call; SessionGap how
	// long between two turns of a session.
	TurnGap    time.Duration
	Longest    time.Duration
	SessionGap time.Duration
	// Again is the wait before a session is settled again whose repair failed or whose
	// evaluator was not there.
	Again time.Duration
	// Idle, if set, is called when nothing is left to settle and no turn is open, and again
	// after each turn. A turn that begins ends its context.
	Idle func(ctx context.Context) error
	// Redactor masks what is shown of turns that still run; nil masks by key and by value.
	Redactor *guard.Redactor
	// OnError is told of what failed and does not end the listening; nil drops it.
	OnError func(error)
	Now     func() time.Time
	NewID   func(prefix string) string
}

// Listener makes live sessions out of what agents tell that nobody of us started: of
// their model calls through the proxy and of their traces over OpenTelemetry. Its methods
// are safe for concurrent use; Run does what follows from them.
//
// A model call belongs to the session that its header X-Vise-Session names; else to the
// one that it goes on with, by what user and model have said (or previous_response_id);
// else to that of its trace (traceparent); else it begins one. A trace belongs to the
// session of its conversation id (gen_ai.conversation.id and the like), or of the model
// call that was made within it; else to the only session with an open turn that is seen
// through the proxy; else to the last session of the same service; else it begins one.
//
// A turn begins with what the user says. It has ended when the agent has answered and is
// silent for TurnGap, or when the next one begins. One that is silent without an answer
// for Longest is cut off ("timeout"), and one that hung up in the middle of an answer after
// ten times TurnGap ("cancelled"): by then it would have asked again. What budget.* does
// not allow ends a turn, too ("budget").
type Listener struct {
	host Host
	o    ListenerOptions

	mu     sync.Mutex
	open   []*heard // sessions that may go on, the one heard last at the end
	traces map[string]*heard
	held   map[string]*heldTrace // by their ids
	reads  []string              // rules handed out while no turn was open
	late   int                   // spans that came after the end of their turn
	closed bool
	spent  bool                    // that the budget is has been told
	due    bool                    // Idle has something to do
	idling context.CancelCauseFunc // ends what no turn may run beside; nil when nothing runs
	wake   chan struct{}           // for Run
	told   chan struct{}           // telemetry has come
	take   func(context.Context) ([]otlp.Trace, int, error)
	jobs   chan func() // writes, in order

	todo errands
}

// Bounds of what is held of agents at a time.
const (
	maxHeard      = 64       // sessions that may go on
	maxTraces     = 4096     // trace ids of them
	maxCallBytes  = 32 << 20 // of a turn's model calls before they are written
	maxToldSpans  = 50_000   // of a turn by telemetry
	maxNamed      = 256      // answers, calls and connections of a session that are known
	maxUnreadHeld = 1000     // rules handed out while no turn was open
)

// errTurn ends what no turn may run beside.
var errTurn = errors.New("an agent is at work")

// NewListener makes a Listener that hands its turns to the host.
func NewListener(host Host, o ListenerOptions) *Listener {
	if o.OnError == nil {
		o.OnError = func(error) {}
	}
	return &Listener{host: host, o: o, traces: map[string]*heard{}, held: map[string]*heldTrace{}, due: true,
		wake: make(chan struct{}, 1), told: make(chan struct{}, 1), jobs: make(chan func(), 256), todo: errands{ready: make(chan struct{}, 1)}}
}

// Question takes a model call before it goes out; the returned function takes its end.
// They are what llmproxy.Run.OnQuestion wants.
func (l *Listener) Question(q llmproxy.Question) func(*cassette.Exchange, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return func(*cassette.Exchange, error) {}
	}
	s, goesOn := l.whose(q)
	if s == nil {
		s, goesOn = l.begin("proxy"), true
		s.name = guard.Line(q.Session, 200)
		s.describe(q)
	}
	t, main := l.turnOf(s, q, goesOn)
	t.flying++
	t.proxied = true
	t.answered = t.answered && !main // not before this one is
	s.last = l.o.Now()
	if !slices.Contains(s.conns, q.Conn) {
		s.conns = newest(s.conns, q.Conn)
	}
	if q.TraceID != "" {
		l.know(q.TraceID, s)
	}
	poke(l.wake)
	return func(e *cassette.Exchange, err error) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.answered(s, t, main, e, err)
		poke(l.wake)
	}
}

// whose finds the session of a question; goesOn says that it is the conversation itself
// and not another one beside it, such as that of a helper.
func (l *Listener) whose(q llmproxy.Question) (s *heard, goesOn bool) {
	if q.Session != "" {
		if s = l.named(guard.Line(q.Session, 200)); s == nil {
			return nil, false
		}
		return s, s.continues(q) != no
	}
	best := no
	for _, o := range slices.Backward(l.open) {
		if o.name != "" && q.Session == "" && o.source == "proxy" {
			continue // it tells its name
		}
		// Of two that began alike it is the one of the same program.
		c := 2 * o.continues(q)
		if c > no && q.Conn != "" && slices.Contains(o.conns, q.Conn) {
			c++
		}
		if c > best {
			s, best = o, c
		}
	}
	if s != nil {
		return s, true
	}
	return l.traces[q.TraceID], false
}

func (l *Listener) named(name string) *heard {
	for _, s := range l.open {
		if s.name == name {
			return s
		}
	}
	return nil
}

// turnOf returns the turn that a question belongs to. main: its answer may be that of the
// turn; else a helper is asked.
func (l *Listener) turnOf(s *heard, q llmproxy.Question, goesOn bool) (t *heardTurn, main bool) {
	t = s.turn
	first := len(s.users) == 0
	next := t == nil
	switch {
	case t == nil || first:
	case goesOn:
		next = len(q.Users) > len(s.users) || q.Previous != "" && q.Fresh
	case q.Fresh && t.answered && t.flying == 0:
		// Named as the same session: within one trace it is the same turn.
		next = q.TraceID == "" || !slices.Contains(t.traces, q.TraceID)
	}
	if next {
		if t != nil {
			l.endTurn(s, "cancelled")
		}
		t = l.beginTurn(s, q.Input)
	}
	switch {
	case !goesOn && !next && !first:
	case q.Previous != "":
		s.users = append(s.users, q.Users...)
	default:
		s.users = q.Users
	}
	t.within(q.TraceID)
	return t, goesOn || next || first || q.Session != ""
}

// answered takes the end of a model call.
func (l *Listener) answered(s *heard, t *heardTurn, main bool, e *cassette.Exchange, err error) {
	t.flying--
	now := l.o.Now()
	s.last, t.last = now, now
	if t.over {
		return // what comes after a turn was cut off belongs to none
	}
	if e == nil {
		t.broken = true
		if errors.Is(err, model.ErrBudget) {
			t.spent = true
			if !l.spent {
				l.spent = true
				l.jobs <- func() { l.o.OnError(err) }
			}
		}
		return
	}
	s.calls++
	e.Seq = s.calls
	r := llmproxy.ReadReply(*e)
	t.calls, t.bytes = append(t.calls, *e), t.bytes+len(e.Body)+len(e.Request)
	if t.bytes > maxCallBytes {
		l.keepCalls(s, t)
	}
	for _, span := range s.tracer.Add(*e) {
		l.show(s, t, span)
	}
	t.broken, t.hungUp = r.Broken, e.Cut
	if r.Broken {
		return
	}
	t.moved = true
	s.replies = newest(s.replies, r.ID)
	for _, id := range r.Calls {
		s.asked = newest(s.asked, id)
	}
	if main {
		t.answered = len(r.Calls) == 0
		if t.answered {
			s.said = r.Said
		}
	}
}

// Traces takes what has come of traces.
func (l *Listener) Traces(list []otlp.Trace) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return
	}
	for _, t := range list {
		l.trace(t, true)
	}
	poke(l.wake)
}

// trace takes spans of a trace. One that does not say whose it is waits, if it may.
func (l *Listener) trace(t otlp.Trace, mayWait bool) {
	if h := l.held[t.ID]; h != nil {
		delete(l.held, t.ID)
		if t = h.with(t); len(t.Turn.Spans) > maxToldSpans {
			l.late += len(t.Turn.Spans) - maxToldSpans
			t.Turn.Spans = t.Turn.Spans[:maxToldSpans]
		}
	}
	name := guard.Line(t.Session.ID, 200)
	s := l.traces[t.ID]
	if s != nil && s.name == "" && name != "" && l.named(name) == nil {
		s.name, s.head.Attrs["conversation"] = name, name // it says so late
	}
	if s == nil && name != "" {
		s = l.named(name)
	}
	if s == nil && name == "" {
		proxied := slices.ContainsFunc(l.open, func(s *heard) bool { return s.turn != nil && s.turn.proxied })
		if mayWait && !t.Whole && !proxied && t.ID != "" {
			l.hold(t)
			return
		}
		s = l.around(t)
	}
	if s == nil {
		s = l.begin("otlp")
		s.name = name
		s.head.Agent, s.head.System, s.head.Tools = t.Session.Agent, t.Session.System, t.Session.Tools
	}
	if s.over(t.ID) {
		l.late += len(t.Turn.Spans)
		return
	}
	now := l.o.Now()
	s.last = now
	l.know(t.ID, s)
	turn := s.turn
	switch {
	case turn == nil:
	case turn.proxied, len(turn.traces) == 0, slices.Contains(turn.traces, t.ID):
	default:
		l.endTurn(s, "end_turn") // the next thing was asked
		turn = nil
	}
	if turn == nil {
		turn = l.beginTurn(s, t.Turn.Input)
		if !t.Turn.Start.IsZero() {
			turn.start = t.Turn.Start
		}
	}
	turn.last = now
	turn.within(t.ID)
	if t.Turn.Input != "" && (turn.input == "" || t.Whole && !turn.proxied) {
		turn.input = t.Turn.Input
	}
	room := max(0, maxToldSpans-len(turn.told))
	turn.lost += max(0, len(t.Turn.Spans)-room)
	for _, span := range t.Turn.Spans[:min(room, len(t.Turn.Spans))] {
		turn.told = append(turn.told, span)
		if !turn.proxied || span.Kind != trace.LLM {
			l.show(s, turn, span)
		}
	}
	if t.Whole && !turn.proxied {
		turn.answered = true
	}
}

// around is the session that a trace without a conversation belongs to: the only one
// whose model calls are being seen, else the last of the same program, unless that is in
// the middle of another trace.
func (l *Listener) around(t otlp.Trace) *heard {
	var only *heard
	for _, s := range l.open {
		if s.turn != nil && s.turn.proxied {
			if only != nil {
				return nil // nobody knows whose it is
			}
			only = s
		}
	}
	if only != nil {
		return only
	}
	for _, s := range slices.Backward(l.open) {
		if s.source == "otlp" && s.name == "" && s.head.Agent == t.Session.Agent && (s.turn == nil || s.turn.answered) {
			return s
		}
	}
	return nil
}

// Read takes the ids of rules whose texts were handed out. They count for the only
// session with an open turn, or for the next turn when there is none: an agent may ask
// before its first step. Where several are at work nobody knows whose they are.
func (l *Listener) Read(ids []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var only *heard
	for _, s := range l.open {
		if s.turn != nil && only != nil {
			return
		}
		if s.turn != nil {
			only = s
		}
	}
	if only == nil {
		l.reads = append(l.reads, ids...)
		l.reads = l.reads[max(0, len(l.reads)-maxUnreadHeld):]
		return
	}
	only.reads(ids)
}

func (l *Listener) know(traceID string, s *heard) {
	if traceID != "" && len(l.traces) < maxTraces {
		l.traces[traceID] = s
	}
}

// show tells whoever looks on of a span of a turn that still runs.
func (l *Listener) show(s *heard, t *heardTurn, span trace.Span) {
	l.host.Publish(event.Event{Type: event.SpanProgress, At: l.o.Now(), SessionID: s.head.ID, TurnIndex: event.Turn(t.index),
		Data: map[string]any{"span": s.mask.span(t.index, span)}})
}
