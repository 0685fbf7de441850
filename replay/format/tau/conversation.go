package tau

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"vise/engine/trace"
	"vise/replay/format/recording"
)

// conversation cuts a list of messages into turns.
type conversation struct {
	msgs   []message
	ticket string // the task of a run without a user
	rec    *recording.Recorder

	out       []trace.Turn
	tail      string // what the user said after the last answer
	userCalls int
	calls     map[string][]place // calls by id, oldest first; ids recur
	ids       map[string]int
}

// place is a span of a turn.
type place struct {
	turn, span int
	user       bool
}

// control matches the tokens by which the simulated user ends a conversation.
var control = regexp.MustCompile(`#{3}[A-Z-]+#{3}`)

// turns cuts the conversation.
func (c *conversation) turns() []trace.Turn {
	c.calls, c.ids = map[string][]place{}, map[string]int{}
	last, users := -1, 0
	for i := range c.msgs {
		switch c.msgs[i].Role {
		case "assistant":
			last = i
		case "user":
			users++
		}
	}
	for i := range c.msgs {
		m := &c.msgs[i]
		switch m.Role {
		case "system", "developer": // part of the head
		case "user":
			c.user(m, i, last)
		case "assistant":
			c.assistant(m, i)
		case "tool", "function":
			c.result(m, i)
		default:
			c.rec.Unknown("message of role " + m.Role)
			c.add(trace.Span{ID: fmt.Sprintf("m%d", i), Kind: trace.CHAIN, Name: m.Role, Output: m.Content.text}, m)
		}
	}
	if c.ticket != "" && users == 0 {
		c.solo()
	}
	for i := range c.out {
		c.finish(&c.out[i])
	}
	return c.out
}

// solo puts everything into one turn whose input is the ticket: nobody spoke to
// the agent, so it is no user turn.
func (c *conversation) solo() {
	t := trace.Turn{Input: c.ticket, Synthetic: true}
	for _, o := range c.out {
		t.Spans = append(t.Spans, o.Spans...)
	}
	c.out = []trace.Turn{t}
}

// current returns the turn that is going on; the first one may begin without input.
func (c *conversation) current() *trace.Turn {
	if len(c.out) == 0 {
		c.out = append(c.out, trace.Turn{Synthetic: true})
	}
	return &c.out[len(c.out)-1]
}

func (c *conversation) user(m *message, i, last int) {
	text := strings.TrimSpace(control.ReplaceAllString(m.Content.text, ""))
	if len(m.Calls) > 0 {
		c.act(m, i, text)
		return
	}
	if m.Content.text == "" {
		return
	}
	if i > last && last >= 0 {
		c.tail = text
		return
	}
	// The agent's greeting belongs to the turn of the first input.
	if len(c.out) == 1 && c.out[0].Input == "" && onlyTalk(c.out[0].Spans) {
		c.out[0].Input, c.out[0].Synthetic = text, false
		return
	}
	at := parseTime(m.Timestamp)
	c.out = append(c.out, trace.Turn{Input: text, Start: at, End: at})
}

func onlyTalk(spans []trace.Span) bool {
	for _, s := range spans {
		if s.Kind == trace.TOOL {
			return false
		}
	}
	return true
}

// act keeps the user's own tool calls: an AGENT span with a CHAIN span per call.
func (c *conversation) act(m *message, i int, text string) {
	actor := c.add(trace.Span{ID: fmt.Sprintf("m%d", i), Kind: trace.AGENT, Name: "user", Output: text}, m)
	id := c.current().Spans[actor.span].ID
	for k, call := range m.Calls {
		name, args := call.target()
		p := c.add(trace.Span{ID: c.callID(string(call.ID), i, k), Parent: id, Kind: trace.CHAIN, Name: name, Input: args, Pending: true,
			Attrs: map[string]any{"actor": "user"}}, m)
		p.user = true
		c.calls[string(call.ID)] = append(c.calls[string(call.ID)], p)
		c.userCalls++
	}
}

func (c *conversation) assistant(m *message, i int) {
	text, attrs := c.unwrap(m.Content.text)
	if len(m.Errors) > 0 {
		var all []string
		for _, e := range m.Errors[:min(len(m.Errors), 10)] {
			all = append(all, recording.Cut(c.rec.Mask(e.text), 500))
		}
		attrs["errors"] = all
	}
	p := c.add(trace.Span{ID: fmt.Sprintf("m%d", i), Kind: trace.LLM, Name: m.Raw.Model, Output: text, Thought: m.Reasoning.text,
		Usage: m.usage(), Attrs: attrs}, m)
	id := c.current().Spans[p.span].ID
	for k, call := range m.Calls {
		name, args := call.target()
		p := c.add(trace.Span{ID: c.callID(string(call.ID), i, k), Parent: id, Kind: trace.TOOL, Name: name, Input: args, Pending: true}, m)
		c.calls[string(call.ID)] = append(c.calls[string(call.ID)], p)
	}
}

// unwrap takes the answer out of the envelope {"message": "..."} that some agents
// write; the rest of the envelope is kept beside it.
func (c *conversation) unwrap(s string) (string, map[string]any) {
	attrs := map[string]any{}
	if !strings.HasPrefix(s, "{") || !strings.Contains(s[:min(len(s), 40)], `"message"`) {
		return s, attrs
	}
	var env map[string]any
	dec := json.NewDecoder(strings.NewReader(s))
	dec.UseNumber()
	if dec.Decode(&env) != nil || dec.More() {
		return s, attrs
	}
	msg, ok := env["message"].(string)
	if !ok {
		return s, attrs
	}
	delete(env, "message")
	if len(env) > 0 {
		rest, err := json.Marshal(env)
		if err == nil {
			attrs["envelope"] = c.rec.Opaque(rest)
		}
	}
	return msg, attrs
}

// result answers a call: the oldest one with its id that has no answer yet.
func (c *conversation) result(m *message, i int) {
	text := m.Content.text
	failed := m.Error.set || strings.HasPrefix(text, "Error")
	if m.Error.message != "" {
		text = strings.TrimSpace(text + "\n" + m.Error.message)
	}
	for _, p := range c.calls[m.answers()] {
		s := &c.out[p.turn].Spans[p.span]
		if !s.Pending || p.user != (m.Requestor == "user") {
			continue
		}
		s.Pending, s.Output = false, text
		if at := parseTime(m.Timestamp); !at.IsZero() {
			s.End = at
		}
		if failed {
			s.Error = c.rec.ErrorLine(text, "the tool reported an error")
		}
		return
	}
	s := trace.Span{ID: fmt.Sprintf("m%d", i), Kind: trace.CHAIN, Name: "orphan_result", Output: text,
		Attrs: map[string]any{"call": recording.Cut(m.answers(), 200)}}
	if failed {
		s.Error = c.rec.ErrorLine(text, "the tool reported an error")
	}
	c.add(s, m)
}

// add appends a span to the current turn.
func (c *conversation) add(s trace.Span, m *message) place {
	t := c.current()
	if at := parseTime(m.Timestamp); !at.IsZero() {
		s.Start, s.End = at, at
	}
	if len(s.Attrs) == 0 {
		s.Attrs = nil
	}
	t.Spans = append(t.Spans, s)
	return place{turn: len(c.out) - 1, span: len(t.Spans) - 1}
}

// callID makes the id of a call unique within the session.
func (c *conversation) callID(id string, msg, k int) string {
	if id == "" || len(id) > 200 {
		return fmt.Sprintf("m%d.c%d", msg, k)
	}
	c.ids[id]++
	if n := c.ids[id]; n > 1 {
		return fmt.Sprintf("%s#%d", id, n)
	}
	return id
}

// finish sets start, end and usage of a turn by its spans.
func (c *conversation) finish(t *trace.Turn) {
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
}
