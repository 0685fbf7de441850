package recording

import (
	"fmt"
	"time"

	"vise/engine/trace"
)

// Conversation builds the turns of the open session from what a recording says
// in order: inputs, answers of the model, calls and their results. Finished turns
// go to the recorder as soon as they wait for no result, so that a session of any
// length costs the memory of its longest turn. What comes before any input is a
// synthetic turn, which the first input takes over unless the agent called a tool
// in it.
type Conversation struct {
	rec   *Recorder
	cur   *openTurn
	held  []*openTurn // finished turns that wait for results, oldest first
	turns int         // turns finished
	ids   map[string]int
	step  string // id of the last model answer: the parent of the calls that follow
}

// Bounds of one conversation.
const (
	maxHeldTurns = 4         // finished turns that wait for the result of a call
	maxTurnBytes = 256 << 20 // text kept of one turn
	maxSpanIDs   = 1_000_000 // span ids remembered to keep them unique
)

// openTurn is a turn under construction.
type openTurn struct {
	trace.Turn
	calls map[string][]int // unanswered calls by the recording's id, oldest first
	open  int              // unanswered calls
	bytes int
	gone  bool // handed on: nothing may change any more
}

// Place names a span of a turn that is still open.
type Place struct {
	turn *openTurn
	at   int
}

// Span gives access to the span; nil when its turn has been handed on.
func (p Place) Span() *trace.Span {
	if p.turn == nil || p.turn.gone {
		return nil
	}
	return &p.turn.Spans[p.at]
}

// NewConversation returns a conversation for the session that is open, or will be
// by the time its first turn is finished.
func NewConversation(rec *Recorder) *Conversation {
	return &Conversation{rec: rec, ids: map[string]int{}}
}

// Input opens the turn of a text of the user.
func (c *Conversation) Input(text string, at time.Time) error {
	if c.cur != nil && c.cur.Synthetic && c.cur.Input == "" && c.talkOnly() {
		c.cur.Synthetic, c.cur.Input = false, text
		c.stretch(at)
		return nil
	}
	if err := c.finish(); err != nil {
		return err
	}
	c.cur = &openTurn{Turn: trace.Turn{Input: text}, calls: map[string][]int{}}
	c.step = ""
	c.stretch(at)
	return nil
}

// Prompt opens a synthetic turn: what the agent was given when nobody spoke to it.
func (c *Conversation) Prompt(text string, at time.Time) error {
	if err := c.Input(text, at); err != nil {
		return err
	}
	c.cur.Synthetic = true
	return nil
}

// Turn gives access to the current turn, opening a synthetic one if there is none.
func (c *Conversation) Turn() *trace.Turn {
	if c.cur == nil {
		c.cur = &openTurn{Turn: trace.Turn{Synthetic: true}, calls: map[string][]int{}}
	}
	return &c.cur.Turn
}

// Started reports whether anything is in the conversation yet.
func (c *Conversation) Started() bool { return c.cur != nil || c.turns > 0 }

func (c *Conversation) talkOnly() bool {
	for _, s := range c.cur.Spans {
		if s.Kind == trace.TOOL {
			return false
		}
	}
	return true
}

func (c *Conversation) stretch(at time.Time) {
	if at.IsZero() {
		return
	}
	if c.cur.Start.IsZero() || at.Before(c.cur.Start) {
		c.cur.Start = at
	}
	if at.After(c.cur.End) {
		c.cur.End = at
	}
}

// Add appends a span to the current turn under an id that no other span of the session has.
func (c *Conversation) Add(s trace.Span) Place {
	c.Turn()
	t := c.cur
	s.ID = c.id(s.ID, fmt.Sprintf("s%d.%d", c.turns, len(t.Spans)))
	s.Input, s.Output, s.Thought = t.keep(s.Input), t.keep(s.Output), t.keep(s.Thought)
	if s.End.Before(s.Start) {
		s.End = s.Start
	}
	if len(s.Attrs) == 0 {
		s.Attrs = nil
	}
	t.Spans = append(t.Spans, s)
	return Place{t, len(t.Spans) - 1}
}

// Step appends an answer of the model; the calls that follow are its.
func (c *Conversation) Step(s trace.Span) Place {
	s.Kind = trace.LLM
	p := c.Add(s)
	c.step = p.Span().ID
	return p
}

// Call appends a call that waits for its result. key is the id by which the
// result will name it, "" when the recording has none: then results answer calls
// in order.
func (c *Conversation) Call(key string, s trace.Span) Place {
	s.Kind = trace.TOOL
	if s.Parent == "" {
		s.Parent = c.step
	}
	return c.Await(key, s)
}

// Await is Call for a span of any kind and parent: what another actor than the
// agent asks for is no call of the agent.
func (c *Conversation) Await(key string, s trace.Span) Place {
	s.Pending = true
	if s.ID == "" {
		s.ID = key
	}
	p := c.Add(s)
	p.turn.calls[key] = append(p.turn.calls[key], p.at)
	p.turn.open++
	return p
}

// Result is what came back from a call.
type Result struct {
	Output string
	Failed bool   // the recording flags an error
	Error  string // its message; "" = the first line of the output
	At     time.Time
	Attrs  map[string]any
}

// Answer gives a result to the oldest unanswered call of its key. A result that
// answers none is kept as orphan_result. The place is the call's, or the orphan's.
func (c *Conversation) Answer(key string, r Result) Place {
	p, ok := c.waiting(key)
	if !ok {
		s := trace.Span{Kind: trace.CHAIN, Name: "orphan_result", Output: r.Output, Start: r.At, End: r.At, Attrs: r.Attrs}
		if key != "" {
			s.Attrs = with(s.Attrs, "call", c.rec.Short(key, 200))
		}
		if r.Failed {
			s.Error = c.message(r)
		}
		return c.Add(s)
	}
	s := p.Span()
	s.Pending, s.Output = false, p.turn.keep(r.Output)
	if r.At.After(s.End) {
		s.End = r.At
	}
	if r.Failed {
		s.Error = c.message(r)
	}
	for k, v := range r.Attrs {
		s.Attrs = with(s.Attrs, k, v)
	}
	return p
}

// Waits reports whether a call of this key waits for its result.
func (c *Conversation) Waits(key string) bool {
	for _, t := range append(c.held[:len(c.held):len(c.held)], c.cur) {
		if t != nil && len(t.calls[key]) > 0 {
			return true
		}
	}
	return false
}

// waiting takes the oldest unanswered call of a key.
func (c *Conversation) waiting(key string) (Place, bool) {
	for _, t := range append(c.held[:len(c.held):len(c.held)], c.cur) {
		if t == nil || len(t.calls[key]) == 0 {
			continue
		}
		at := t.calls[key][0]
		t.calls[key] = t.calls[key][1:]
		t.open--
		return Place{t, at}, true
	}
	return Place{}, false
}

// Remark adds to a call, answered or not, what another record knows about its end.
func (c *Conversation) Remark(id string, attrs map[string]any, failed bool, why string, at time.Time) {
	for _, t := range append(c.held[:len(c.held):len(c.held)], c.cur) {
		if t == nil {
			continue
		}
		for i := len(t.Spans) - 1; i >= 0; i-- {
			s := &t.Spans[i]
			if s.ID != id || s.Kind != trace.TOOL {
				continue
			}
			for k, v := range attrs {
				s.Attrs = with(s.Attrs, k, v)
			}
			if failed && s.Error == "" {
				s.Error = c.rec.ErrorLine(why, "the tool reported an error")
			}
			if s.Pending && at.After(s.End) {
				s.End = at
			}
			return
		}
	}
}

func (c *Conversation) message(r Result) string {
	if r.Error != "" {
		return c.rec.ErrorLine(r.Error, "the tool reported an error")
	}
	return c.rec.ErrorLine(r.Output, "the tool reported an error")
}

// Opaque keeps a record that is not interpreted as a CHAIN span, masked and
// bounded; where says how to find it in the file, such as line 12.
func (c *Conversation) Opaque(name string, raw []byte, where map[string]any, at time.Time) {
	c.Add(trace.Span{Kind: trace.CHAIN, Name: c.rec.Short(name, maxKind), Output: c.rec.Opaque(raw), Start: at, End: at, Attrs: where})
}

// Broken keeps what is legible of a damaged part where it stood; it can be given to Lines.
func (c *Conversation) Broken(d Damage, data []byte) {
	c.Add(trace.Span{Kind: trace.CHAIN, Name: "damaged", Output: c.rec.Preview(data), Attrs: map[string]any{
		"line": d.Line, "offset": d.Offset, "bytes": d.Bytes, "reason": d.Reason}})
}

// End hands on all turns that are left.
func (c *Conversation) End() error {
	if err := c.finish(); err != nil {
		return err
	}
	for _, t := range c.held {
		if err := c.hand(t); err != nil {
			return err
		}
	}
	c.held = nil
	return nil
}

// finish closes the current turn and hands on those that wait for nothing, or
// have waited long enough.
func (c *Conversation) finish() error {
	if c.cur == nil {
		return nil
	}
	c.held = append(c.held, c.cur)
	c.cur = nil
	c.turns++
	for len(c.held) > 0 && (c.held[0].open == 0 || len(c.held) > maxHeldTurns) {
		if err := c.hand(c.held[0]); err != nil {
			return err
		}
		c.held = c.held[1:]
	}
	return nil
}

// hand gives a turn to the recorder: start, end and usage are those of its spans.
func (c *Conversation) hand(t *openTurn) error {
	t.gone = true
	for i := range t.Spans {
		s := &t.Spans[i]
		if !s.Start.IsZero() && (t.Start.IsZero() || s.Start.Before(t.Start)) {
			t.Start = s.Start
		}
		if s.End.After(t.End) {
			t.End = s.End
		}
		if s.Kind == trace.LLM {
			t.Usage = t.Usage.Add(s.Usage)
		}
	}
	return c.rec.Turn(t.Turn)
}

// keep bounds the text of a turn: beyond maxTurnBytes only its length is kept.
func (t *openTurn) keep(s string) string {
	if t.bytes += len(s); t.bytes > maxTurnBytes && len(s) > 1024 {
		t.bytes -= len(s)
		return fmt.Sprintf("[%d bytes not kept: the turn is larger than %d MB]", len(s), maxTurnBytes>>20)
	}
	return s
}

// id makes a span id unique within the session; ids recur in real recordings.
func (c *Conversation) id(id, fallback string) string {
	if id == "" || len(id) > 200 {
		id = fallback
	}
	if len(c.ids) > maxSpanIDs {
		clear(c.ids) // ids this far apart may meet again
	}
	c.ids[id]++
	if n := c.ids[id]; n > 1 {
		return c.id(fmt.Sprintf("%s#%d", id, n), fallback)
	}
	return id
}

func with(m map[string]any, key string, v any) map[string]any {
	if m == nil {
		m = map[string]any{}
	}
	m[key] = v
	return m
}
