package chat

import (
	"encoding/json"
	"strings"
	"time"

	"vise/engine/trace"
	"vise/replay/format/recording"
)

// Item is one item of the Responses API, which Codex records too.
type Item struct {
	Type      string          `json:"type"`
	ID        Scalar          `json:"id"`
	Role      string          `json:"role"`
	Phase     string          `json:"phase"`
	Content   Content         `json:"content"`
	Message   Content         `json:"message"` // of an old spelling
	Summary   []Content       `json:"summary"`
	Encrypted Scalar          `json:"encrypted_content"`
	Name      string          `json:"name"`
	Namespace string          `json:"namespace"`
	CallID    Scalar          `json:"call_id"`
	Arguments json.RawMessage `json:"arguments"`
	Input     json.RawMessage `json:"input"`
	Action    json.RawMessage `json:"action"`
	Function  Function        `json:"function"`
	Output    json.RawMessage `json:"output"`
	Result    json.RawMessage `json:"result"`
	Tools     json.RawMessage `json:"tools"`
	Status    string          `json:"status"`
	// Of calls that the provider answers itself.
	Error   Fault           `json:"error"`
	Code    json.RawMessage `json:"code"`
	Outputs json.RawMessage `json:"outputs"`
	Queries json.RawMessage `json:"queries"`
	Results json.RawMessage `json:"results"`
}

// Says is what a message item says.
func (i *Item) Says() string {
	if i.Content.Text != "" {
		return i.Content.Text
	}
	return i.Message.Text
}

// Items puts Responses items into a conversation. A step is a run of items of the
// assistant's side (reasoning, message, calls) that no output and no user item
// interrupts: that is what one response of the model is made of.
type Items struct {
	*recording.Conversation
	run   recording.Place
	going bool
}

// Step returns the running step, opening one if none runs.
func (s *Items) Step(base trace.Span) recording.Place {
	if !s.going || s.run.Span() == nil {
		s.run, s.going = s.Conversation.Step(base), true
	}
	if sp := s.run.Span(); base.End.After(sp.End) {
		sp.End = base.End
	}
	return s.run
}

// Last is the span of the last step, nil if there is none or it is gone.
func (s *Items) Last() *trace.Span { return s.run.Span() }

// Stop ends the running step.
func (s *Items) Stop() { s.going = false }

// Take interprets an item of the assistant's side or an output; false for any
// other, a message of the user included. model names the step if the item opens one.
func (s *Items) Take(i *Item, model string, at time.Time) bool {
	base := trace.Span{Name: model, Start: at, End: at}
	switch {
	case i.Type == "reasoning":
		base.ID = string(i.ID)
		sp := s.Step(base).Span()
		var parts []string
		for _, c := range i.Summary {
			parts = append(parts, c.Text)
		}
		parts = append(parts, i.Content.Thought, i.Content.Text)
		sp.Thought = Join(sp.Thought, Join(parts...))
		if i.Encrypted != "" {
			if sp.Attrs == nil {
				sp.Attrs = map[string]any{}
			}
			sp.Attrs["encrypted_reasoning"] = true
		}
	case (i.Type == "message" || i.Type == "agent_message" || i.Type == "") && (i.Role == "assistant" || i.Type == "agent_message"):
		base.ID = string(i.ID)
		sp := s.Step(base).Span()
		sp.Output = Join(sp.Output, i.Says())
	case strings.HasSuffix(i.Type, "_call_output") || i.Type == "tool_result" || i.Type == "function_result" || i.Type == "tool_search_output":
		s.Stop()
		s.Answer(i.key(), i.result(at))
	case strings.HasSuffix(i.Type, "_call"):
		p := s.Step(base)
		s.call(i, p, at)
	default:
		return false
	}
	return true
}

// key is what a call and its output have in common; "" when nothing names the call.
func (i *Item) key() string { return string(i.CallID) }

// call takes a call of any kind. Those that the provider answers itself have no
// output item: they end with their status.
func (s *Items) call(i *Item, step recording.Place, at time.Time) {
	name := i.Name
	if name == "" {
		name = i.Function.Name
	}
	if name == "" {
		name = strings.TrimSuffix(i.Type, "_call")
	}
	if i.Namespace != "" {
		name = i.Namespace + "." + name
	}
	span := trace.Span{ID: string(i.CallID), Parent: step.Span().ID, Name: name, Start: at, End: at}
	if span.ID == "" {
		span.ID = string(i.ID)
	}
	for _, raw := range []json.RawMessage{i.Arguments, i.Input, i.Function.Arguments, i.Action, i.Code, i.Queries} {
		if len(raw) > 0 && string(raw) != "null" {
			span.Input = Arguments(raw)
			break
		}
	}
	key := i.key()
	hosted := i.Type == "web_search_call" || i.Type == "image_generation_call" || i.Type == "file_search_call" || i.Type == "code_interpreter_call" || i.Type == "mcp_call"
	if hosted {
		key = "hosted:" + string(i.ID)
	}
	s.Call(key, span)
	if !hosted || i.Status != "completed" && i.Status != "failed" && i.Status != "" && !i.Error.Set {
		return // it was still searching, interpreting, generating, or never ended
	}
	r := recording.Result{At: at, Failed: i.Status == "failed" || i.Error.Set, Error: i.Error.Message}
	if i.Type == "image_generation_call" && len(i.Result) > 2 {
		r.Output = recording.Binary("image", "", Text(i.Result))
	} else {
		r.Output = First(Text(i.Output), i.printed(), Text(i.Results))
	}
	s.Answer(key, r)
}

// printed is what an interpreted program gave back: its logs, and its pictures described.
func (i *Item) printed() string {
	var outputs []struct {
		Type string `json:"type"`
		Logs string `json:"logs"`
		URL  string `json:"url"`
	}
	if len(i.Outputs) == 0 || recording.Decode(i.Outputs, &outputs) != nil {
		return ""
	}
	var parts []string
	for _, o := range outputs {
		if o.URL != "" {
			o.Logs = Join(o.Logs, recording.Address(kindOf(o.Type), o.URL))
		}
		parts = append(parts, o.Logs)
	}
	return Join(parts...)
}

// result reads an output in its spellings: a text, a content, an object with a
// text, or a JSON text {"output": ..., "metadata": {"exit_code": ...}}.
func (i *Item) result(at time.Time) recording.Result {
	raw := i.Output
	for _, other := range []json.RawMessage{i.Result, i.Tools} {
		if len(raw) == 0 {
			raw = other
		}
	}
	r := recording.Result{At: at, Failed: i.Status == "failed" || i.Status == "incomplete"}
	r.Output = Text(raw)
	if len(raw) > 0 && raw[0] == '{' {
		var c Content
		if recording.Decode(raw, &c) == nil {
			r.Output = c.Text
		}
	}
	if !strings.HasPrefix(r.Output, "{") || !strings.Contains(r.Output, `"metadata"`) {
		return r
	}
	var shell struct {
		Output   *string `json:"output"`
		Metadata struct {
			Exit     *json.Number `json:"exit_code"`
			Duration *json.Number `json:"duration_seconds"`
		} `json:"metadata"`
	}
	if recording.DecodeText(r.Output, &shell) != nil || shell.Output == nil {
		return r
	}
	r.Output, r.Attrs = *shell.Output, map[string]any{}
	if d := shell.Metadata.Duration; d != nil {
		r.Attrs["seconds"] = *d
	}
	if code := shell.Metadata.Exit; code != nil {
		r.Attrs["exit_code"] = *code
		r.Failed = r.Failed || code.String() != "0"
	}
	return r
}
