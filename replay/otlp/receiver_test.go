package otlp

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"vise/engine/guard"
	"vise/engine/trace"
)

func start(t *testing.T) *Receiver {
	t.Helper()
	r, err := Start(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return r
}

// The real exporter of the OpenTelemetry SDK finds us by its environment alone.
func TestRealExporter(t *testing.T) {
	r := start(t)
	token := r.Grant()
	for k, v := range r.Env(token, "s 1") {
		t.Setenv(k, v)
	}
	t.Setenv("OTEL_EXPORTER_OTLP_COMPRESSION", "gzip")
	exporter, err := otlptracehttp.New(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	provider := sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter))
	tracer := provider.Tracer("agent")
	ctx, turn := tracer.Start(t.Context(), "invoke_agent desk")
	turn.SetAttributes(attribute.String("gen_ai.operation.name", "invoke_agent"))
	_, llm := tracer.Start(ctx, "chat toy")
	llm.SetAttributes(attribute.String("gen_ai.operation.name", "chat"), attribute.String("gen_ai.request.model", "toy"),
		attribute.String("gen_ai.output.messages", `[{"role":"assistant","parts":[{"type":"text","content":"my key is sk-proj-AbCdEf0123456789AbCdEf0123456789"}]}]`),
		attribute.Int("gen_ai.usage.input_tokens", 12), attribute.Int("gen_ai.usage.output_tokens", 3))
	llm.End()
	_, tool := tracer.Start(ctx, "execute_tool refund")
	tool.SetAttributes(attribute.String("gen_ai.operation.name", "execute_tool"), attribute.String("gen_ai.tool.name", "refund"),
		attribute.String("gen_ai.tool.call.arguments", `{"order":"A-1"}`), attribute.String("gen_ai.tool.call.id", "call_1"))
	tool.RecordError(errors.New("missing reason"))
	tool.SetStatus(codes.Error, "missing reason")
	tool.End()
	turn.End()
	if err := provider.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !r.Heard(token) {
		t.Fatal("nothing came")
	}
	spans, dropped, err := r.Take(t.Context(), token, guard.DefaultRedactor())
	if err != nil || dropped != 0 {
		t.Fatal(err, dropped)
	}
	var got []string
	for _, s := range spans {
		got = append(got, fmt.Sprintf("%s %s %s%d ! %s", s.Kind, s.Name, s.Input, s.Usage.Input, s.Error))
		if strings.Contains(s.Output, "AbCdEf") {
			t.Errorf("a secret came through: %s", s.Output)
		}
	}
	all := strings.Join(got, "\n")
	for _, want := range []string{"LLM toy 12 ! ", `TOOL refund {"order":"A-1"}0 ! missing reason`} {
		if !strings.Contains(all, want) {
			t.Errorf("no %q in\n%s", want, all)
		}
	}
	if again, _, _ := r.Take(t.Context(), token, nil); len(again) != 0 {
		t.Errorf("taken twice: %v", again)
	}
}

func TestRequests(t *testing.T) {
	r := start(t)
	token := r.Grant()
	bomb := func() []byte {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		zeros := make([]byte, 1<<20)
		for range 40 {
			z.Write(zeros)
		}
		z.Close()
		return b.Bytes()
	}()
	span := `{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"0af7651916cd43dd8448eb211c80319c","spanId":"b7ad6b7169203331","name":"x","startTimeUnixNano":"1","endTimeUnixNano":"2"}]}]}]}`
	for _, c := range []struct {
		name, method, path, media, encoding, token string
		body                                       []byte
		status                                     int
	}{
		{"JSON", "POST", "/v1/traces", "application/json", "", token, []byte(span), 200},
		{"nothing", "POST", "/v1/traces", "application/x-protobuf", "", token, nil, 200},
		{"metrics are let go", "POST", "/v1/metrics", "application/x-protobuf", "", token, []byte("x"), 200},
		{"no token", "POST", "/v1/traces", "application/json", "", "no", []byte(span), 401},
		{"another path", "POST", "/v1/other", "application/json", "", token, nil, 404},
		{"another method", "GET", "/v1/traces", "application/json", "", token, nil, 405},
		{"another type", "POST", "/v1/traces", "text/plain", "", token, nil, 415},
		{"no JSON", "POST", "/v1/traces", "application/json", "", token, []byte("{"), 400},
		{"no protobuf", "POST", "/v1/traces", "application/x-protobuf", "", token, []byte{0xff, 0xff}, 400},
		{"no gzip", "POST", "/v1/traces", "application/json", "gzip", token, []byte(span), 400},
		{"another packing", "POST", "/v1/traces", "application/json", "br", token, []byte(span), 400},
		{"a bomb", "POST", "/v1/traces", "application/json", "gzip", token, bomb, 413},
		{"too much", "POST", "/v1/traces", "application/json", "", token, make([]byte, maxBody+1), 413},
	} {
		t.Run(c.name, func(t *testing.T) {
			q, _ := http.NewRequestWithContext(t.Context(), c.method, r.URL(c.path), bytes.NewReader(c.body))
			q.Header.Set("Content-Type", c.media)
			q.Header.Set("Authorization", "Bearer "+c.token)
			if c.encoding != "" {
				q.Header.Set("Content-Encoding", c.encoding)
			}
			resp, err := http.DefaultClient.Do(q)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			if resp.StatusCode != c.status {
				t.Errorf("status %d, want %d", resp.StatusCode, c.status)
			}
		})
	}
	spans, _, err := r.Take(t.Context(), token, nil)
	if err != nil || len(spans) != 1 || spans[0].Kind != trace.CHAIN {
		t.Errorf("%+v, %v", spans, err)
	}
	r.Revoke(token)
	if spans, _, _ := r.Take(t.Context(), token, nil); spans != nil || r.Heard(token) {
		t.Error("a revoked run still has spans")
	}
}
