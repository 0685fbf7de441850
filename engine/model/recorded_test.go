package model

import (
	"errors"
	"strings"
	"testing"
)

func TestReadAnswer(t *testing.T) {
	stream := func(lines ...string) string { return "data: " + strings.Join(lines, "\n\ndata: ") + "\n\n" }
	const sse, doc = "text/event-stream; charset=utf-8", "application/json"
	for _, c := range []struct {
		name   string
		status int
		media  string
		body   string
		text   string
		call   string
		kind   Kind
	}{
		{name: "a stream", status: 200, media: sse, text: "hello",
			body: stream(`{"choices":[{"delta":{"content":"hel"}}]}`, `{"choices":[{"delta":{"content":"lo"},"finish_reason":"stop"}]}`, `[DONE]`)},
		{name: "a document", status: 200, media: doc, text: "hello", call: `f {"a":1}`,
			body: `{"choices":[{"message":{"content":"hello","tool_calls":[{"id":"c","function":{"name":"f","arguments":"{\"a\":1}"}}]},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":3,"completion_tokens":4}}`},
		{name: "a cut stream", status: 200, media: sse, text: "hel", kind: KindTruncated, body: stream(`{"choices":[{"delta":{"content":"hel"}}]}`)},
		{name: "a refusal", status: 429, media: doc, kind: kindOfStatus(429), body: `{"error":{"message":"slow down"}}`},
		{name: "a failure inside", status: 200, media: sse, kind: KindServer, body: stream(`{"error":{"message":"boom"}}`)},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, err := ReadAnswer(c.status, c.media, []byte(c.body))
			var e *Error
			if (c.kind == "") != (err == nil) || err != nil && (!errors.As(err, &e) || e.Kind != c.kind) {
				t.Fatalf("error %v, want kind %q", err, c.kind)
			}
			if r.Text != c.text {
				t.Errorf("text %q", r.Text)
			}
			if c.call != "" && (len(r.Calls) != 1 || r.Calls[0].Name+" "+r.Calls[0].Arguments != c.call) {
				t.Errorf("calls %+v", r.Calls)
			}
		})
	}
}
