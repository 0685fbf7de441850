// Package chat is what the chat-shaped formats share: messages with a role, a
// content and tool calls, in every spelling met so far, and how a list of them
// becomes the turns of a conversation.
package chat

import (
	"encoding/json"
	"strings"

	"vise/replay/format/recording"
)

// Scalar is a text that some recordings write as a number or a flag; any other
// value is kept in its JSON spelling, null is "".
type Scalar string

// UnmarshalJSON takes any value.
func (t *Scalar) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '"' {
		return recording.Decode(b, (*string)(t))
	}
	if string(b) != "null" {
		*t = Scalar(b)
	}
	return nil
}

// Content is what a message says: a text, a list of parts, or an object.
// Pictures and other payloads are described, never kept.
type Content struct {
	Text    string
	Thought string // reasoning parts
	Calls   []Call // calls written as parts
	Results []Part // results of calls written as parts
	Set     bool   // there was a content other than null
}

// Part is one part of a content, in the spellings of the providers.
type Part struct {
	Type     string          `json:"type"`
	Text     Scalar          `json:"text"`
	Content  json.RawMessage `json:"content"`
	Refusal  string          `json:"refusal"`
	Thinking string          `json:"thinking"`
	// Reasoning and its summary, as Inspect and the Responses API write them.
	Reasoning Scalar    `json:"reasoning"`
	Summary   []Content `json:"summary"`
	// Payloads.
	ImageURL  json.RawMessage `json:"image_url"`
	Image     Scalar          `json:"image"`
	Data      Scalar          `json:"data"`
	MimeType  string          `json:"mime_type"`
	MediaType string          `json:"media_type"`
	Source    struct {
		MediaType string `json:"media_type"`
		Data      string `json:"data"`
		URL       string `json:"url"`
		Path      string `json:"path"`
	} `json:"source"`
	// Calls and results as parts.
	ID        Scalar          `json:"id"`
	CallID    Scalar          `json:"tool_call_id"`
	ToolUseID Scalar          `json:"tool_use_id"`
	Name      string          `json:"name"`
	Input     json.RawMessage `json:"input"`
	Arguments json.RawMessage `json:"arguments"`
	Response  json.RawMessage `json:"response"`
	Result    json.RawMessage `json:"result"`
	IsError   bool            `json:"is_error"`
}

// UnmarshalJSON takes any value.
func (c *Content) UnmarshalJSON(b []byte) error {
	if len(b) == 0 || b[0] == 'n' {
		return nil
	}
	c.Set = true
	switch b[0] {
	case '"':
		return recording.Decode(b, &c.Text)
	case '[':
		var raws []json.RawMessage
		if err := recording.Decode(b, &raws); err != nil {
			return err
		}
		var texts, thoughts []string
		for _, raw := range raws {
			text, thought := c.part(raw)
			if text != "" {
				texts = append(texts, text)
			}
			if thought != "" {
				thoughts = append(thoughts, thought)
			}
		}
		c.Text, c.Thought = strings.Join(texts, "\n"), strings.Join(thoughts, "\n")
	case '{':
		if c.Text, c.Thought = c.part(b); c.Text == "" && c.Thought == "" {
			c.Text = recording.Spelling(b)
		}
	default:
		c.Text = recording.Spelling(b)
	}
	return nil
}

// part reads one part.
func (c *Content) part(raw json.RawMessage) (text, thought string) {
	if len(raw) > 0 && raw[0] == '"' {
		_ = recording.Decode(raw, &text) // part of a text that was JSON
		return text, ""
	}
	var p Part
	if recording.Decode(raw, &p) != nil {
		return "", ""
	}
	switch p.Type {
	case "reasoning", "thinking":
		parts := []string{string(p.Reasoning), p.Thinking}
		for _, s := range p.Summary {
			parts = append(parts, s.Text)
		}
		if s := Join(parts...); s != "" {
			return "", s
		}
		return "", Join(string(p.Text), inner(p.Content))
	case "tool_use", "tool_call":
		args := p.Input
		if args == nil {
			args = p.Arguments
		}
		c.Calls = append(c.Calls, Call{ID: p.ID, Name: p.Name, Arguments: args})
		return "", ""
	case "tool_result", "tool_call_response":
		c.Results = append(c.Results, p)
		return "", ""
	case "refusal":
		return p.Refusal, ""
	}
	if p.Text != "" {
		return string(p.Text), ""
	}
	if s := p.payload(); s != "" {
		return s, ""
	}
	return inner(p.Content), ""
}

// Key is the id of the call that a result part answers.
func (p Part) Key() string {
	for _, id := range []Scalar{p.ToolUseID, p.CallID, p.ID} {
		if id != "" {
			return string(id)
		}
	}
	return ""
}

// Output is what a result part holds.
func (p Part) Output() string {
	for _, raw := range []json.RawMessage{p.Content, p.Response, p.Result} {
		if len(raw) > 0 {
			return Text(raw)
		}
	}
	return string(p.Text)
}

// payload describes a picture or another binary part.
func (p Part) payload() string {
	switch {
	case p.Source.Data != "":
		return recording.Binary(kindOf(p.Type), p.Source.MediaType, p.Source.Data)
	case p.Source.URL != "":
		return recording.Address(kindOf(p.Type), p.Source.URL)
	case p.Source.Path != "":
		return recording.Address(kindOf(p.Type), p.Source.Path)
	}
	url := ""
	if len(p.ImageURL) > 0 {
		var o struct {
			URL string `json:"url"`
		}
		if p.ImageURL[0] == '"' {
			_ = recording.Decode(p.ImageURL, &url) // part of a text that was JSON
		} else if recording.Decode(p.ImageURL, &o) == nil {
			url = o.URL
		}
	}
	if url == "" {
		url = string(p.Image)
	}
	mime := p.MimeType
	if mime == "" {
		mime = p.MediaType
	}
	switch {
	case url != "":
		return recording.Address(kindOf(p.Type), url)
	case p.Data != "" && mime != "":
		return recording.Binary(kindOf(p.Type), mime, string(p.Data))
	}
	return ""
}

func kindOf(t string) string {
	for _, kind := range []string{"image", "audio", "video", "document", "file"} {
		if strings.Contains(t, kind) {
			return kind
		}
	}
	return "data"
}

// inner is the text of a content inside a part: only a text counts.
func inner(raw json.RawMessage) string {
	var s string
	if len(raw) > 0 && raw[0] == '"' {
		_ = recording.Decode(raw, &s) // part of a text that was JSON
	}
	return s
}

// Text is the text of a JSON value: a text itself, the texts of a content, or the
// value in its JSON spelling.
func Text(raw json.RawMessage) string {
	if len(raw) == 0 || string(raw) == "null" {
		return ""
	}
	switch raw[0] {
	case '"':
		return inner(raw)
	case '[':
		var c Content
		if recording.Decode(raw, &c) == nil && c.Text != "" {
			return c.Text
		}
	}
	return spelling(raw)
}

// Join puts texts on lines of their own; empty ones are left out.
func Join(parts ...string) string {
	var out []string
	for _, s := range parts {
		if s != "" {
			out = append(out, s)
		}
	}
	return strings.Join(out, "\n")
}

// First returns the first text that says something.
func First(texts ...string) string {
	for _, t := range texts {
		if strings.TrimSpace(t) != "" {
			return t
		}
	}
	return ""
}
