package otel

import (
	"encoding/json"
	"strings"
	"time"

	"vise/replay/format/chat"
	"vise/replay/format/recording"
)

// listSpan is a span of a list or a tree: snake_case, attributes as a flat map.
type listSpan struct {
	TraceID  string          `json:"trace_id"`
	SpanID   string          `json:"span_id"`
	ParentID string          `json:"parent_span_id"`
	Name     string          `json:"name"`
	Start    chat.Scalar     `json:"start_time"`
	End      chat.Scalar     `json:"end_time"`
	Attrs    json.RawMessage `json:"attributes"`
	Status   struct {
		Code    chat.Scalar `json:"code"`
		Message string      `json:"message"`
		Desc    string      `json:"description"`
	} `json:"status"`
	Scope struct {
		Name string `json:"name"`
	} `json:"scope"`
	Events     []listEvent       `json:"events"`
	SpanEvents []listEvent       `json:"span_events"`
	Links      []json.RawMessage `json:"links"`
	Context    struct {          // the Python console exporter
		TraceID string `json:"trace_id"`
		SpanID  string `json:"span_id"`
	} `json:"context"`
	Parent   chat.Scalar `json:"parent_id"`
	Resource struct {
		Attrs json.RawMessage `json:"attributes"`
	} `json:"resource"`
	// A tree.
	SpanName      string            `json:"span_name"`
	Timestamp     chat.Scalar       `json:"timestamp"`
	Duration      string            `json:"duration"`
	SpanAttrs     json.RawMessage   `json:"span_attributes"`
	ResourceAttrs json.RawMessage   `json:"resource_attributes"`
	ScopeName     string            `json:"scope_name"`
	StatusCode    string            `json:"status_code"`
	StatusMessage string            `json:"status_message"`
	Children      []json.RawMessage `json:"child_spans"`
}

type listEvent struct {
	Name  string          `json:"name"`
	Other string          `json:"event_name"`
	Attrs json.RawMessage `json:"attributes"`
	Body  struct {
		Input  json.RawMessage `json:"input"`
		Output json.RawMessage `json:"output"`
	} `json:"body"`
}

// span reads one span of a list.
func (l *listSpan) span(size int) *span {
	s := &span{trace: l.TraceID, id: l.SpanID, parent: l.ParentID, name: l.Name, start: nanoseconds(l.Start), end: nanoseconds(l.End),
		attrs: decodeAttributes(l.Attrs), resource: decodeAttributes(l.Resource.Attrs), scope: l.Scope.Name, links: len(l.Links),
		failed: failedStatus(strings.TrimPrefix(string(l.Status.Code), "StatusCode.")), message: l.Status.Message, size: size}
	if l.Context.SpanID != "" {
		s.trace, s.id, s.parent = strings.TrimPrefix(l.Context.TraceID, "0x"), strings.TrimPrefix(l.Context.SpanID, "0x"), strings.TrimPrefix(string(l.Parent), "0x")
	}
	if s.message == "" {
		s.message = l.Status.Desc
	}
	for _, e := range append(l.Events, l.SpanEvents...) {
		h := happening{e.Name, decodeAttributes(e.Attrs)}
		if h.name == "" {
			h.name = e.Other
		}
		// AWS moves the texts of a span into the body of an event.
		if in := decodeMessages(string(e.Body.Input)); len(in) > 0 && s.attrs["input.value"] == nil {
			s.attrs["input.value"] = string(e.Body.Input)
		}
		if out := decodeMessages(string(e.Body.Output)); len(out) > 0 && s.attrs["output.value"] == nil {
			s.attrs["output.value"] = string(e.Body.Output)
		}
		s.events = append(s.events, h)
	}
	s.adopt()
	return s
}

// listed takes a span, or an object that holds a list of them.
func (c *collector) listed(v recording.Value) error {
	var o struct {
		SessionID string            `json:"session_id"`
		Spans     []json.RawMessage `json:"spans"`
	}
	if err := recording.Decode(v.Data, &o); err != nil {
		return err
	}
	raws := o.Spans
	if raws == nil {
		raws = []json.RawMessage{v.Data}
	}
	for _, raw := range raws {
		var l listSpan
		if recording.Decode(raw, &l) != nil || l.SpanID == "" && l.Context.SpanID == "" {
			c.rec.Unknown("record without span_id")
			continue
		}
		s := l.span(len(raw))
		if o.SessionID != "" && s.session() == "" {
			s.attrs["session.id"] = o.SessionID
		}
		if err := c.add(s); err != nil {
			return err
		}
	}
	return nil
}

// maxDepth bounds the nesting of a span tree.
const maxDepth = 500

// tree takes a document with nested spans.
func (c *collector) tree(v recording.Value) error {
	var doc struct {
		TraceID string            `json:"trace_id"`
		Spans   []json.RawMessage `json:"spans"`
	}
	if err := recording.Decode(v.Data, &doc); err != nil {
		return err
	}
	if doc.Spans == nil {
		c.rec.Unknown("record without spans")
		return nil
	}
	for _, raw := range doc.Spans {
		if err := c.branch(raw, doc.TraceID, "", 0); err != nil {
			return err
		}
	}
	return nil
}

func (c *collector) branch(raw json.RawMessage, traceID, parent string, depth int) error {
	var l listSpan
	if recording.Decode(raw, &l) != nil {
		return nil
	}
	s := &span{trace: traceID, id: l.SpanID, parent: l.ParentID, name: l.SpanName, start: nanoseconds(l.Timestamp), attrs: decodeAttributes(l.SpanAttrs),
		resource: decodeAttributes(l.ResourceAttrs), scope: l.ScopeName, links: len(l.Links), failed: failedStatus(l.StatusCode), message: l.StatusMessage, size: len(raw)}
	if s.trace == "" {
		s.trace = l.TraceID
	}
	if s.parent == "" {
		s.parent = parent
	}
	s.end = s.start.Add(isoDuration(l.Duration))
	for _, e := range l.Events {
		s.events = append(s.events, happening{e.Name, decodeAttributes(e.Attrs)})
	}
	s.adopt()
	if err := c.add(s); err != nil {
		return err
	}
	for _, child := range l.Children {
		if depth >= maxDepth {
			c.rec.Note("spans nested deeper than %d are left out", maxDepth)
			return nil
		}
		if err := c.branch(child, traceID, l.SpanID, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// isoDuration reads a duration of ISO 8601 without days: PT1H2M24.688187S.
func isoDuration(s string) time.Duration {
	rest, ok := strings.CutPrefix(s, "PT")
	if !ok {
		return 0
	}
	d, err := time.ParseDuration(strings.ToLower(rest))
	if err != nil || d < 0 {
		return 0
	}
	return d
}

// agents takes an export of the OpenAI Agents SDK: traces with their spans.
func (c *collector) agents(v recording.Value) error {
	var doc struct {
		Traces []struct {
			ID       string      `json:"id"`
			Workflow string      `json:"workflow_name"`
			Group    chat.Scalar `json:"group_id"`
			Spans    []struct {
				ID      string          `json:"id"`
				Parent  string          `json:"parent_id"`
				Started chat.Scalar     `json:"started_at"`
				Ended   chat.Scalar     `json:"ended_at"`
				Data    json.RawMessage `json:"span_data"`
				Input   json.RawMessage `json:"span_data_input"`
				Output  json.RawMessage `json:"span_data_response"`
				Error   chat.Fault      `json:"error"`
			} `json:"spans"`
		} `json:"traces"`
	}
	if err := recording.Decode(v.Data, &doc); err != nil {
		return err
	}
	for _, t := range doc.Traces {
		for _, x := range t.Spans {
			data := decodeAttributes(x.Data)
			s := &span{trace: t.ID, id: x.ID, parent: x.Parent, start: nanoseconds(x.Started), end: nanoseconds(x.Ended), attrs: attributes{},
				scope: t.Workflow, failed: x.Error.Set, message: x.Error.Message, size: len(x.Data) + len(x.Input) + len(x.Output)}
			if s.name = data.text("name"); s.name == "" {
				s.name = data.text("type")
			}
			s.attrs["openinference.span.kind"] = map[string]string{"agent": "AGENT", "function": "TOOL", "response": "LLM", "generation": "LLM"}[data.text("type")]
			if s.attrs["openinference.span.kind"] == "" {
				s.attrs["openinference.span.kind"] = "CHAIN"
			}
			for k, val := range data {
				switch k {
				case "input":
					s.attrs["input.value"] = val
				case "output":
					s.attrs["output.value"] = val
				case "model":
					s.attrs["llm.model_name"] = val
				case "usage":
					if u, ok := val.(map[string]any); ok {
						for n, x := range u {
							s.attrs["gen_ai.usage."+n] = x
						}
					}
				default:
					s.attrs[k] = val
				}
			}
			if len(x.Input) > 0 && s.attrs["input.value"] == nil {
				s.attrs["input.value"] = chat.Arguments(x.Input)
			}
			if len(x.Output) > 0 && s.attrs["output.value"] == nil {
				s.attrs["output.value"] = chat.Arguments(x.Output)
			}
			if t.Group != "" {
				s.attrs["session.id"] = string(t.Group)
			}
			if err := c.add(s); err != nil {
				return err
			}
		}
	}
	if doc.Traces == nil {
		c.rec.Unknown("record without traces")
	}
	return nil
}

// partsText is the text of a list of message parts.
func partsText(v string) string {
	var c chat.Content
	if recording.Decode([]byte(v), &c) != nil {
		return v
	}
	return c.Text
}
