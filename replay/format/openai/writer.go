package openai

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"

	"vise/engine/longtext"
	"vise/engine/trace"
)

// Writer writes sessions as chat messages: JSON Lines of {"messages", "tools"},
// the format for fine-tuning, a line per session. Messages are written as they
// come, so that a session of any length costs the memory of one turn.
//
// What has no place in a chat is left out: clocks, usage, reasoning, CHAIN spans,
// the inside of sub-agents (what hangs under a call), error flags (the text of the
// error is the result). A call that was never answered has no tool message.
type Writer struct {
	w     *bufio.Writer
	tools []trace.Tool
	some  bool
	aside longtext.Aside
}

// NewWriter returns a writer on w.
func NewWriter(w io.Writer) *Writer { return &Writer{w: bufio.NewWriter(w)} }

type outMessage struct {
	Role       string    `json:"role"`
	Content    *string   `json:"content"`
	Calls      []outCall `json:"tool_calls,omitempty"`
	ToolCallID string    `json:"tool_call_id,omitempty"`
}

type outCall struct {
	ID       string      `json:"id"`
	Type     string      `json:"type"`
	Function outFunction `json:"function"`
}

type outFunction struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// Session begins a line; its turns follow, then End.
func (w *Writer) Session(s trace.Session) error {
	w.tools, w.some = s.Tools, false
	if _, err := w.w.WriteString(`{"messages":[`); err != nil {
		return fmt.Errorf("openai: write session %s: %w", s.ID, err)
	}
	if s.System == "" {
		return nil
	}
	return w.message(outMessage{Role: "system", Content: &s.System})
}

func (w *Writer) message(m outMessage) error {
	if m.Content != nil {
		content := *m.Content
		w.aside.Take(&content)
		m.Content = &content
	}
	for i := range m.Calls {
		w.aside.Take(&m.Calls[i].Function.Arguments)
	}
	raw, err := json.Marshal(m)
	if err != nil {
		return fmt.Errorf("openai: write message: %w", err)
	}
	if w.some {
		raw = append([]byte{','}, raw...)
	}
	w.some = true
	if err := w.aside.Write(w.w, raw); err != nil {
		return fmt.Errorf("openai: write message: %w", err)
	}
	return nil
}

// Turn writes the messages of a turn.
func (w *Writer) Turn(t trace.Turn) error {
	if !t.Synthetic || t.Input != "" {
		if err := w.message(outMessage{Role: "user", Content: &t.Input}); err != nil {
			return err
		}
	}
	inside := insideCalls(t.Spans)
	for i := 0; i < len(t.Spans); i++ {
		s := &t.Spans[i]
		if inside[s.ID] || s.Kind != trace.LLM && s.Kind != trace.TOOL {
			continue
		}
		m := outMessage{Role: "assistant"}
		next := i
		if s.Kind == trace.LLM {
			if s.Output != "" {
				m.Content = &s.Output
			}
			next++
		}
		// The calls up to the next answer belong to this one.
		var calls []*trace.Span
		for ; next < len(t.Spans) && t.Spans[next].Kind != trace.LLM; next++ {
			if c := &t.Spans[next]; c.Kind == trace.TOOL && !inside[c.ID] {
				calls = append(calls, c)
			}
		}
		for _, c := range calls {
			m.Calls = append(m.Calls, outCall{ID: c.ID, Type: "function", Function: outFunction{Name: c.Name, Arguments: c.Input}})
		}
		if m.Content == nil && m.Calls == nil {
			m.Content = new(string)
		}
		if err := w.message(m); err != nil {
			return err
		}
		for _, c := range calls {
			if c.Pending {
				continue
			}
			out := c.Output
			if out == "" {
				out = c.Error
			}
			if err := w.message(outMessage{Role: "tool", Content: &out, ToolCallID: c.ID}); err != nil {
				return err
			}
		}
		i = next - 1
	}
	return nil
}

// insideCalls are the ids of the spans that hang under a call: a sub-agent's.
func insideCalls(spans []trace.Span) map[string]bool {
	byID := make(map[string]*trace.Span, len(spans))
	for i := range spans {
		byID[spans[i].ID] = &spans[i]
	}
	out := map[string]bool{}
	for i := range spans {
		p := byID[spans[i].Parent]
		for depth := 0; p != nil && depth < len(spans); depth++ {
			if p.Kind == trace.TOOL {
				out[spans[i].ID] = true
				break
			}
			p = byID[p.Parent]
		}
	}
	return out
}

// End ends the line of a session.
func (w *Writer) End() error {
	if _, err := w.w.WriteString("]"); err != nil {
		return fmt.Errorf("openai: end session: %w", err)
	}
	if len(w.tools) > 0 {
		type function struct {
			Name       string          `json:"name"`
			Parameters json.RawMessage `json:"parameters,omitempty"`
		}
		type tool struct {
			Type     string   `json:"type"`
			Function function `json:"function"`
		}
		list := make([]tool, len(w.tools))
		for i, t := range w.tools {
			list[i] = tool{"function", function{t.Name, t.Schema}}
		}
		raw, err := json.Marshal(list)
		if err != nil {
			return fmt.Errorf("openai: write tools: %w", err)
		}
		if _, err := fmt.Fprintf(w.w, `,"tools":%s`, raw); err != nil {
			return fmt.Errorf("openai: write tools: %w", err)
		}
	}
	if _, err := w.w.WriteString("}\n"); err != nil {
		return fmt.Errorf("openai: end session: %w", err)
	}
	if err := w.w.Flush(); err != nil {
		return fmt.Errorf("openai: end session: %w", err)
	}
	return nil
}
