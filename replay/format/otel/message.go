package otel

import (
	"encoding/json"
	"strings"

	"vise/engine/trace"
	"vise/replay/format/chat"
	"vise/replay/format/recording"
)

// message is a message of a prompt or an answer in any of the conventions:
// {role, content} or {role, parts}.
type message struct {
	chat.Message
	Parts chat.Content `json:"parts"`
	// LangChain's spelling.
	Type   string `json:"type"`
	Kwargs struct {
		Content chat.Content `json:"content"`
		Type    string       `json:"type"`
	} `json:"kwargs"`
}

// says is what the message says; the results of calls in it are not said.
func (m *message) says() string {
	for _, s := range []string{m.Content.Text, m.Parts.Text, m.Kwargs.Content.Text} {
		if s != "" {
			return s
		}
	}
	return ""
}

// thought is its reasoning.
func (m *message) thought() string {
	if s := m.Message.Thought(); s != "" {
		return s
	}
	return m.Parts.Thought
}

// who is the role of the message in chat's words.
func (m *message) who() string {
	for _, r := range []string{m.Role, m.Kwargs.Type, m.Type} {
		switch r {
		case "":
		case "human":
			return "user"
		case "ai":
			return "assistant"
		default:
			return r
		}
	}
	return ""
}

// decodeMessages reads a list of messages from a text of JSON or a decoded value:
// the list itself, one message, or an object that holds the list.
func decodeMessages(v any) []message {
	var raw []byte
	switch v := v.(type) {
	case nil:
		return nil
	case string:
		raw = []byte(strings.TrimSpace(v))
	default:
		var err error
		if raw, err = json.Marshal(v); err != nil {
			return nil
		}
	}
	if len(raw) == 0 {
		return nil
	}
	switch raw[0] {
	case '[':
		var raws []json.RawMessage
		if recording.Decode(raw, &raws) != nil {
			return nil
		}
		var out []message
		for _, r := range raws {
			if len(r) > 0 && r[0] == '[' { // a batch of prompts: the first one
				return decodeMessages(string(r))
			}
			var m message
			if recording.Decode(r, &m) == nil && m.who() != "" {
				out = append(out, m)
			}
		}
		return out
	case '{':
		var o struct {
			Messages json.RawMessage `json:"messages"`
			Input    json.RawMessage `json:"input"`
			Choices  []struct {
				Message json.RawMessage `json:"message"`
			} `json:"choices"`
			message
		}
		if recording.Decode(raw, &o) != nil {
			return nil
		}
		switch {
		case len(o.Messages) > 0 && o.Messages[0] == '[':
			return decodeMessages(string(o.Messages))
		case len(o.Choices) > 0:
			return decodeMessages(string(o.Choices[0].Message))
		case len(o.Input) > 0 && o.Input[0] == '[':
			return decodeMessages(string(o.Input))
		case o.who() != "":
			return []message{o.message}
		}
	}
	return nil
}

// flatMessages reads OpenInference's flattened messages.
func flatMessages(a attributes, prefix string) []message {
	var out []message
	for _, flat := range a.numbered(prefix) {
		m := message{}
		m.Role = flat.text("message.role", "role")
		m.Content.Text = flat.text("message.content", "content")
		m.Name = chat.Scalar(flat.text("message.name"))
		var texts, thoughts []string
		for _, part := range flat.numbered("message.contents.") {
			text := part.text("message_content.text")
			if text == "" {
				text = chat.Text(json.RawMessage(quoted(part.text("message_content.image.image.url"))))
				if strings.HasPrefix(text, "data:") {
					text = recording.Address("image", text)
				}
			}
			if part.text("message_content.type") == "reasoning" {
				thoughts = append(thoughts, text)
			} else if text != "" {
				texts = append(texts, text)
			}
		}
		for _, part := range flat.numbered("message.content.") { // AWS writes plain texts
			texts = append(texts, part.text(""))
		}
		if m.Content.Text == "" {
			m.Content.Text = strings.Join(texts, "\n")
		}
		m.Content.Thought = strings.Join(thoughts, "\n")
		out = append(out, m)
	}
	return out
}

func quoted(s string) string {
	if s == "" {
		return ""
	}
	raw, err := json.Marshal(s)
	if err != nil { // a text always encodes
		return ""
	}
	return string(raw)
}

// prompt is what the model was given: messages in order.
func (s *span) prompt() []message {
	for _, key := range []string{"gen_ai.input.messages", "gcp.vertex.agent.llm_request"} {
		if m := decodeMessages(s.attrs[key]); len(m) > 0 {
			return m
		}
	}
	if m := flatMessages(s.attrs, "llm.input_messages."); len(m) > 0 {
		return m
	}
	if m := flatMessages(s.attrs, "gen_ai.prompt."); len(m) > 0 {
		return m
	}
	var out []message
	for _, e := range s.events {
		switch e.name {
		case "gen_ai.system.message", "gen_ai.user.message", "gen_ai.assistant.message", "gen_ai.tool.message":
			m := message{}
			m.Role = strings.TrimSuffix(strings.TrimPrefix(e.name, "gen_ai."), ".message")
			m.Content.Text = e.attrs.text("content", "gen_ai.event.content")
			out = append(out, m)
		case "gen_ai.content.prompt":
			out = append(out, decodeMessages(e.attrs["gen_ai.prompt"])...)
		}
	}
	if len(out) == 0 {
		out = decodeMessages(s.attrs["input.value"])
	}
	if len(out) == 0 {
		out = decodeMessages(s.attrs["traceloop.entity.input"])
	}
	return out
}

// answer is what the model said and thought.
func (s *span) answer() (text, thought string) {
	msgs := decodeMessages(s.attrs["gen_ai.output.messages"])
	if len(msgs) == 0 {
		msgs = flatMessages(s.attrs, "llm.output_messages.")
	}
	if len(msgs) == 0 {
		msgs = flatMessages(s.attrs, "gen_ai.completion.")
	}
	for _, e := range s.events {
		if len(msgs) > 0 {
			break
		}
		switch e.name {
		case "gen_ai.choice":
			m := message{}
			m.Role = "assistant"
			if inner := decodeMessages(e.attrs["message"]); len(inner) > 0 {
				m = inner[0]
			} else {
				m.Content.Text = e.attrs.text("content", "message", "gen_ai.event.content")
			}
			msgs = append(msgs, m)
		case "gen_ai.content.completion":
			msgs = append(msgs, decodeMessages(e.attrs["gen_ai.completion"])...)
		}
	}
	if len(msgs) == 0 {
		msgs = decodeMessages(s.attrs["output.value"])
	}
	if len(msgs) > 0 {
		var texts, thoughts []string
		for i := range msgs {
			if t := msgs[i].says(); t != "" {
				texts = append(texts, t)
			}
			if t := msgs[i].thought(); t != "" {
				thoughts = append(thoughts, t)
			}
		}
		return strings.Join(texts, "\n"), strings.Join(thoughts, "\n")
	}
	if text = gemini(s.attrs["gcp.vertex.agent.llm_response"]); text != "" {
		return text, ""
	}
	if items := responseItems(s.attrs["output.value"]); items != "" {
		return items, ""
	}
	return s.attrs.text("output.value", "traceloop.entity.output"), ""
}

// gemini reads the text of a response in Gemini's shape.
func gemini(v any) string {
	raw, ok := v.(string)
	if !ok {
		return ""
	}
	var r struct {
		Content struct {
			Parts chat.Content `json:"parts"`
		} `json:"content"`
	}
	if recording.Decode([]byte(raw), &r) != nil {
		return ""
	}
	return r.Content.Parts.Text
}

// responseItems reads the texts of a Responses object.
func responseItems(v any) string {
	raw, ok := v.(string)
	if !ok || !strings.HasPrefix(raw, "{") {
		return ""
	}
	var r struct {
		Output []chat.Item `json:"output"`
	}
	if recording.Decode([]byte(raw), &r) != nil {
		return ""
	}
	var texts []string
	for i := range r.Output {
		if t := r.Output[i].Says(); t != "" && r.Output[i].Type == "message" {
			texts = append(texts, t)
		}
	}
	return strings.Join(texts, "\n")
}

// tools are the definitions that the model was given.
func (s *span) tools() []trace.Tool {
	if t := chat.Tools(json.RawMessage(s.attrs.text("gen_ai.tool.definitions"))); len(t) > 0 {
		return t
	}
	var defs []json.RawMessage
	for _, flat := range s.attrs.numbered("llm.tools.") {
		if raw := flat.text("tool.json_schema"); json.Valid([]byte(raw)) {
			defs = append(defs, json.RawMessage(raw))
		}
	}
	raw, err := json.Marshal(defs)
	if err != nil || len(defs) == 0 {
		return nil
	}
	return chat.Tools(raw)
}
