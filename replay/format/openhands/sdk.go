package openhands

import (
	"encoding/json"

	"vise/engine/trace"
	"vise/replay/format/chat"
	"vise/replay/format/recording"
)

// sdk takes an event of version 1.
func (s *session) sdk(e *event, raw json.RawMessage) error {
	at := e.at()
	switch e.Kind {
	case "MessageEvent":
		text := e.LLMMessage.Content.Text
		if e.Source == "user" {
			s.response = ""
			return s.conv.Input(text, at)
		}
		s.conv.Step(trace.Span{ID: chat.First(e.Response, string(e.ID)), Name: s.model, Output: text, Thought: e.LLMMessage.Thought(),
			Start: at, End: at, Usage: s.usage[e.Response]})
		s.response = e.Response
	case "ActionEvent":
		if e.Response == "" || e.Response != s.response {
			s.response = e.Response
			s.conv.Step(trace.Span{ID: e.Response, Name: s.model, Output: e.Thought.Text, Start: at, End: at, Usage: s.usage[e.Response],
				Thought: chat.Join(e.Reasoning.Text, e.Thinking.Thought, e.Thinking.Text)})
		}
		name, args := e.ToolCall.Target()
		if args == "" {
			args = chat.Arguments(e.Action)
		}
		key := chat.First(e.ToolCallID, string(e.ID))
		s.keys["id "+string(e.ID)] = key
		s.conv.Call(key, trace.Span{Name: chat.First(e.ToolName, name), Input: args, Start: at, End: at})
	case "ObservationEvent", "AgentErrorEvent", "UserRejectObservation":
		var o struct {
			Content  chat.Content `json:"content"`
			Output   chat.Content `json:"output"`
			IsError  bool         `json:"is_error"`
			ExitCode *json.Number `json:"exit_code"`
		}
		if len(e.Observed) > 0 {
			_ = recording.Decode(e.Observed, &o) // part of a text that was JSON
		}
		key := chat.First(e.ToolCallID, s.keys["id "+e.ActionID])
		r := recording.Result{Output: chat.First(o.Content.Text, o.Output.Text, string(e.Error)), Failed: o.IsError || e.Kind == "AgentErrorEvent", At: at}
		if o.ExitCode != nil {
			r.Attrs = map[string]any{"exit_code": *o.ExitCode}
			if n, err := o.ExitCode.Int64(); err == nil && n > 0 {
				r.Failed = true
			}
		}
		s.conv.Answer(key, r)
	case "SystemPromptEvent", "SystemPromptUpdateEvent", "ConversationStateUpdateEvent":
		s.aside[e.Kind]++
	case "PauseEvent", "Condensation", "CondensationRequest", "CondensationSummaryEvent":
		s.conv.Opaque(e.Kind, raw, map[string]any{"event": s.n}, at)
	default:
		s.unknown(e.Kind, raw, at)
	}
	return nil
}
