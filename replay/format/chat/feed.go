package chat

import (
	"fmt"
	"strings"

	"vise/engine/trace"
	"vise/replay/format/recording"
)

// Feed puts the messages of a chat into a conversation: a user message opens a
// turn, an assistant message is a step, its tool calls are calls, a tool message
// is a result. System and developer messages belong to the head (see System) and
// are passed over.
type Feed struct {
	*recording.Conversation
	Rec *recording.Recorder
	n   int // messages so far
}

// NewFeed returns a feed into a new conversation.
func NewFeed(rec *recording.Recorder) *Feed {
	return &Feed{Conversation: recording.NewConversation(rec), Rec: rec}
}

// System joins the system and developer messages of a chat.
func System(msgs []Message) string {
	var out []string
	for i := range msgs {
		if r := msgs[i].Role; (r == "system" || r == "developer") && msgs[i].Content.Text != "" {
			out = append(out, msgs[i].Content.Text)
		}
	}
	return strings.Join(out, "\n")
}

// Add takes the next message.
func (f *Feed) Add(m *Message) error { return f.Step(m, trace.Span{}) }

// Step is Add with what is known beside an assistant message: clock, usage, model.
func (f *Feed) Step(m *Message, base trace.Span) error {
	i := f.n
	f.n++
	switch m.Role {
	case "system", "developer":
		return nil
	case "user", "human":
		// A user message may hold the results of calls (Anthropic's shape).
		for _, r := range m.Content.Results {
			f.Answer(r.Key(), recording.Result{Output: r.Output(), Failed: r.IsError, At: m.At()})
		}
		if len(m.Content.Results) > 0 && m.Content.Text == "" {
			return nil
		}
		return f.Input(m.Content.Text, m.At())
	case "assistant", "model", "ai", "gpt":
		if base.ID == "" {
			base.ID = fmt.Sprintf("m%d", i)
		}
		f.Assistant(m, base)
		return nil
	case "tool", "function":
		key := m.Answers()
		if key == "" || !f.Waits(key) {
			if byName := "name:" + string(m.Name); m.ToolCallID == nil && f.Waits(byName) {
				key = byName
			}
		}
		f.Answer(key, recording.Result{Output: m.output(), Failed: m.Error.Set, Error: m.Error.Message, At: m.At()})
		return nil
	}
	f.Rec.Unknown("message of role " + m.Role)
	f.Conversation.Add(trace.Span{ID: fmt.Sprintf("m%d", i), Kind: trace.CHAIN, Name: m.Role, Output: m.Content.Text, Start: m.At(), End: m.At()})
	return nil
}

// output is the text of a result, with the message of its error behind it.
func (m *Message) output() string {
	if m.Error.Message == "" {
		return m.Content.Text
	}
	return strings.TrimSpace(m.Content.Text + "\n" + m.Error.Message)
}

// Assistant takes an answer of the model; what base says of its span stays where
// the message says nothing.
func (f *Feed) Assistant(m *Message, base trace.Span) recording.Place {
	base.Output = Join(m.Content.Text, m.Refusal)
	base.Thought = m.Thought()
	if m.Model != "" {
		base.Name = m.Model
	}
	if u := m.Usage.Trace(); !u.IsZero() {
		base.Usage = u
	}
	if m.Cost != nil {
		base.Usage.CostUSD = m.Cost
	}
	if at := m.At(); !at.IsZero() && base.Start.IsZero() {
		base.Start, base.End = at, at
	}
	id := base.ID
	p := f.Conversation.Step(base)
	calls := append(m.Calls[:len(m.Calls):len(m.Calls)], m.Content.Calls...)
	for k, c := range calls {
		f.Tool(c, fmt.Sprintf("%s.c%d", id, k), base)
	}
	if m.FunctionCall != nil && m.FunctionCall.Name != "" {
		f.Tool(Call{Function: *m.FunctionCall}, id+".c", base)
	}
	return p
}

// Tool takes a call of the step before; one without an id is answered by its name.
func (f *Feed) Tool(c Call, fallback string, step trace.Span) recording.Place {
	name, args := c.Target()
	s := trace.Span{ID: c.Key(), Name: name, Input: args, Start: step.Start, End: step.Start}
	if s.ID == "" {
		s.ID = fallback
	}
	if c.ParseError != "" {
		s.Attrs = map[string]any{"parse_error": f.Rec.Short(string(c.ParseError), 500)}
	}
	key := c.Key()
	if key == "" {
		key = "name:" + name
	}
	return f.Call(key, s)
}
