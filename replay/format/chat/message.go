package chat

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"vise/engine/trace"
	"vise/replay/format/recording"
)

// Message is one message of a chat.
type Message struct {
	Role      string  `json:"role"`
	Name      Scalar  `json:"name"`
	Content   Content `json:"content"`
	Reasoning Content `json:"reasoning_content"`
	Thinking  Content `json:"reasoning"`
	Refusal   string  `json:"refusal"`
	Calls     []Call  `json:"tool_calls"`
	// FunctionCall is the call of the API before it had tools.
	FunctionCall *Function `json:"function_call"`
	ToolCallID   *Scalar   `json:"tool_call_id"`
	ID           Scalar    `json:"id"`
	Error        Fault     `json:"error"`
	Timestamp    Scalar    `json:"timestamp"`
	Model        string    `json:"model"`
	Usage        *Usage    `json:"usage"`
	Cost         *float64  `json:"cost"`
}

// At is the clock of the message, zero if it has none.
func (m *Message) At() time.Time { return Time(string(m.Timestamp)) }

// Answers is the id of the call that a tool message answers.
func (m *Message) Answers() string {
	if m.ToolCallID != nil {
		return string(*m.ToolCallID)
	}
	return string(m.ID)
}

// Thought is the reasoning of the message, wherever it stands.
func (m *Message) Thought() string {
	return Join(m.Reasoning.Text, m.Reasoning.Thought, m.Thinking.Text, m.Thinking.Thought, m.Content.Thought)
}

// Function is the target of a call: an object, or only its name.
type Function struct {
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

// UnmarshalJSON takes the object or the bare name.
func (f *Function) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '"' {
		return recording.Decode(b, &f.Name)
	}
	type plain Function
	return recording.Decode(b, (*plain)(f))
}

// Call is a tool call: OpenAI's with the arguments as a text, or one with the
// arguments as an object.
type Call struct {
	ID        Scalar          `json:"id"`
	CallID    Scalar          `json:"call_id"`
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
	Args      json.RawMessage `json:"args"`
	Input     json.RawMessage `json:"input"`
	Function  Function        `json:"function"`
	Custom    struct {
		Name  string          `json:"name"`
		Input json.RawMessage `json:"input"`
	} `json:"custom"`
	ParseError Scalar `json:"parse_error"`
}

// Key is the id by which a result names the call.
func (c Call) Key() string {
	if c.CallID != "" {
		return string(c.CallID)
	}
	return string(c.ID)
}

// Target returns the name of the tool and its arguments as JSON text; arguments
// recorded as a text are kept as they stand, JSON or not.
func (c Call) Target() (name, args string) {
	name = c.Function.Name
	if name == "" {
		name = c.Name
	}
	if name == "" {
		name = c.Custom.Name
	}
	for _, raw := range []json.RawMessage{c.Function.Arguments, c.Arguments, c.Args, c.Input, c.Custom.Input} {
		if len(raw) > 0 && string(raw) != "null" {
			return name, Arguments(raw)
		}
	}
	return name, ""
}

// Arguments is the text of arguments: a JSON text is unwrapped, any other value is
// kept in its JSON spelling, on one line.
func Arguments(raw json.RawMessage) string {
	if len(raw) > 0 && raw[0] == '"' {
		return inner(raw)
	}
	if string(raw) == "null" {
		return ""
	}
	return spelling(raw)
}

// spelling is a value as JSON on one line: documents are often indented.
func spelling(raw json.RawMessage) string {
	if bytes.IndexByte(raw, '\n') < 0 {
		return recording.Spelling(raw)
	}
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return string(raw)
	}
	return b.String()
}

// Fault is the error flag of a result: a flag, a text, or an object with a message.
type Fault struct {
	Set     bool
	Type    string
	Message string
}

// UnmarshalJSON takes any value.
func (e *Fault) UnmarshalJSON(b []byte) error {
	if len(b) == 0 {
		return nil
	}
	switch b[0] {
	case '"':
		if err := recording.Decode(b, &e.Message); err != nil {
			return err
		}
		e.Set = e.Message != ""
	case '{':
		var v struct {
			Type    Scalar `json:"type"`
			Message Scalar `json:"message"`
		}
		if err := recording.Decode(b, &v); err != nil {
			return err
		}
		e.Set, e.Type, e.Message = true, string(v.Type), string(v.Message)
	case 'n', 'f':
	default:
		e.Set = string(b) != "0" && string(b) != "[]"
	}
	return nil
}

// Usage counts tokens in the spellings of the chat and the Responses API.
type Usage struct {
	Prompt     int64 `json:"prompt_tokens"`
	Completion int64 `json:"completion_tokens"`
	Input      int64 `json:"input_tokens"`
	Output     int64 `json:"output_tokens"`
	CacheRead  int64 `json:"cache_read_input_tokens"`
	Cached     int64 `json:"cached_input_tokens"`
	Details    struct {
		Cached int64 `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
	InputDetails struct {
		Cached int64 `json:"cached_tokens"`
	} `json:"input_tokens_details"`
	CompletionDetails struct {
		Reasoning int64 `json:"reasoning_tokens"`
	} `json:"completion_tokens_details"`
	OutputDetails struct {
		Reasoning int64 `json:"reasoning_tokens"`
	} `json:"output_tokens_details"`
	ReasoningOutput int64 `json:"reasoning_output_tokens"`
}

// Trace is the usage as a span keeps it; each number stands under one of its
// names only. A nil usage is nothing.
func (u *Usage) Trace() trace.Usage {
	if u == nil {
		return trace.Usage{}
	}
	return trace.Usage{
		Input:     max(u.Prompt, u.Input),
		Output:    max(u.Completion, u.Output),
		Cached:    max(u.CacheRead, u.Cached, u.Details.Cached, u.InputDetails.Cached),
		Reasoning: max(u.CompletionDetails.Reasoning, u.OutputDetails.Reasoning, u.ReasoningOutput),
	}
}

// Tools reads a list of tool definitions: OpenAI's with a function in it, the
// Responses API's and Anthropic's flat ones, or bare names.
func Tools(raw json.RawMessage) []trace.Tool {
	var defs []json.RawMessage
	if len(raw) == 0 || recording.Decode(raw, &defs) != nil {
		return nil
	}
	var out []trace.Tool
	for _, d := range defs {
		var name string
		if len(d) > 0 && d[0] == '"' {
			if json.Unmarshal(d, &name) == nil && name != "" {
				out = append(out, trace.Tool{Name: name})
			}
			continue
		}
		var t struct {
			Name       string          `json:"name"`
			Title      string          `json:"title"`
			Parameters json.RawMessage `json:"parameters"`
			Schema     json.RawMessage `json:"input_schema"`
			Function   struct {
				Name       string          `json:"name"`
				Parameters json.RawMessage `json:"parameters"`
			} `json:"function"`
		}
		if recording.Decode(d, &t) != nil {
			continue
		}
		tool := trace.Tool{Name: t.Function.Name, Schema: t.Function.Parameters}
		if tool.Name == "" {
			tool.Name, tool.Schema = t.Name, t.Parameters
		}
		if tool.Schema == nil {
			tool.Schema = t.Schema
		}
		if tool.Name == "" {
			tool.Name = t.Title
		}
		if string(tool.Schema) == "null" {
			tool.Schema = nil
		}
		if tool.Name != "" {
			out = append(out, tool)
		}
	}
	return out
}

// Time reads the clocks of recordings: RFC 3339 with or without a zone (then UTC),
// or seconds or milliseconds since 1970. Zero if it is none of them.
func Time(s string) time.Time {
	if s == "" {
		return time.Time{}
	}
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999", "2006-01-02 15:04:05.999999999", "2006-01-02 15:04:05.999999999Z07:00"} {
		if t, err := time.Parse(layout, s); err == nil {
			return t.UTC()
		}
	}
	if strings.Trim(s, "0123456789.") != "" {
		return time.Time{}
	}
	whole, part, _ := strings.Cut(s, ".")
	n, err := strconv.ParseInt(whole, 10, 64)
	if err != nil || n <= 0 {
		return time.Time{}
	}
	switch { // by size: nanoseconds, microseconds, milliseconds or seconds of our century
	case n > 1e17:
		return time.Unix(0, n).UTC()
	case n > 1e14:
		return time.UnixMicro(n).UTC()
	case n > 1e11:
		return time.UnixMilli(n).UTC()
	case n > 1e8:
		frac, err := strconv.ParseInt((part + "000000000")[:9], 10, 64)
		if err != nil {
			return time.Time{}
		}
		return time.Unix(n, frac).UTC()
	}
	return time.Time{}
}
