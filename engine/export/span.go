package export

import (
	"crypto/sha256"
	"strings"
	"time"

	common "go.opentelemetry.io/proto/otlp/common/v1"
	resource "go.opentelemetry.io/proto/otlp/resource/v1"
	otlp "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"vise/engine/guard"
	"vise/engine/link"
	"vise/engine/longtext"
	"vise/engine/trace"
)

// Bounds of one trace.
const (
	maxSpans = 2000
	maxText  = 16 << 10 // code points of one text
	maxTotal = 2 << 20  // bytes of text in all; what comes after is left out
)

// builder makes one trace. Ids are digests of our own, so that a trace that is sent
// twice is the same trace.
type builder struct {
	red   *guard.Redactor
	name  string // of the trace, what its ids are made of
	id    []byte
	spans []*otlp.Span
	// Bounds: of one text in code points, of spans, and of the bytes of text that
	// may still come.
	maxText, maxSpans, room int

	aside *longtext.Aside // where long texts go that are written later; nil = nowhere

	cut  int // texts left out or cut
	left int // spans left out
}

func newBuilder(red *guard.Redactor, name string) *builder {
	sum := sha256.Sum256([]byte("vise trace " + name))
	return &builder{red: red, name: name, id: sum[:16], maxText: maxText, maxSpans: maxSpans, room: maxTotal}
}

// span adds a span and returns it; nil when the trace is full. Times that are not
// known are those of the parent.
func (b *builder) span(key, name string, parent *otlp.Span, kind trace.Kind, start, end time.Time) *otlp.Span {
	if len(b.spans) >= b.maxSpans {
		b.left++
		return nil
	}
	sum := sha256.Sum256([]byte("vise span " + b.name + "\x00" + key))
	s := &otlp.Span{TraceId: b.id, SpanId: sum[:8], Name: guard.Line(name, 120), Kind: otlp.Span_SPAN_KIND_INTERNAL, Status: &otlp.Status{}}
	if parent != nil {
		s.ParentSpanId, s.StartTimeUnixNano, s.EndTimeUnixNano = parent.SpanId, parent.StartTimeUnixNano, parent.EndTimeUnixNano
	}
	if !start.IsZero() {
		s.StartTimeUnixNano = uint64(start.UnixNano())
		s.EndTimeUnixNano = max(s.EndTimeUnixNano, s.StartTimeUnixNano)
	}
	if !end.IsZero() {
		s.EndTimeUnixNano = max(uint64(end.UnixNano()), s.StartTimeUnixNano)
	}
	b.spans = append(b.spans, s)
	// What OpenInference readers go by; the kinds are ours by the same names.
	b.label(s, "openinference.span.kind", string(kind))
	return s
}

// label sets a short attribute of ours: a name, an id. Whoever made it may have put a
// credential there, so it is masked like every text.
func (b *builder) label(s *otlp.Span, key, value string) {
	if s != nil && value != "" {
		value, _ = b.red.Text(value)
		s.Attributes = append(s.Attributes, attribute(key, guard.Line(value, 256)))
	}
}

// link sets the address of what a span is about (package link): escaped already, and no
// link any more if it were cut.
func (b *builder) link(s *otlp.Span, address string) {
	if s != nil && address != "" && len(address) <= link.Max {
		s.Attributes = append(s.Attributes, attribute("vise.link", address))
	}
}

func (b *builder) number(s *otlp.Span, key string, n int64) {
	if s != nil {
		s.Attributes = append(s.Attributes, &common.KeyValue{Key: key, Value: &common.AnyValue{Value: &common.AnyValue_IntValue{IntValue: n}}})
	}
}

// content sets an attribute that holds what users, agents or models said.
func (b *builder) content(s *otlp.Span, key, text string) {
	if s == nil || text == "" {
		return
	}
	if text = b.text(text); text != "" {
		s.Attributes = append(s.Attributes, attribute(key, text))
	}
}

// text is a text as it may leave: masked, bounded, valid UTF-8.
func (b *builder) text(text string) string {
	text, _ = b.red.Payload(text)
	if head := guard.Head(text, b.maxText); len(head) < len(text) {
		text = head + "…"
		b.cut++
	}
	if len(text) > b.room {
		b.cut++
		return ""
	}
	b.room -= len(text)
	text = valid(text)
	if b.aside != nil {
		b.aside.Take(&text)
	}
	return text
}

// usage sets what was counted.
func (b *builder) usage(s *otlp.Span, u trace.Usage) {
	if s == nil || u.IsZero() {
		return
	}
	b.number(s, "gen_ai.usage.input_tokens", u.Input)
	b.number(s, "gen_ai.usage.output_tokens", u.Output)
	if u.Cached > 0 {
		b.number(s, "gen_ai.usage.cache_read.input_tokens", u.Cached)
	}
	if u.Reasoning > 0 {
		b.number(s, "gen_ai.usage.reasoning.output_tokens", u.Reasoning)
	}
	if u.CostUSD != nil {
		s.Attributes = append(s.Attributes, double("vise.cost_usd", *u.CostUSD))
	}
}

// fail marks a span as failed.
func (b *builder) fail(s *otlp.Span, class, message string) {
	if s == nil {
		return
	}
	s.Status = &otlp.Status{Code: otlp.Status_STATUS_CODE_ERROR, Message: valid(guard.Line(b.text(message), 300))}
	b.label(s, "error.type", class)
}

// encode is the request with the trace in it.
func (b *builder) encode(service, version string) ([]byte, error) {
	if len(b.spans) > 0 && b.cut+b.left > 0 {
		b.number(b.spans[0], "vise.texts_cut", int64(b.cut))
		b.number(b.spans[0], "vise.spans_left_out", int64(b.left))
	}
	return proto.Marshal(b.data(service, version))
}

// data is the trace as a request.
func (b *builder) data(service, version string) *otlp.TracesData {
	return &otlp.TracesData{ResourceSpans: []*otlp.ResourceSpans{{
		Resource: &resource.Resource{Attributes: []*common.KeyValue{attribute("service.name", service), attribute("service.version", version)}},
		ScopeSpans: []*otlp.ScopeSpans{{
			Scope: &common.InstrumentationScope{Name: "vise", Version: version}, Spans: b.spans,
		}},
	}}}
}

func attribute(key, value string) *common.KeyValue {
	return &common.KeyValue{Key: key, Value: &common.AnyValue{Value: &common.AnyValue_StringValue{StringValue: valid(value)}}}
}

func double(key string, v float64) *common.KeyValue {
	return &common.KeyValue{Key: key, Value: &common.AnyValue{Value: &common.AnyValue_DoubleValue{DoubleValue: v}}}
}

// valid replaces bytes that are no UTF-8: protobuf refuses them.
func valid(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }
