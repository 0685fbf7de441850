package openhands

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"vise/engine/trace"
	"vise/replay/format/chat"
	"vise/replay/format/recording"
)

// session builds one session from its events.
type session struct {
	rec         *recording.Recorder
	conv        *recording.Conversation
	head        trace.Session
	model       string
	instruction string
	usage       map[string]trace.Usage // by response
	keys        map[string]string      // key of a call by the id of its action
	last        string                 // key of the last call
	response    string                 // the response that the running step is of
	aside       map[string]int
	n           int
}

// event is an event of either version.
type event struct {
	ID        chat.Scalar     `json:"id"`
	Timestamp chat.Scalar     `json:"timestamp"`
	Source    string          `json:"source"`
	Message   chat.Scalar     `json:"message"`
	Cause     chat.Scalar     `json:"cause"`
	Action    json.RawMessage `json:"action"`      // a name, in version 1 an object
	Observed  json.RawMessage `json:"observation"` // the same
	RawArgs   json.RawMessage `json:"args"`
	Content   chat.Content    `json:"content"`
	Extras    extras          `json:"extras"`
	ExitCode  *json.Number    `json:"exit_code"`
	Call      *callMetadata   `json:"tool_call_metadata"`
	// Version 1.
	Kind       string          `json:"kind"`
	System     chat.Content    `json:"system_prompt"`
	RawTools   json.RawMessage `json:"tools"`
	LLMMessage chat.Message    `json:"llm_message"`
	Thought    chat.Content    `json:"thought"`
	Reasoning  chat.Content    `json:"reasoning_content"`
	Thinking   chat.Content    `json:"thinking_blocks"`
	ToolName   string          `json:"tool_name"`
	ToolCallID string          `json:"tool_call_id"`
	ToolCall   chat.Call       `json:"tool_call"`
	ActionID   string          `json:"action_id"`
	Response   string          `json:"llm_response_id"`
	Error      chat.Scalar     `json:"error"`
}

type extras struct {
	ExitCode *json.Number `json:"exit_code"`
	Metadata struct {
		ExitCode *json.Number `json:"exit_code"`
	} `json:"metadata"`
}

type callMetadata struct {
	Function string `json:"function_name"`
	ID       string `json:"tool_call_id"`
	Response struct {
		ID      string      `json:"id"`
		Model   string      `json:"model"`
		Usage   *chat.Usage `json:"usage"`
		Choices []struct {
			Message chat.Message `json:"message"`
		} `json:"choices"`
	} `json:"model_response"`
}

func (e *event) at() time.Time { return chat.Time(string(e.Timestamp)) }

// read writes the session.
func (s *session) read(raws []json.RawMessage) error {
	s.describe(raws)
	if s.model != "" {
		s.head.Attrs["model"] = s.rec.Short(s.model, 200)
	}
	if err := s.rec.Begin(s.head); err != nil {
		return err
	}
	for _, raw := range raws {
		if err := s.event(raw); err != nil {
			return err
		}
		s.n++
	}
	if err := s.conv.End(); err != nil {
		return err
	}
	s.rec.Aside(s.aside)
	return s.rec.End()
}

// describe finds the system prompt and the tools, which come with one of the first events.
func (s *session) describe(raws []json.RawMessage) {
	for _, raw := range raws[:min(len(raws), 50)] {
		var e event
		if recording.Decode(raw, &e) != nil {
			continue
		}
		switch {
		case e.Kind == "SystemPromptEvent" && s.head.System == "":
			s.head.System, s.head.Tools = e.System.Text, chat.Tools(e.RawTools)
		case name(e.Action) == "system" && s.head.System == "":
			var a struct {
				Content string          `json:"content"`
				Tools   json.RawMessage `json:"tools"`
				Version string          `json:"openhands_version"`
				Agent   string          `json:"agent_class"`
			}
			_ = recording.Decode(e.RawArgs, &a) // absent or valid JSON
			s.head.System, s.head.Tools = a.Content, chat.Tools(a.Tools)
			s.head.Agent = strings.TrimSpace(Name + " " + s.rec.Short(a.Version+" "+a.Agent, 80))
		}
	}
}

// name is the name of an action or observation of version 0, "" for an object.
func name(raw json.RawMessage) string {
	var s string
	if len(raw) == 0 || raw[0] != '"' || recording.Decode(raw, &s) != nil {
		return ""
	}
	return s
}

func (s *session) event(raw json.RawMessage) error {
	var e event
	if recording.Decode(raw, &e) != nil {
		s.rec.Unknown("event that is no object")
		return nil
	}
	if e.Kind != "" && name(e.Action) == "" && name(e.Observed) == "" {
		return s.sdk(&e, raw)
	}
	if a := name(e.Action); a != "" {
		return s.action(&e, a, raw)
	}
	if o := name(e.Observed); o != "" {
		s.observation(&e, o, raw)
		return nil
	}
	s.unknown("event without action", raw, e.at())
	return nil
}

func (s *session) unknown(name string, raw []byte, at time.Time) {
	s.rec.Unknown(name)
	s.conv.Opaque(name, raw, map[string]any{"event": s.n}, at)
}

// action takes an action of version 0. In the output of old evaluations its
// arguments stand beside its name, and nothing says whose it is: there the first
// message is the user's.
func (s *session) action(e *event, action string, raw json.RawMessage) error {
	args := map[string]json.RawMessage{}
	bare := e.RawArgs == nil
	if bare {
		_ = recording.Decode(raw, &args) // an object
		for _, k := range []string{"id", "timestamp", "source", "message", "action", "observation", "cause", "tool_call_metadata", "extras"} {
			delete(args, k)
		}
	} else {
		_ = recording.Decode(e.RawArgs, &args) // an object, or nothing
	}
	text := chat.First(chat.Text(args["content"]), string(e.Message))
	source := e.Source
	if source == "" {
		source = "agent"
		if action == "message" && (!s.conv.Started() || text == s.instruction && text != "") {
			source = "user"
		}
	}
	thought := chat.Text(args["thought"])
	switch action {
	case "message":
		if source == "user" {
			s.response = ""
			return s.conv.Input(text, e.at())
		}
		s.step(e, text)
	case "system", "change_agent_state", "null", "initialize", "start", "pause", "resume", "stop":
		s.aside["action "+action]++
	case "recall", "condensation", "condensation_request", "summarize", "add_task", "modify_task", "task_tracking":
		s.conv.Opaque(action, raw, map[string]any{"event": s.n}, e.at())
	case "finish", "reject":
		if e.Call == nil {
			var outputs struct {
				Content string `json:"content"`
			}
			_ = recording.Decode(args["outputs"], &outputs) // absent or valid JSON
			s.step(e, chat.First(thought, chat.Text(args["final_thought"]), outputs.Content, string(e.Message)))
			return nil
		}
		fallthrough
	default:
		if source == "user" {
			// The person acted in the agent's workspace.
			s.conv.Add(trace.Span{Kind: trace.CHAIN, Name: "user/" + action, Input: compact(args), Start: e.at(), End: e.at()})
			return nil
		}
		s.step(e, thought)
		s.call(e, action, args)
	}
	return nil
}

// step opens the step of an action unless it is the running one: actions that name
// the same response are calls of one step.
func (s *session) step(e *event, text string) {
	span := trace.Span{Name: s.model, Output: text, Start: e.at(), End: e.at()}
	if c := e.Call; c != nil {
		if c.Response.ID != "" && c.Response.ID == s.response {
			return
		}
		s.response = c.Response.ID
		span.ID = c.Response.ID
		span.Name = chat.First(c.Response.Model, s.model)
		span.Usage = c.Response.Usage.Trace()
		if len(c.Response.Choices) > 0 {
			m := &c.Response.Choices[0].Message
			span.Thought = m.Thought()
			if text == "" {
				span.Output = m.Content.Text
			}
		}
	} else {
		s.response = ""
	}
	s.conv.Step(span)
}

// kept are the arguments of an action that the model chose; the others are the
// program's own notes. An action with none of them keeps all.
var kept = []string{"command", "code", "path", "content", "url", "browser_actions"}

// call takes the call of an action. The model's own spelling of it counts where it
// was recorded.
func (s *session) call(e *event, action string, args map[string]json.RawMessage) {
	span := trace.Span{Name: action, Start: e.at(), End: e.at()}
	if c := e.Call; c != nil {
		span.ID, span.Name = c.ID, chat.First(c.Function, action)
		for _, ch := range c.Response.Choices {
			for _, t := range ch.Message.Calls {
				if t.Key() == c.ID && c.ID != "" {
					_, span.Input = t.Target()
				}
			}
		}
	}
	if span.Input == "" {
		chosen := map[string]json.RawMessage{}
		for _, k := range kept {
			if v, ok := args[k]; ok {
				chosen[k] = v
			}
		}
		if len(chosen) == 0 {
			for k, v := range args {
				if k != "thought" {
					chosen[k] = v
				}
			}
		}
		span.Input = compact(chosen)
	}
	key := fmt.Sprintf("event%d", s.n)
	if e.Call != nil && e.Call.ID != "" {
		key = e.Call.ID
	}
	if e.ID != "" {
		s.keys["id "+string(e.ID)] = key
	}
	if span.ID == "" {
		span.ID = key
	}
	s.last = key
	s.conv.Call(key, span)
}

func compact(args map[string]json.RawMessage) string {
	raw, err := json.Marshal(args)
	if err != nil { // parts of a text that was JSON
		return "{}"
	}
	return string(raw)
}

// observation takes what came back in version 0.
func (s *session) observation(e *event, kind string, raw json.RawMessage) {
	switch kind {
	case "null", "agent_state_changed", "recall":
		if kind == "recall" && e.Content.Text != "" {
			s.conv.Opaque("recall", raw, map[string]any{"event": s.n}, e.at())
			return
		}
		s.aside["observation "+kind]++
		return
	}
	key := s.last
	if k, ok := s.keys["id "+string(e.Cause)]; ok && e.Cause != "" {
		key = k
	} else if e.Call != nil && e.Call.ID != "" {
		key = e.Call.ID
	}
	r := recording.Result{Output: chat.First(e.Content.Text, string(e.Message)), Failed: kind == "error", At: e.at(), Attrs: map[string]any{}}
	for _, code := range []*json.Number{e.Extras.Metadata.ExitCode, e.Extras.ExitCode, e.ExitCode} {
		if code == nil {
			continue
		}
		r.Attrs["exit_code"] = *code
		if n, err := code.Int64(); err == nil && n > 0 {
			r.Failed = true
		}
		break
	}
	if !s.conv.Waits(key) {
		s.conv.Add(trace.Span{Kind: trace.CHAIN, Name: kind, Output: r.Output, Start: e.at(), End: e.at(), Attrs: r.Attrs})
		return
	}
	s.conv.Answer(key, r)
}
