package otel

import (
	"encoding/json"
	"io"
	"strings"

	"vise/replay/format/chat"
	"vise/replay/format/recording"
)

// ReadLangSmith reads runs of LangSmith: ingestion batches {post, patch}, or runs
// by themselves.
func ReadLangSmith(r io.ReadSeeker, path string, rec *recording.Recorder) error {
	c := newCollector(rec, NameLangSmith)
	c.named = recording.Stem(path)
	runs := &runs{known: map[string]*run{}}
	err := recording.Values(r, rec, func(v recording.Value) error {
		var batch struct {
			Post  []json.RawMessage `json:"post"`
			Patch []json.RawMessage `json:"patch"`
		}
		if err := recording.Decode(v.Data, &batch); err != nil {
			return err
		}
		all := append(batch.Post, batch.Patch...)
		if batch.Post == nil && batch.Patch == nil {
			all = []json.RawMessage{v.Data}
		}
		for _, raw := range all {
			if !runs.merge(raw) {
				rec.Unknown("record without a run id")
			}
		}
		// A patch may come with a later batch: runs wait for the end of the file,
		// but not more of them than fit.
		for runs.bytes > maxHeld && len(runs.order) > 1 {
			if err := c.add(runs.take()); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for len(runs.order) > 0 {
		if err := c.add(runs.take()); err != nil {
			return err
		}
	}
	return c.end()
}

// run is a run of LangSmith.
type run struct {
	ID      string          `json:"id"`
	Trace   string          `json:"trace_id"`
	Parent  string          `json:"parent_run_id"`
	Order   string          `json:"dotted_order"`
	Name    string          `json:"name"`
	Type    string          `json:"run_type"`
	Start   chat.Scalar     `json:"start_time"`
	End     chat.Scalar     `json:"end_time"`
	Inputs  json.RawMessage `json:"inputs"`
	Outputs json.RawMessage `json:"outputs"`
	Error   chat.Scalar     `json:"error"`
	Extra   struct {
		Metadata   map[string]any `json:"metadata"`
		Invocation struct {
			Model string `json:"model"`
		} `json:"invocation_params"`
	} `json:"extra"`
	Session string   `json:"session_name"`
	Tags    []string `json:"tags"`
	size    int
}

// runs merges what is told about a run in several records.
type runs struct {
	known map[string]*run
	order []*run
	bytes int
}

// merge takes a record; what it says replaces what was said before. An empty
// object says nothing.
func (s *runs) merge(raw json.RawMessage) bool {
	var id struct {
		ID string `json:"id"`
	}
	if recording.Decode(raw, &id) != nil || id.ID == "" {
		return false
	}
	r := s.known[id.ID]
	if r == nil {
		r = &run{}
		s.known[id.ID] = r
		s.order = append(s.order, r)
	}
	before := *r
	if recording.Decode(raw, r) != nil {
		return false
	}
	if empty(r.Inputs) {
		r.Inputs = before.Inputs
	}
	if empty(r.Outputs) {
		r.Outputs = before.Outputs
	}
	r.size += len(raw)
	s.bytes += len(raw)
	return true
}

func empty(raw json.RawMessage) bool {
	switch strings.TrimSpace(string(raw)) {
	case "", "null", "{}":
		return true
	}
	return false
}

// take removes the oldest run.
func (s *runs) take() *span {
	r := s.order[0]
	s.order = s.order[1:]
	s.bytes -= r.size
	delete(s.known, r.ID)
	return r.span()
}

// span turns a run into a span.
func (r *run) span() *span {
	s := &span{trace: r.Trace, id: r.ID, parent: r.Parent, name: r.Name, start: chat.Time(string(r.Start)), end: chat.Time(string(r.End)), attrs: attributes{},
		failed: r.Error != "", message: string(r.Error), scope: r.Session, size: r.size}
	if s.parent == "" && strings.Count(r.Order, ".") > 0 { // the order names the ancestors: <time>Z<id>.<time>Z<id>
		parts := strings.Split(r.Order, ".")
		if _, id, ok := strings.Cut(parts[len(parts)-2], "Z"); ok {
			s.parent = id
		}
	}
	if s.trace == "" {
		s.trace, _, _ = strings.Cut(r.Order, ".")
		if _, id, ok := strings.Cut(s.trace, "Z"); ok {
			s.trace = id
		}
		if s.trace == "" {
			s.trace = r.ID
		}
	}
	kinds := map[string]string{"llm": "LLM", "tool": "TOOL"}
	if s.attrs["openinference.span.kind"] = kinds[r.Type]; kinds[r.Type] == "" {
		s.attrs["openinference.span.kind"] = "CHAIN"
	}
	if !empty(r.Inputs) {
		s.attrs["input.value"] = string(r.Inputs)
	}
	if !empty(r.Outputs) {
		s.attrs["output.value"] = string(r.Outputs)
	}
	for k, v := range r.Extra.Metadata {
		if f, ok := v.(float64); ok {
			v = json.Number(jsonNumber(f))
		}
		switch k {
		case "ls_model_name":
			s.attrs["llm.model_name"] = v
		case "session_id", "conversation_id", "thread_id":
			s.attrs["session.id"] = v
		default:
			s.attrs[k] = v
		}
	}
	if r.Extra.Invocation.Model != "" && s.attrs["llm.model_name"] == nil {
		s.attrs["llm.model_name"] = r.Extra.Invocation.Model
	}
	if len(r.Tags) > 0 {
		s.attrs["tags"] = strings.Join(r.Tags, " ")
	}
	r.io(s)
	return s
}

// io reads usage and the plain texts of inputs and outputs: a tool's run wraps them
// in objects with one member.
func (r *run) io(s *span) {
	var out struct {
		Usage         *chat.Usage     `json:"usage"`
		UsageMetadata *chat.Usage     `json:"usage_metadata"`
		Output        json.RawMessage `json:"output"`
		Generations   json.RawMessage `json:"generations"`
	}
	if len(r.Outputs) > 0 && recording.Decode(r.Outputs, &out) == nil {
		u := out.Usage.Trace()
		if out.UsageMetadata != nil {
			u = out.UsageMetadata.Trace()
		}
		for key, n := range map[string]int64{"gen_ai.usage.input_tokens": u.Input, "gen_ai.usage.output_tokens": u.Output,
			"gen_ai.usage.cache_read.input_tokens": u.Cached, "gen_ai.usage.reasoning_tokens": u.Reasoning} {
			if n != 0 {
				s.attrs[key] = json.Number(jsonNumber(float64(n)))
			}
		}
		if r.Type == "tool" && len(out.Output) > 0 {
			s.attrs["output.value"] = chat.Text(out.Output)
		}
		if text := generations(out.Generations); text != "" {
			s.attrs["output.value"] = text
		}
	}
	var in struct {
		Input json.RawMessage `json:"input"`
	}
	if r.Type == "tool" && len(r.Inputs) > 0 && recording.Decode(r.Inputs, &in) == nil && len(in.Input) > 0 {
		s.attrs["input.value"] = chat.Arguments(in.Input)
	}
}

// generations reads the answer of LangChain's models: lists of lists of {text, message}.
func generations(raw json.RawMessage) string {
	var lists [][]struct {
		Text string `json:"text"`
	}
	if len(raw) == 0 || recording.Decode(raw, &lists) != nil {
		return ""
	}
	var texts []string
	for _, l := range lists {
		for _, g := range l {
			texts = append(texts, g.Text)
		}
	}
	return chat.Join(texts...)
}
