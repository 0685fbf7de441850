package otel

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"vise/replay/format/chat"
	"vise/replay/format/recording"
)

// span is a span of any of the formats before it is interpreted.
type span struct {
	trace, id, parent, name string
	start, end              time.Time
	attrs                   attributes
	resource                attributes // shared by the spans of a resource
	scope                   string
	events                  []happening
	failed                  bool // status ERROR
	message                 string
	links                   int
	size                    int // bytes of its text in the file, about
}

// happening is an event of a span.
type happening struct {
	name  string
	attrs attributes
}

// attributes by their full name. Values are texts, json.Number, bool, nil, or
// lists and maps of them.
type attributes map[string]any

// text is an attribute as text: a text as it stands, any other value as JSON.
func (a attributes) text(keys ...string) string {
	for _, k := range keys {
		switch v := a[k].(type) {
		case nil:
		case string:
			if v != "" {
				return v
			}
		default:
			if raw, err := json.Marshal(v); err == nil {
				return string(raw)
			}
		}
	}
	return ""
}

// number is an attribute as a number, 0 if there is none.
func (a attributes) number(keys ...string) int64 {
	for _, k := range keys {
		switch v := a[k].(type) {
		case json.Number:
			if n, err := v.Int64(); err == nil {
				return n
			}
			if f, err := v.Float64(); err == nil {
				return int64(f)
			}
		case string:
			if n, err := strconv.ParseInt(v, 10, 64); err == nil {
				return n
			}
		}
	}
	return 0
}

// cost is an attribute as an amount of money, nil if there is none.
func (a attributes) cost(keys ...string) *float64 {
	for _, k := range keys {
		if n, ok := a[k].(json.Number); ok {
			if f, err := n.Float64(); err == nil {
				return &f
			}
		}
	}
	return nil
}

// numbered collects the attributes under a prefix with decimal indices, such as
// llm.input_messages.<n>.message.role, in the order of the indices: 10 comes after
// 9. The rest of each name is the key.
func (a attributes) numbered(prefix string) []attributes {
	byIndex := map[int]attributes{}
	for k, v := range a {
		rest, ok := strings.CutPrefix(k, prefix)
		if !ok {
			continue
		}
		index, key, _ := strings.Cut(rest, ".")
		n, err := strconv.Atoi(index)
		if err != nil || n < 0 {
			continue
		}
		if byIndex[n] == nil {
			byIndex[n] = attributes{}
		}
		byIndex[n][key] = v
	}
	order := make([]int, 0, len(byIndex))
	for n := range byIndex {
		order = append(order, n)
	}
	slices.Sort(order)
	out := make([]attributes, len(order))
	for i, n := range order {
		out[i] = byIndex[n]
	}
	return out
}

// decodeAttributes reads a flat map of attributes; numbers keep their spelling.
func decodeAttributes(raw json.RawMessage) attributes {
	var out attributes
	if len(raw) == 0 || raw[0] != '{' {
		return attributes{}
	}
	dec := json.NewDecoder(strings.NewReader(string(raw)))
	dec.UseNumber()
	if dec.Decode(&out) != nil || out == nil {
		return attributes{}
	}
	return out
}

// nanoseconds reads a clock in nanoseconds since 1970, written as a text or a
// number beyond what a float holds; other clocks are tried as well.
func nanoseconds(s chat.Scalar) time.Time {
	if n, err := strconv.ParseInt(string(s), 10, 64); err == nil && n > 1e17 {
		return time.Unix(0, n).UTC()
	}
	return chat.Time(string(s))
}

// bounds of the attributes kept with a span.
const (
	maxAttributes = 64
	maxAttribute  = 2 << 10
)

// rest is what is kept of the attributes that are not interpreted, masked first
// and shortened after.
func (s *span) rest(rec *recording.Recorder) map[string]any {
	out := map[string]any{}
	for _, k := range slices.Sorted(keysOf(s.attrs)) {
		if payload(k) {
			continue
		}
		if len(out) >= maxAttributes {
			out["…"] = "more attributes are in the file"
			break
		}
		switch v := s.attrs[k].(type) {
		case string:
			out[k] = rec.Short(v, maxAttribute)
		case nil, bool, json.Number:
			out[k] = v
		default:
			if raw, err := json.Marshal(v); err == nil {
				out[k] = rec.Short(string(raw), maxAttribute)
			}
		}
	}
	return out
}

func keysOf(m attributes) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

// payload reports attributes whose content is kept elsewhere: as input, output or
// usage of the span, or as system prompt and tools of the session.
func payload(key string) bool {
	switch key {
	case "input.value", "output.value", "gen_ai.input.messages", "gen_ai.output.messages", "gen_ai.system_instructions", "gen_ai.tool.definitions",
		"gen_ai.tool.call.arguments", "gen_ai.tool.call.result", "gcp.vertex.agent.llm_request", "gcp.vertex.agent.llm_response",
		"gcp.vertex.agent.tool_call_args", "gcp.vertex.agent.tool_response", "traceloop.entity.input", "traceloop.entity.output",
		"input.mime_type", "output.mime_type", "openinference.span.kind", "gen_ai.operation.name", "tool.parameters", "vise.reasoning", "vise.stop_reason", "vise.cost_usd":
		return true
	}
	for _, p := range []string{"llm.input_messages.", "llm.output_messages.", "llm.tools.", "gen_ai.prompt.", "gen_ai.completion.", "llm.token_count.", "gen_ai.usage."} {
		if strings.HasPrefix(key, p) {
			return true
		}
	}
	return false
}
