package model

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"vise/engine/trace"
)

// chunk is our own view of one payload of the stream: more dialects than the
// client library knows.
type chunk struct {
	Model   string `json:"model"`
	Choices []struct {
		Index *int `json:"index"`
		Delta struct {
			Content          json.RawMessage `json:"content"`
			Refusal          string          `json:"refusal"`
			ReasoningContent string          `json:"reasoning_content"`
			Reasoning        json.RawMessage `json:"reasoning"`
			ToolCalls        []piece         `json:"tool_calls"`
			FunctionCall     *function       `json:"function_call"`
		} `json:"delta"`
		FinishReason *string `json:"finish_reason"`
	} `json:"choices"`
	Usage *usage          `json:"usage"`
	Error json.RawMessage `json:"error"`
}

// piece is a part of one tool call.
type piece struct {
	Index    *int     `json:"index"`
	ID       string   `json:"id"`
	Function function `json:"function"`
}

type function struct {
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

type usage struct {
	Prompt     int64    `json:"prompt_tokens"`
	Completion int64    `json:"completion_tokens"`
	Total      int64    `json:"total_tokens"`
	Cost       *float64 `json:"cost"` // OpenRouter
	PromptMore *struct {
		Cached int64 `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
	CompletionMore *struct {
		Reasoning int64 `json:"reasoning_tokens"`
	} `json:"completion_tokens_details"`
}

// assembler puts a streamed answer together.
type assembler struct {
	reply     Reply
	text      strings.Builder
	reasoning strings.Builder
	refusal   strings.Builder
	arguments []*strings.Builder
	given     []bool // arguments were sent, even if empty
	byIndex   map[int]int
	byID      map[string]int
	finished  bool
	noted     map[string]bool
}

func newAssembler() *assembler {
	return &assembler{byIndex: map[int]int{}, byID: map[string]int{}, noted: map[string]bool{}}
}

func (a *assembler) note(s string) {
	if !a.noted[s] && len(a.reply.Notes) < 16 {
		a.noted[s] = true
		a.reply.Notes = append(a.reply.Notes, s)
	}
}

// add takes one payload in and reports the visible pieces.
func (a *assembler) add(raw []byte, onDelta func(Delta)) error {
	var c chunk
	if err := json.Unmarshal(raw, &c); err != nil {
		return &Error{Kind: KindProtocol, Message: fmt.Sprintf("a piece of the stream is not a chat chunk (%v): %s", err, raw[:min(len(raw), 120)])}
	}
	if !isNull(c.Error) {
		return streamError(c.Error)
	}
	if c.Model != "" {
		a.reply.Model = c.Model
	}
	if c.Usage != nil {
		a.use(c.Usage)
	}
	// Empty on the usage chunk and on the first chunk of some servers.
	for _, choice := range c.Choices {
		if choice.Index != nil && *choice.Index != 0 {
			continue
		}
		d := choice.Delta
		text := textOf(d.Content)
		reasoning := d.ReasoningContent
		if reasoning == "" {
			reasoning = textOf(d.Reasoning)
		}
		a.text.WriteString(text)
		a.reasoning.WriteString(reasoning)
		a.refusal.WriteString(d.Refusal)
		if text != "" || reasoning != "" {
			onDelta(Delta{Text: text, Reasoning: reasoning, Call: -1})
		}
		if d.FunctionCall != nil {
			zero := 0
			d.ToolCalls = append(d.ToolCalls, piece{Index: &zero, Function: *d.FunctionCall})
			a.note("the provider uses the retired function_call field")
		}
		for _, p := range d.ToolCalls {
			a.call(p, onDelta)
		}
		if choice.FinishReason != nil && *choice.FinishReason != "" {
			a.reply.Finish, a.finished = *choice.FinishReason, true
		}
	}
	return nil
}

// call files one piece under its call: by index, but a new id under a used index
// is a new call; else by id; else it continues the last one, unless it names a tool.
func (a *assembler) call(p piece, onDelta func(Delta)) {
	pos, ok := -1, false
	switch {
	case p.Index != nil:
		pos, ok = a.byIndex[*p.Index]
		if ok && p.ID != "" && a.reply.Calls[pos].ID != "" && p.ID != a.reply.Calls[pos].ID {
			a.note("the provider sends several tool calls under one index")
			pos, ok = a.byID[p.ID]
		}
	case p.ID != "":
		a.note("the provider sends tool calls without an index")
		pos, ok = a.byID[p.ID]
	case p.Function.Name == "" && len(a.reply.Calls) > 0:
		pos, ok = len(a.reply.Calls)-1, true
	default:
		a.note("the provider sends tool calls without index and id")
	}
	if !ok {
		pos = len(a.reply.Calls)
		a.reply.Calls = append(a.reply.Calls, Call{})
		a.arguments = append(a.arguments, &strings.Builder{})
		a.given = append(a.given, false)
	}
	call := &a.reply.Calls[pos]
	if p.Index != nil {
		a.byIndex[*p.Index] = pos
	}
	if p.ID != "" {
		if call.ID == "" {
			call.ID = p.ID
		}
		a.byID[p.ID] = pos
	}
	if call.Name == "" {
		// Taken once: some servers repeat the whole name in every piece.
		call.Name = p.Function.Name
	}
	var text string
	if !isNull(p.Function.Arguments) {
		a.given[pos] = true
		// Arguments should be text that holds JSON; some servers send the JSON itself.
		if json.Unmarshal(p.Function.Arguments, &text) != nil {
			text = string(bytes.TrimSpace(p.Function.Arguments))
			a.note("the provider sends tool arguments as JSON instead of text")
		}
	}
	a.arguments[pos].WriteString(text)
	onDelta(Delta{Call: pos, Name: call.Name, Arguments: text})
}

func (a *assembler) use(u *usage) {
	a.reply.UsageKnown = true
	a.reply.Usage = trace.Usage{Input: u.Prompt, Output: u.Completion, CostUSD: u.Cost}
	a.reply.Total = u.Total
	if u.PromptMore != nil {
		a.reply.Usage.Cached = u.PromptMore.Cached
	}
	if u.CompletionMore != nil {
		a.reply.Usage.Reasoning = u.CompletionMore.Reasoning
	}
}

// result returns what was put together so far and whether it is complete.
func (a *assembler) result() (Reply, bool) {
	r := a.reply
	r.Text, r.Reasoning, r.Refusal = a.text.String(), a.reasoning.String(), a.refusal.String()
	size := len(r.Text) + len(r.Reasoning) + len(r.Refusal)
	r.Calls = append([]Call(nil), r.Calls...)
	for i := range r.Calls {
		r.Calls[i].Arguments = a.arguments[i].String()
		size += len(r.Calls[i].Arguments) + len(r.Calls[i].Name)
		if r.Calls[i].ID == "" {
			r.Calls[i].ID = "call_" + strconv.Itoa(i)
		}
		if r.Calls[i].Arguments == "" && !a.given[i] {
			r.Calls[i].Arguments = "{}"
		}
	}
	r.Estimate = estimate(size)
	if len(r.Calls) > 0 && r.Finish == "stop" {
		a.note("the provider finished with stop although it called tools")
		r.Notes = a.reply.Notes
		r.Finish = "tool_calls"
	}
	return r, a.finished
}

// estimate guesses tokens from bytes: four bytes are about one token of English or JSON.
func estimate(bytes int) int64 { return int64(bytes+3) / 4 }

// textOf reads content that is text or a list of {"type":"text","text":...}.
func textOf(raw json.RawMessage) string {
	if isNull(raw) {
		return ""
	}
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	var parts []struct {
		Text string `json:"text"`
	}
	if json.Unmarshal(raw, &parts) != nil {
		return ""
	}
	for _, p := range parts {
		s += p.Text
	}
	return s
}

// streamError reads an error sent inside a stream: an object, a list, or a text.
func streamError(raw json.RawMessage) error {
	e := &Error{Kind: KindServer, Message: "inside the stream: " + bodyMessage(raw)}
	var o struct {
		Code   any `json:"code"`
		Status any `json:"status"`
	}
	if json.Unmarshal(raw, &o) == nil {
		for _, v := range []any{o.Code, o.Status} {
			if f, ok := v.(float64); ok && f >= 400 && f < 600 {
				e.Kind, e.Status = kindOfStatus(int(f)), int(f)
				break
			}
		}
	}
	return e
}
