package otel

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"strings"

	"vise/replay/format/chat"
	"vise/replay/format/recording"
)

// keyValue is an attribute of OTLP/JSON.
type keyValue struct {
	Key   string   `json:"key"`
	Value anyValue `json:"value"`
}

// anyValue is a value of OTLP/JSON.
type anyValue struct {
	String *string      `json:"stringValue"`
	Int    *chat.Scalar `json:"intValue"` // a text, as protobuf's JSON writes 64 bits
	Double *chat.Scalar `json:"doubleValue"`
	Bool   *bool        `json:"boolValue"`
	Bytes  *string      `json:"bytesValue"`
	Array  *struct {
		Values []anyValue `json:"values"`
	} `json:"arrayValue"`
	Map *struct {
		Values []keyValue `json:"values"`
	} `json:"kvlistValue"`
}

func (v anyValue) plain(depth int) any {
	switch {
	case depth > 100:
		return nil
	case v.String != nil:
		return *v.String
	case v.Int != nil:
		return json.Number(*v.Int)
	case v.Double != nil:
		return json.Number(*v.Double)
	case v.Bool != nil:
		return *v.Bool
	case v.Bytes != nil:
		return recording.Binary("bytes", "", *v.Bytes)
	case v.Array != nil:
		list := make([]any, len(v.Array.Values))
		for i, e := range v.Array.Values {
			list[i] = e.plain(depth + 1)
		}
		return list
	case v.Map != nil:
		m := map[string]any{}
		for _, e := range v.Map.Values {
			m[e.Key] = e.Value.plain(depth + 1)
		}
		return m
	}
	return nil
}

func flat(list []keyValue) attributes {
	out := make(attributes, len(list))
	for _, kv := range list {
		v := kv.Value.plain(0)
		if n, ok := v.(json.Number); ok && !json.Valid([]byte(n)) {
			v = string(n) // NaN and the like
		}
		out[kv.Key] = v
	}
	return out
}

// otlpSpan is a span of OTLP/JSON.
type otlpSpan struct {
	TraceID    string      `json:"traceId"`
	SpanID     string      `json:"spanId"`
	ParentID   string      `json:"parentSpanId"`
	Name       string      `json:"name"`
	Start      chat.Scalar `json:"startTimeUnixNano"`
	End        chat.Scalar `json:"endTimeUnixNano"`
	Attributes []keyValue  `json:"attributes"`
	Events     []struct {
		Name       string     `json:"name"`
		Attributes []keyValue `json:"attributes"`
	} `json:"events"`
	Links  []json.RawMessage `json:"links"`
	Status struct {
		Code    chat.Scalar `json:"code"`
		Message string      `json:"message"`
	} `json:"status"`
}

type scopeSpans struct {
	Scope struct {
		Name string `json:"name"`
	} `json:"scope"`
	Spans []json.RawMessage `json:"spans"`
}

// request takes one ExportTraceServiceRequest.
func (c *collector) request(v recording.Value) error {
	var req struct {
		Resources []struct {
			Resource struct {
				Attributes []keyValue `json:"attributes"`
			} `json:"resource"`
			Scopes []scopeSpans `json:"scopeSpans"`
			Older  []scopeSpans `json:"instrumentationLibrarySpans"`
		} `json:"resourceSpans"`
	}
	if err := recording.Decode(v.Data, &req); err != nil {
		return err
	}
	if req.Resources == nil {
		c.rec.Unknown("record without resourceSpans")
		return nil
	}
	for _, r := range req.Resources {
		resource := flat(r.Resource.Attributes)
		for _, sc := range append(r.Scopes, r.Older...) {
			for _, raw := range sc.Spans {
				var o otlpSpan
				if recording.Decode(raw, &o) != nil {
					continue
				}
				s := &span{trace: hexID(o.TraceID, 16), id: hexID(o.SpanID, 8), parent: hexID(o.ParentID, 8), name: o.Name, start: nanoseconds(o.Start), end: nanoseconds(o.End),
					attrs: flat(o.Attributes), resource: resource, scope: sc.Scope.Name, links: len(o.Links), message: o.Status.Message, size: len(raw)}
				s.failed = failedStatus(string(o.Status.Code))
				for _, e := range o.Events {
					s.events = append(s.events, happening{e.Name, flat(e.Attributes)})
				}
				s.adopt()
				if err := c.add(s); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func failedStatus(code string) bool {
	switch strings.ToUpper(code) {
	case "2", "ERROR", "STATUS_CODE_ERROR":
		return true
	}
	return false
}

// hexID brings an id into hexadecimal: OTLP says so, plain protobuf JSON writes
// base64. n is its length in bytes.
func hexID(id string, n int) string {
	if len(id) == 2*n {
		if _, err := hex.DecodeString(id); err == nil {
			return strings.ToLower(id)
		}
	}
	if raw, err := base64.StdEncoding.DecodeString(id); err == nil && len(raw) == n {
		return hex.EncodeToString(raw)
	}
	return id
}

// adopt takes attributes over that an instrumentation wrote to an event instead
// of the span.
func (s *span) adopt() {
	for _, e := range s.events {
		for k, v := range e.attrs {
			if _, ok := s.attrs[k]; !ok && payload(k) {
				s.attrs[k] = v
			}
		}
	}
}
