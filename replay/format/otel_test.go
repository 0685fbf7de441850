package format_test

import (
	"encoding/binary"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"vise/replay/format"
)

// The same request gives the same session as JSON, as protobuf, and as the
// collector's file of requests behind their lengths.
func TestOTLPProtobuf(t *testing.T) {
	js, err := os.ReadFile(sessions("otel", "otlp.json"))
	if err != nil {
		t.Fatal(err)
	}
	// protojson wants base64 where OTLP/JSON has hexadecimal: ids are set by hand.
	var doc map[string]any
	if err := json.Unmarshal(js, &doc); err != nil {
		t.Fatal(err)
	}
	ids := map[string][2]string{}
	for _, rs := range doc["resourceSpans"].([]any) {
		for _, ss := range rs.(map[string]any)["scopeSpans"].([]any) {
			for _, s := range ss.(map[string]any)["spans"].([]any) {
				m := s.(map[string]any)
				ids[m["spanId"].(string)] = [2]string{m["traceId"].(string), m["parentSpanId"].(string)}
				m["name"] = m["spanId"].(string) + "|" + m["name"].(string)
				delete(m, "traceId")
				delete(m, "spanId")
				delete(m, "parentSpanId")
			}
		}
	}
	plain, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	var data tracepb.TracesData
	if err := protojson.Unmarshal(plain, &data); err != nil {
		t.Fatal(err)
	}
	for _, rs := range data.ResourceSpans {
		for _, ss := range rs.ScopeSpans {
			for _, s := range ss.Spans {
				id, name, _ := strings.Cut(s.Name, "|")
				s.Name, s.SpanId, s.TraceId, s.ParentSpanId = name, unhex(t, id), unhex(t, ids[id][0]), unhex(t, ids[id][1])
			}
		}
	}
	raw, err := proto.Marshal(&data)
	if err != nil {
		t.Fatal(err)
	}
	framed := binary.BigEndian.AppendUint32(nil, uint32(len(raw)))
	want, _, err := read(t, sessions("otel", "otlp.json"), format.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{"plain": raw, "framed": append(framed, raw...)} {
		path := filepath.Join(t.TempDir(), "traces.bin")
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		got, sum, err := read(t, path, format.Options{})
		if err != nil || sum.Format != "otlp" || sum.DamagedTotal > 0 {
			t.Fatalf("%s: %+v, %v", name, sum, err)
		}
		same(t, want, got)
		if err := os.WriteFile(path, content[:len(content)-7], 0o600); err != nil {
			t.Fatal(err)
		}
		if _, sum, err := read(t, path, format.Options{Format: "otlp"}); sum.DamagedTotal != 1 {
			t.Errorf("%s, cut off: %+v, %v", name, sum, err)
		}
	}
}

func unhex(t *testing.T, s string) []byte {
	t.Helper()
	var out []byte
	for i := 0; i+1 < len(s); i += 2 {
		var b byte
		for _, c := range s[i : i+2] {
			b = b<<4 | byte(strings.IndexRune("0123456789abcdef", c))
		}
		out = append(out, b)
	}
	return out
}

// One conversation is recorded by three conventions, with indices out of order:
// what reaches the sink is the same.
func TestConventionsAgree(t *testing.T) {
	parts := make([]map[string]string, 12)
	flat := map[string]any{"openinference.span.kind": "LLM", "llm.model_name": "m", "llm.token_count.prompt": 7,
		"llm.input_messages.0.message.role": "system", "llm.input_messages.0.message.content": "Be brief.",
		"llm.input_messages.1.message.role": "user", "llm.output_messages.0.message.role": "assistant", "llm.output_messages.0.message.content": "Done."}
	for i := range parts {
		text := "part " + string(rune('a'+i))
		parts[i] = map[string]string{"type": "text", "text": text, "content": text}
		key := "llm.input_messages.1.message.contents." + itoa(i) + ".message_content."
		flat[key+"type"], flat[key+"text"] = "text", text
	}
	js := func(v any) string {
		raw, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return string(raw)
	}
	text := func(s string) []map[string]string { return []map[string]string{{"type": "text", "content": s}} }
	for name, attrs := range map[string]map[string]any{
		"flat": flat,
		"parts": {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m", "gen_ai.usage.input_tokens": 7,
			"gen_ai.input.messages":  js([]any{map[string]any{"role": "system", "parts": text("Be brief.")}, map[string]any{"role": "user", "parts": parts}}),
			"gen_ai.output.messages": js([]any{map[string]any{"role": "assistant", "parts": text("Done.")}})},
		"values": {"openinference.span.kind": "LLM", "llm.model_name": "m", "llm.token_count.prompt": 7,
			"input.value":  js(map[string]any{"messages": []any{map[string]any{"role": "system", "content": "Be brief."}, map[string]any{"role": "user", "content": parts}}}),
			"output.value": js(map[string]any{"choices": []any{map[string]any{"message": map[string]any{"role": "assistant", "content": "Done."}}}})},
	} {
		path := filepath.Join(t.TempDir(), "spans.json")
		doc := []any{map[string]any{"trace_id": "t", "span_id": "s", "name": "x", "start_time": 1781294600000000000, "end_time": 1781294600000000009, "attributes": attrs}}
		if err := os.WriteFile(path, []byte(js(doc)), 0o600); err != nil {
			t.Fatal(err)
		}
		c, _, err := read(t, path, format.Options{})
		if err != nil {
			t.Fatal(err)
		}
		s := c.sessions[0]
		turn := c.turns[s.ID][0]
		step := turn.Spans[0]
		if s.System != "Be brief." || turn.Input != "part a\npart b\npart c\npart d\npart e\npart f\npart g\npart h\npart i\npart j\npart k\npart l" ||
			step.Output != "Done." || step.Name != "m" || step.Usage.Input != 7 || step.Kind != "LLM" {
			t.Errorf("%s: system %q, input %q, step %+v", name, s.System, turn.Input, step)
		}
	}
}

func itoa(i int) string { raw, _ := json.Marshal(i); return string(raw) }
