package export

import (
	"encoding/json"

	otlp "go.opentelemetry.io/proto/otlp/trace/v1"
)

// message and part are the JSON of gen_ai.input.messages and gen_ai.output.messages.
type message struct {
	Role  string `json:"role"`
	Parts []part `json:"parts"`
}

type part struct {
	Type    string `json:"type"` // text, tool_call, tool_call_response
	Content string `json:"content,omitempty"`
	ID      string `json:"id,omitempty"`
	Name    string `json:"name,omitempty"`
	// Arguments of a tool_call, Response of a tool_call_response: JSON, or text that is none.
	Arguments any `json:"arguments,omitempty"`
	Response  any `json:"response,omitempty"`
}

// said is one message of one text; none for an empty text.
func said(role, text string) []message {
	if text == "" {
		return nil
	}
	return []message{{Role: role, Parts: []part{{Type: "text", Content: text}}}}
}

// messages sets an attribute to messages. Each text is masked and bounded by itself,
// so that the attribute stays JSON.
func (b *builder) messages(s *otlp.Span, key string, list []message) {
	if s == nil || len(list) == 0 {
		return
	}
	for _, m := range list {
		for i := range m.Parts {
			p := &m.Parts[i]
			p.Content, p.Arguments, p.Response = b.text(p.Content), b.value(p.Arguments), b.value(p.Response)
		}
	}
	raw, err := json.Marshal(list)
	if err != nil {
		return // texts and JSON only: it has none
	}
	s.Attributes = append(s.Attributes, attribute(key, string(raw)))
}

// value is a text as it may leave, as JSON where it is JSON.
func (b *builder) value(v any) any {
	text, _ := v.(string)
	if text = b.text(text); text == "" {
		return nil
	}
	if json.Valid([]byte(text)) {
		return json.RawMessage(text)
	}
	return text
}
