package otel

import (
	"encoding/json"
	"strings"

	"vise/engine/trace"
	"vise/replay/format/chat"
	"vise/replay/format/recording"
)

// kind is the role of a span by whichever convention it follows: OpenInference,
// the GenAI conventions of OpenTelemetry, those of AWS, Traceloop and Langfuse. A
// step is one response of a model: embeddings and rerankers are none.
func (s *span) kind() trace.Kind {
	if t := s.attrs.text("langfuse.observation.type"); t != "" {
		// Older clients had no type for calls; what started one names it.
		switch {
		case t == "GENERATION" || t == "generation":
			return trace.LLM
		case strings.EqualFold(t, "TOOL") || s.attrs.text("gen_ai.operation.name") == "execute_tool" || s.attrs.text("gen_ai.tool.call.id") != "":
			return trace.TOOL
		case strings.EqualFold(t, "AGENT"):
			return trace.AGENT
		}
		return trace.CHAIN
	}
	for _, key := range []string{"openinference.span.kind", "aws.genai.span_kind"} {
		switch strings.ToUpper(s.attrs.text(key)) {
		case "LLM":
			return trace.LLM
		case "TOOL":
			return trace.TOOL
		case "AGENT":
			return trace.AGENT
		case "":
			continue
		}
		if key == "openinference.span.kind" {
			return trace.CHAIN
		}
	}
	switch s.attrs.text("gen_ai.operation.name") {
	case "chat", "text_completion", "generate_content", "completion":
		return trace.LLM
	case "execute_tool":
		return trace.TOOL
	case "invoke_agent", "create_agent", "invoke_workflow":
		return trace.AGENT
	}
	switch s.attrs.text("traceloop.span.kind") {
	case "tool":
		return trace.TOOL
	case "agent":
		return trace.AGENT
	}
	switch s.attrs.text("llm.request.type") {
	case "chat", "completion":
		return trace.LLM
	}
	return trace.CHAIN
}

// interpret turns a span into one of a trace.
func (s *span) interpret(rec *recording.Recorder) trace.Span {
	out := trace.Span{ID: s.id, Parent: s.parent, Kind: s.kind(), Name: s.name, Start: s.start, End: s.end}
	if out.End.Before(out.Start) {
		out.End = out.Start
	}
	out.Attrs = s.rest(rec)
	if s.scope != "" {
		out.Attrs["scope"] = rec.Short(s.scope, 200)
	}
	if s.links > 0 {
		out.Attrs["links"] = s.links
	}
	switch out.Kind {
	case trace.LLM:
		if model := s.attrs.text("gen_ai.response.model", "gen_ai.request.model", "llm.model_name", "llm.response.model"); model != "" {
			out.Name = model
		}
		out.Output, out.Thought = s.answer()
		out.Thought = chat.Join(out.Thought, s.attrs.text("vise.reasoning"))
		out.Usage = s.usage()
		if n := len(s.prompt()); n > 0 {
			out.Attrs["prompt_messages"] = n
		}
	case trace.TOOL:
		if name := s.attrs.text("gen_ai.tool.name", "tool.name", "traceloop.entity.name"); name != "" {
			out.Name = name
		}
		if id := s.attrs.text("gen_ai.tool.call.id", "tool.id", "tool_call.id"); id != "" {
			out.Attrs["call_id"] = id
		}
		out.Input = s.attrs.text("gen_ai.tool.call.arguments", "gcp.vertex.agent.tool_call_args", "input.value", "tool.parameters", "traceloop.entity.input")
		out.Input = unwrap(out.Input, s.attrs.text("tool.parameters"))
		out.Output = s.attrs.text("gen_ai.tool.call.result", "gcp.vertex.agent.tool_response", "output.value", "traceloop.entity.output")
	default:
		if name := s.attrs.text("gen_ai.agent.name", "agent.name"); name != "" && out.Kind == trace.AGENT {
			out.Name = name
		}
		out.Input = s.attrs.text("input.value", "traceloop.entity.input", "gen_ai.tool.call.arguments")
		if out.Input == "" && out.Kind == trace.AGENT {
			out.Input = lastUser(s.prompt())
		}
		out.Output, out.Thought = s.answer()
	}
	if s.attrs.text("vise.span_id") != "" { // of our own export: nothing has to be guessed
		switch out.Kind {
		case trace.LLM:
			out.Name = s.attrs.text("gen_ai.request.model")
		case trace.AGENT:
			out.Name = s.attrs.text("gen_ai.agent.name")
			fallthrough
		case trace.CHAIN:
			out.Input, out.Output = s.attrs.text("input.value"), s.attrs.text("output.value")
		}
	}
	if out.Kind == trace.TOOL && s.attrs.text("error.type") == unanswered {
		out.Pending = true
	} else if s.failed {
		out.Pending = s.attrs.text("vise.pending") != ""
		out.Error = rec.ErrorLine(s.complaint(), "the span ended with an error")
	}
	for _, e := range s.events {
		if e.name != "exception" && strings.HasPrefix(e.name, "gen_ai.") {
			continue
		}
		list, _ := out.Attrs["events"].([]string)
		if len(list) < 20 && e.name != "" {
			out.Attrs["events"] = append(list, rec.Short(e.name, 100))
		}
	}
	if len(out.Attrs) == 0 {
		out.Attrs = nil
	}
	return out
}

// unanswered is the error type of a call in our own exports that never got a result.
const unanswered = "no_answer"

// complaint is what the recording says of a failure.
func (s *span) complaint() string {
	if s.message != "" {
		return s.message
	}
	for _, e := range s.events {
		if e.name == "exception" {
			if m := e.attrs.text("exception.message", "exception.type"); m != "" {
				return m
			}
		}
	}
	return s.attrs.text("error.message", "error.type", "exception.message")
}

// usage counts the tokens of a step in either convention.
func (s *span) usage() trace.Usage {
	a := s.attrs
	return trace.Usage{
		Input:     a.number("gen_ai.usage.input_tokens", "llm.token_count.prompt", "gen_ai.usage.prompt_tokens", "llm.usage.prompt_tokens"),
		Output:    a.number("gen_ai.usage.output_tokens", "llm.token_count.completion", "gen_ai.usage.completion_tokens", "llm.usage.completion_tokens"),
		Cached:    a.number("gen_ai.usage.cache_read.input_tokens", "gen_ai.usage.cache_read_input_tokens", "llm.token_count.prompt_details.cache_read"),
		Reasoning: a.number("gen_ai.usage.reasoning.output_tokens", "gen_ai.usage.reasoning_tokens", "llm.token_count.completion_details.reasoning"),
		CostUSD:   a.cost("gen_ai.usage.cost", "llm.cost.total", "operation.cost", "vise.cost_usd"),
	}
}

// session is the conversation that a span says it belongs to.
func (s *span) session() string {
	return s.attrs.text("gen_ai.conversation.id", "session.id", "gcp.vertex.agent.session_id", "langfuse.session.id",
		"traceloop.association.properties.session_id", "langsmith.trace.session_id")
}

// lastUser is the last text of the user in a prompt.
func lastUser(msgs []message) string {
	for i := len(msgs) - 1; i >= 0; i-- {
		if msgs[i].who() == "user" && msgs[i].says() != "" {
			return msgs[i].says()
		}
	}
	return ""
}

// asked is what an agent or a root span says it was asked: the task of an input
// object, the last user message, or the input itself.
func (s *span) asked() string {
	v := s.attrs.text("input.value", "traceloop.entity.input")
	if strings.HasPrefix(strings.TrimSpace(v), "{") {
		var o struct {
			Task     string `json:"task"`
			Question string `json:"question"`
			Query    string `json:"query"`
			Prompt   string `json:"prompt"`
			Input    string `json:"input"`
		}
		if recording.Decode(json.RawMessage(v), &o) == nil {
			for _, t := range []string{o.Task, o.Question, o.Query, o.Prompt, o.Input} {
				if t != "" {
					return t
				}
			}
		}
	}
	if t := lastUser(s.prompt()); t != "" {
		return t
	}
	if strings.HasPrefix(strings.TrimSpace(v), "{") || strings.HasPrefix(strings.TrimSpace(v), "[") {
		return ""
	}
	return v
}
