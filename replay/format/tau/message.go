package tau

import (
	"encoding/json"
	"strings"

	"vise/engine/trace"
	"vise/replay/format/recording"
)

// message is one message of a conversation, in the shape of either format.
type message struct {
	Role       string        `json:"role"`
	Content    content       `json:"content"`
	Calls      []call        `json:"tool_calls"`
	ToolCallID *anyText      `json:"tool_call_id"` // tau-bench
	ID         anyText       `json:"id"`           // tau2: id of the call a result belongs to
	Requestor  string        `json:"requestor"`
	Error      callError     `json:"error"`
	Timestamp  string        `json:"timestamp"`
	Cost       *float64      `json:"cost"`
	Usage      *messageUsage `json:"usage"`
	Reasoning  content       `json:"reasoning"`
	Errors     []content     `json:"errors"`
	Raw        struct {
		Model string `json:"model"`
	} `json:"raw_data"`
}

type messageUsage struct {
	Prompt     int64 `json:"prompt_tokens"`
	Completion int64 `json:"completion_tokens"`
}

func (m *message) usage() trace.Usage {
	u := trace.Usage{CostUSD: m.Cost}
	if m.Usage != nil {
		u.Input, u.Output = m.Usage.Prompt, m.Usage.Completion
	}
	return u
}

// answers is the id of the call that a tool message answers.
func (m *message) answers() string {
	if m.ToolCallID != nil {
		return string(*m.ToolCallID)
	}
	return string(m.ID)
}

// call is a tool call: OpenAI's with the arguments as a text, or tau2's with the
// arguments as an object.
type call struct {
	ID        anyText         `json:"id"`
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
	Args      json.RawMessage `json:"args"`
	Function  struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	} `json:"function"`
}

// target returns the name of the tool and its arguments as JSON text; arguments
// recorded as a text are kept as they stand, JSON or not.
func (c call) target() (name, args string) {
	name, raw := c.Function.Name, c.Function.Arguments
	if name == "" {
		if name, raw = c.Name, c.Arguments; raw == nil {
			raw = c.Args
		}
	}
	if len(raw) > 0 && raw[0] == '"' {
		var s string
		if json.Unmarshal(raw, &s) == nil {
			return name, s
		}
	}
	if string(raw) == "null" {
		return name, ""
	}
	return name, string(raw)
}

// content is the text of a message: a text, a list of parts, or an object.
type content struct{ text string }

func (c *content) UnmarshalJSON(b []byte) error {
	if len(b) == 0 {
		return nil
	}
	switch b[0] {
	case '"':
		return json.Unmarshal(b, &c.text)
	case 'n':
	case '[':
		var parts []json.RawMessage
		if err := recording.Decode(b, &parts); err != nil {
			return err
		}
		var texts []string
		for _, p := range parts {
			if s := partText(p); s != "" {
				texts = append(texts, s)
			}
		}
		c.text = strings.Join(texts, "\n")
	case '{':
		var part struct {
			Text string `json:"text"`
		}
		if err := recording.Decode(b, &part); err != nil {
			return err
		}
		if c.text = part.Text; c.text == "" {
			c.text = string(b)
		}
	default:
		c.text = string(b)
	}
	return nil
}

func partText(raw json.RawMessage) string {
	if len(raw) > 0 && raw[0] == '"' {
		var s string
		_ = json.Unmarshal(raw, &s) // part of a text that was JSON
		return s
	}
	var p struct {
		Text    string          `json:"text"`
		Content json.RawMessage `json:"content"`
	}
	if recording.Decode(raw, &p) != nil {
		return ""
	}
	if p.Text == "" && len(p.Content) > 0 && p.Content[0] == '"' {
		_ = json.Unmarshal(p.Content, &p.Text)
	}
	return p.Text
}

// callError is the error flag of a result: a flag, a text, or an object with a message.
type callError struct {
	set     bool
	message string
}

func (e *callError) UnmarshalJSON(b []byte) error {
	if len(b) == 0 {
		return nil
	}
	switch b[0] {
	case '"':
		if err := json.Unmarshal(b, &e.message); err != nil {
			return err
		}
		e.set = e.message != ""
	case '{':
		var v struct {
			Message anyText `json:"message"`
		}
		if err := recording.Decode(b, &v); err != nil {
			return err
		}
		e.set, e.message = true, string(v.Message)
	case 'n', 'f':
	default:
		e.set = string(b) != "0" && string(b) != "[]"
	}
	return nil
}

// anyText is an id that some files write as a text and some as a number.
type anyText string

func (t *anyText) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '"' {
		return json.Unmarshal(b, (*string)(t))
	}
	if string(b) != "null" {
		*t = anyText(b)
	}
	return nil
}
