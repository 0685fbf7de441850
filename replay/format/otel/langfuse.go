package otel

import (
	"encoding/json"
	"io"
	"strings"

	"vise/replay/format/chat"
	"vise/replay/format/recording"
)

// Names of the formats of tracing services: their observations and runs are spans
// under other names.
const (
	NameLangfuse  = "langfuse"
	NameLangSmith = "langsmith"
)

// ReadLangfuse reads exports of Langfuse: a trace with its observations, or many.
func ReadLangfuse(r io.ReadSeeker, path string, rec *recording.Recorder) error {
	c := newCollector(rec, NameLangfuse)
	c.named = recording.Stem(path)
	if err := recording.Values(r, rec, c.langfuse); err != nil {
		return err
	}
	return c.end()
}

// observation is a span of Langfuse.
type observation struct {
	ID       string             `json:"id"`
	Trace    string             `json:"traceId"`
	Parent   string             `json:"parentObservationId"`
	Type     string             `json:"type"`
	Name     string             `json:"name"`
	Start    chat.Scalar        `json:"startTime"`
	End      chat.Scalar        `json:"endTime"`
	Level    string             `json:"level"`
	Status   string             `json:"statusMessage"`
	Input    json.RawMessage    `json:"input"`
	Output   json.RawMessage    `json:"output"`
	Model    string             `json:"model"`
	Metadata json.RawMessage    `json:"metadata"`
	Usage    map[string]any     `json:"usageDetails"`
	Cost     map[string]float64 `json:"costDetails"`
	Tools    json.RawMessage    `json:"toolDefinitions"`
}

// langfuse takes one trace.
func (c *collector) langfuse(v recording.Value) error {
	var doc struct {
		Trace *struct {
			ID           string            `json:"id"`
			Name         string            `json:"name"`
			Session      chat.Scalar       `json:"sessionId"`
			Input        json.RawMessage   `json:"input"`
			Observations []json.RawMessage `json:"observations"`
		} `json:"trace"`
		Observations []json.RawMessage `json:"observations"`
	}
	if err := recording.Decode(v.Data, &doc); err != nil {
		return err
	}
	if doc.Trace == nil {
		c.rec.Unknown("record without a trace")
		return nil
	}
	list := doc.Observations
	if list == nil {
		list = doc.Trace.Observations
	}
	for _, raw := range list {
		var o observation
		if recording.Decode(raw, &o) != nil || o.ID == "" {
			c.rec.Unknown("observation without an id")
			continue
		}
		s := o.span(len(raw))
		if s.trace == "" {
			s.trace = doc.Trace.ID
		}
		s.attrs["session.id"] = string(doc.Trace.Session)
		if err := c.add(s); err != nil {
			return err
		}
	}
	if len(list) == 0 { // the trace itself is all there is
		s := &span{trace: doc.Trace.ID, id: doc.Trace.ID, name: doc.Trace.Name, attrs: attributes{"session.id": string(doc.Trace.Session)}, size: len(v.Data)}
		if err := c.add(s); err != nil {
			return err
		}
	}
	if t := c.traces[doc.Trace.ID]; t != nil {
		t.asked = question(unfold(doc.Trace.Input))
	}
	return nil
}

// span turns an observation into a span.
func (o *observation) span(size int) *span {
	s := &span{trace: o.Trace, id: o.ID, parent: o.Parent, name: o.Name, start: chat.Time(string(o.Start)), end: chat.Time(string(o.End)), attrs: attributes{},
		failed: o.Level == "ERROR", message: o.Status, size: size}
	meta := decodeAttributes(json.RawMessage(unfold(o.Metadata)))
	for _, key := range []string{"attributes", "resourceAttributes"} {
		inner, ok := meta[key].(map[string]any)
		if text, is := meta[key].(string); is {
			inner, ok = decodeAttributes(json.RawMessage(text)), true
		}
		if !ok {
			continue
		}
		if key == "resourceAttributes" {
			s.resource = inner
			continue
		}
		for k, v := range inner {
			s.attrs[k] = v
		}
	}
	s.attrs["langfuse.observation.type"] = o.Type
	if text := unfold(o.Input); text != "" {
		s.attrs["input.value"] = text
	}
	if text := unfold(o.Output); text != "" {
		s.attrs["output.value"] = text
	}
	if o.Model != "" {
		s.attrs["gen_ai.response.model"] = o.Model
	}
	for from, to := range map[string]string{"input": "gen_ai.usage.input_tokens", "output": "gen_ai.usage.output_tokens", "input_cached_tokens": "gen_ai.usage.cache_read.input_tokens", "output_reasoning_tokens": "gen_ai.usage.reasoning_tokens"} {
		if n, ok := o.Usage[from].(float64); ok {
			s.attrs[to] = json.Number(jsonNumber(n))
		}
	}
	if total, ok := o.Cost["total"]; ok {
		s.attrs["gen_ai.usage.cost"] = json.Number(jsonNumber(total))
	}
	return s
}

func jsonNumber(f float64) string {
	raw, err := json.Marshal(f)
	if err != nil { // JSON numbers are finite
		return "0"
	}
	return string(raw)
}

// unfold reads a value that may be wrapped in texts of JSON, up to three deep: the
// innermost text that is no JSON text itself.
func unfold(raw json.RawMessage) string {
	s := chat.Arguments(raw)
	for range 2 {
		var inner string
		if !strings.HasPrefix(s, `"`) || recording.DecodeText(s, &inner) != nil {
			break
		}
		s = inner
	}
	return s
}

// question is what the user said in the input of a trace: the last user message of
// a list, a text, or nothing that can be told.
func question(input string) string {
	if t := lastUser(decodeMessages(input)); t != "" {
		return t
	}
	s := &span{attrs: attributes{"input.value": input}}
	return s.asked()
}
