package tau

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"vise/engine/trace"
	"vise/replay/format/chat"
	"vise/replay/format/recording"
)

// conversation puts the messages of a simulation into turns.
type conversation struct {
	*chat.Feed
	msgs      []message
	ticket    string // the task of a run without a user
	last      int    // index of the last answer of the agent, -1 without one
	tail      string // what the user said after it
	userCalls int
}

func newConversation(msgs []message, ticket string, rec *recording.Recorder) *conversation {
	return &conversation{Feed: chat.NewFeed(rec), msgs: msgs, ticket: ticket, last: -1}
}

// control matches the tokens by which the simulated user ends a conversation.
var control = regexp.MustCompile(`#{3}[A-Z-]+#{3}`)

// read hands the turns to the recorder.
func (c *conversation) read() error {
	users := 0
	for i := range c.msgs {
		switch c.msgs[i].Role {
		case "assistant":
			c.last = i
		case "user":
			users++
		}
	}
	if c.ticket != "" && users == 0 {
		// Nobody spoke to the agent: one turn, which is no user turn, holds everything.
		if err := c.Prompt(c.ticket, chat.Time("")); err != nil {
			return err
		}
	}
	for i := range c.msgs {
		m := &c.msgs[i]
		switch m.Role {
		case "system", "developer": // part of the head
		case "user":
			if err := c.user(m, i); err != nil {
				return err
			}
		case "assistant":
			c.assistant(m, i)
		case "tool", "function":
			text, failed := m.result()
			key := m.Answers()
			if m.Requestor == "user" {
				key = userKey + key
			}
			c.Answer(key, recording.Result{Output: text, Failed: failed, At: m.At()})
		default:
			c.Rec.Unknown("message of role " + m.Role)
			c.Conversation.Add(trace.Span{ID: fmt.Sprintf("m%d", i), Kind: trace.CHAIN, Name: m.Role, Output: m.Content.Text, Start: m.At(), End: m.At()})
		}
	}
	return c.End()
}

// userKey begins the keys of the user's own calls: their ids are those of the
// agent's too.
const userKey = "user:"

func (c *conversation) user(m *message, i int) error {
	text := strings.TrimSpace(control.ReplaceAllString(m.Content.Text, ""))
	if len(m.Calls) > 0 {
		c.act(m, i, text)
		return nil
	}
	if m.Content.Text == "" {
		return nil
	}
	if i > c.last && c.last >= 0 {
		c.tail = text
		return nil
	}
	return c.Input(text, m.At())
}

// act keeps the user's own tool calls: an AGENT span with a CHAIN span per call.
func (c *conversation) act(m *message, i int, text string) {
	at := m.At()
	actor := c.Conversation.Add(trace.Span{ID: fmt.Sprintf("m%d", i), Kind: trace.AGENT, Name: "user", Output: text, Start: at, End: at}).Span().ID
	for k, call := range m.Calls {
		name, args := call.Target()
		c.Await(userKey+call.Key(), trace.Span{ID: chat.First(call.Key(), fmt.Sprintf("m%d.c%d", i, k)), Parent: actor, Kind: trace.CHAIN, Name: name, Input: args,
			Start: at, End: at, Attrs: map[string]any{"actor": "user"}})
		c.userCalls++
	}
}

func (c *conversation) assistant(m *message, i int) {
	text, attrs := c.unwrap(m.Content.Text)
	if len(m.Errors) > 0 {
		var all []string
		for _, e := range m.Errors[:min(len(m.Errors), 10)] {
			all = append(all, c.Rec.Short(e.Text, 500))
		}
		attrs["errors"] = all
	}
	m.Content.Text = text
	c.Assistant(&m.Message, trace.Span{ID: fmt.Sprintf("m%d", i), Name: m.Raw.Model, Attrs: attrs})
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
			attrs["envelope"] = c.Rec.Opaque(rest)
		}
	}
	return msg, attrs
}
