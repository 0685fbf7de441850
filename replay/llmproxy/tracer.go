package llmproxy

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"vise/engine/model/cassette"
	"vise/engine/trace"
)

// Tracer makes the spans of a turn out of what an agent and its model said: an LLM
// span per request, a TOOL span per call the model made, answered by the result
// that a later request carries. It is safe for concurrent use.
//
// The wire says what was asked, answered and used. It does not say whether a tool
// failed: only the text of its result can tell.
type Tracer struct {
	// ID begins the ids of the LLM spans; it must differ between turns.
	ID string

	mu       sync.Mutex
	n        int
	sent     []json.RawMessage // messages of the longest request so far
	spans    []trace.Span
	byCall   map[string]int // position of a TOOL span by call id
	answered map[string]bool
}

// Turn begins a turn: its spans get ids that begin with id. What was asked before
// stays known, so that a span holds only what was new to the model.
func (t *Tracer) Turn(id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ID, t.n, t.spans, t.byCall, t.answered = id, 0, nil, nil, nil
}

// Add takes an exchange in and returns the spans that are new or changed.
func (t *Tracer) Add(e cassette.Exchange) []trace.Span {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.byCall == nil {
		t.byCall, t.answered = map[string]int{}, map[string]bool{}
	}
	var changed []trace.Span
	q := readRequest(e)
	for id, result := range q.results {
		at, ok := t.byCall[id]
		if !ok || t.answered[id] {
			continue
		}
		t.answered[id] = true
		s := &t.spans[at]
		s.Output, s.Pending, s.End = result, false, e.Started
		changed = append(changed, *s)
	}
	if !q.asks {
		return changed
	}
	a := read(e)
	t.n++
	llm := trace.Span{
		ID: fmt.Sprintf("%s-llm%d", t.ID, t.n), Kind: trace.LLM, Name: a.model, Input: t.news(q.messages),
		Output: a.text, Thought: a.reasoning, Error: a.err, Start: e.Started, End: e.Started.Add(e.Elapsed), Usage: a.usage,
		Attrs: map[string]any{"exchange": e.Seq, "messages": len(q.messages)},
	}
	if llm.Name == "" {
		llm.Name = q.model
	}
	if a.finish != "" {
		llm.Attrs["finish"] = a.finish
	}
	if e.Limit > 0 {
		llm.Attrs["output_limit"] = e.Limit
	}
	t.spans = append(t.spans, llm)
	changed = append(changed, llm)
	if a.err != "" {
		return changed // nothing of a broken answer was a call
	}
	for i, c := range a.calls {
		id := c.ID
		if _, taken := t.byCall[id]; id == "" || taken {
			id = llm.ID + "-call" + strconv.Itoa(i)
		}
		s := trace.Span{ID: id, Parent: llm.ID, Kind: trace.TOOL, Name: c.Name, Input: c.Arguments, Pending: true, Start: llm.End}
		t.byCall[id] = len(t.spans)
		t.spans = append(t.spans, s)
		changed = append(changed, s)
	}
	return changed
}

// Spans are all spans so far, in the order they began.
func (t *Tracer) Spans() []trace.Span {
	t.mu.Lock()
	defer t.mu.Unlock()
	return append([]trace.Span(nil), t.spans...)
}

// news are the messages that the longest request before did not hold: the rest is
// in the spans before this one.
func (t *Tracer) news(messages []json.RawMessage) string {
	common := 0
	for common < min(len(messages), len(t.sent)) && bytes.Equal(messages[common], t.sent[common]) {
		common++
	}
	if common == len(t.sent) || len(messages) > len(t.sent) {
		t.sent = messages
	}
	if common == len(messages) {
		return ""
	}
	return "[" + string(bytes.Join(raws(messages[common:]), []byte(","))) + "]"
}

func raws(messages []json.RawMessage) [][]byte {
	out := make([][]byte, len(messages))
	for i, m := range messages {
		out[i] = m
	}
	return out
}

// request is what an agent asked, of either API.
type request struct {
	asks     bool // a question to a model at all
	model    string
	messages []json.RawMessage
	results  map[string]string // by call id
}

func readRequest(e cassette.Exchange) request {
	var q struct {
		Model        string            `json:"model"`
		Messages     []json.RawMessage `json:"messages"`
		Input        json.RawMessage   `json:"input"`
		Instructions string            `json:"instructions"`
	}
	r := request{results: map[string]string{}}
	if e.Method != "POST" || json.Unmarshal(e.Request, &q) != nil {
		return r
	}
	r.model, r.messages = q.Model, q.Messages
	switch {
	case isResponses(e.Path):
		r.asks = true
		if json.Unmarshal(q.Input, &r.messages) != nil && len(q.Input) > 0 {
			r.messages = []json.RawMessage{q.Input}
		}
		for _, m := range r.messages {
			var it item
			if json.Unmarshal(m, &it) == nil && it.Type == "function_call_output" {
				r.results[it.CallID] = textOrRaw(it.Output)
			}
		}
	case strings.HasSuffix(e.Path, "/chat/completions"):
		r.asks = true
		for _, m := range q.Messages {
			var msg struct {
				Role    string          `json:"role"`
				CallID  string          `json:"tool_call_id"`
				Content json.RawMessage `json:"content"`
			}
			if json.Unmarshal(m, &msg) == nil && msg.Role == "tool" {
				r.results[msg.CallID] = textOrRaw(msg.Content)
			}
		}
	}
	return r
}

// textOrRaw keeps what is no text as it is.
func textOrRaw(raw json.RawMessage) string {
	if s := textOf(raw); s != "" || len(raw) == 0 || string(raw) == "null" || string(raw) == `""` {
		return s
	}
	return string(raw)
}
