package openai

import (
	"encoding/json"
	"time"

	"vise/engine/trace"
	"vise/replay/format/chat"
)

// exchange is one record: a request, its response if it was logged, or a list.
type exchange struct {
	SessionID      chat.Scalar       `json:"session_id"`
	ConversationID chat.Scalar       `json:"conversation_id"`
	ID             chat.Scalar       `json:"id"`
	Model          string            `json:"model"`
	Messages       []json.RawMessage `json:"messages"`
	Items          []json.RawMessage `json:"items"`
	Input          json.RawMessage   `json:"input"`
	Instructions   chat.Content      `json:"instructions"`
	System         chat.Content      `json:"system"`
	Previous       string            `json:"previous_response_id"`
	Tools          json.RawMessage   `json:"tools"`
	Args           struct {
		Tools json.RawMessage `json:"tools"`
	} `json:"kwargs"`
	Request *struct { // of a log that wraps both
		Messages []json.RawMessage `json:"messages"`
		Input    json.RawMessage   `json:"input"`
		Model    string            `json:"model"`
		Tools    json.RawMessage   `json:"tools"`
		System   chat.Content      `json:"system"`
		Previous string            `json:"previous_response_id"`
	} `json:"request"`
	Response  *response   `json:"response"`
	Timestamp chat.Scalar `json:"timestamp"`
	Latency   *float64    `json:"latency_sec"`
	Cost      *float64    `json:"cost"`

	index int
	cut   bool
	steps map[int]trace.Span // what earlier requests know of their answers, by the place of the message
	keys  [][32]byte
	size  int
}

// response is the answer of either API, or Anthropic's.
type response struct {
	ID      string `json:"id"`
	Object  string `json:"object"`
	Model   string `json:"model"`
	Choices []struct {
		Message chat.Message `json:"message"`
		Finish  string       `json:"finish_reason"`
	} `json:"choices"`
	Output  []json.RawMessage `json:"output"`
	Role    string            `json:"role"`
	Content chat.Content      `json:"content"`
	Stop    string            `json:"stop_reason"`
	Tools   json.RawMessage   `json:"tools"`
	Usage   *chat.Usage       `json:"usage"`
	Error   chat.Fault        `json:"error"`
}

// unwrap brings the spellings of a record together: chat messages in Messages,
// Responses items in Items.
func (e *exchange) unwrap() {
	if q := e.Request; q != nil {
		if e.Messages == nil {
			e.Messages = q.Messages
		}
		if len(e.Input) == 0 {
			e.Input = q.Input
		}
		if len(e.Tools) == 0 {
			e.Tools = q.Tools
		}
		if e.Model == "" {
			e.Model = q.Model
		}
		if e.System.Text == "" {
			e.System = q.System
		}
		if e.Previous == "" {
			e.Previous = q.Previous
		}
	}
	if len(e.Input) > 0 && e.Items == nil {
		switch e.Input[0] {
		case '[':
			e.Items = raws(e.Input)
		case '"':
			item, err := json.Marshal(map[string]any{"type": "message", "role": "user", "content": e.Input})
			if err == nil {
				e.Items = []json.RawMessage{item}
			}
		}
	}
}

// answered is the span of the response as far as the log knows it: a timestamp is
// written when the answer is there.
func (e *exchange) answered() trace.Span {
	end := chat.Time(string(e.Timestamp))
	start := end
	if e.Latency != nil && !end.IsZero() && *e.Latency > 0 && *e.Latency < 86400 {
		start = end.Add(-time.Duration(*e.Latency * float64(time.Second)))
	}
	s := trace.Span{Name: e.Model, Start: start, End: end}
	if e.Response != nil {
		s.Usage = e.Response.Usage.Trace()
		if e.Response.Model != "" {
			s.Name = e.Response.Model
		}
	}
	s.Usage.CostUSD = e.Cost
	return s
}
