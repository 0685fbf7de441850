package cassette

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"vise/engine/guard"
)

// stream is a server that answers everything with an event stream.
type stream string

func (s stream) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: io.NopCloser(strings.NewReader(string(s)))}, nil
}

// pieces is a stream whose events are made of pieces of a text by a format.
func pieces(format, text, end string, size int) stream {
	var b strings.Builder
	for text != "" {
		n := min(size, len(text))
		fmt.Fprintf(&b, "data: "+format+"\n\n", text[:n])
		text = text[n:]
	}
	return stream(b.String() + end + "data: [DONE]\n\n")
}

// A secret that a model says in pieces is in no form in the recording, of whatever API,
// and the rest of what it said is.
func TestMaskStream(t *testing.T) {
	const secret = "ghp_A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6"
	text := "the token is " + secret + " and all is well"
	for name, format := range map[string]string{
		"chat":        `{"id":"c-1","choices":[{"index":0,"delta":{"role":"assistant","content":%q}}]}`,
		"reasoning":   `{"choices":[{"index":0,"delta":{"reasoning_content":%q}}]}`,
		"arguments":   `{"choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"id":"call_1","function":{"name":"look","arguments":%q}}]}}]}`,
		"completions": `{"choices":[{"index":0,"text":%q}]}`,
		"responses":   `{"type":"response.output_text.delta","item_id":"m","output_index":0,"content_index":0,"delta":%q}`,
		"messages":    `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":%q}}`,
		"logprobs":    `{"choices":[{"index":0,"delta":{"content":%[1]q},"logprobs":{"content":[{"token":%[1]q,"bytes":[103,104]}]}}]}`,
	} {
		for _, size := range []int{1, 5, 7, 20, 1000} {
			var got Exchange
			r := &Recorder{Next: pieces(format, text, "", size), Matcher: Matcher{Mask: guard.DefaultRedactor().Payload}, Now: time.Now,
				OnExchange: func(_ context.Context, e Exchange) { got = e }}
			passed := ask(t, r, "http://x.invalid/v1/chat/completions", `{}`)
			if !strings.Contains(passed, "[DONE]") {
				t.Fatalf("the client got %q", passed)
			}
			kept := string(got.Body)
			if got.Masked == 0 || strings.Contains(kept, secret[4:10]) || strings.Count(kept, "[redacted:") == 0 || !strings.Contains(kept, " and all is well") {
				t.Errorf("%s in pieces of %d: masked %d\n%s", name, size, got.Masked, kept)
			}
			var all strings.Builder
			eachEvent(got.Body, func(line, data []byte) []byte {
				walkPieces(decoded(data), "", false, func(_, piece string) string { all.WriteString(piece); return piece })
				return line
			})
			if strings.Contains(all.String(), secret[:8]) || strings.Contains(kept, "103") {
				t.Errorf("%s in pieces of %d: it says %q", name, size, all.String())
			}
			if strings.Count(kept, "data:") != strings.Count(passed, "data:") || got.check() != nil {
				t.Errorf("%s: other events, or parts that do not fit: %v", name, got.check())
			}
		}
	}
}

// Texts that run beside each other are not put together, and a stream without a secret
// stays byte for byte.
func TestMaskStreamLeavesTheRest(t *testing.T) {
	body := `data: {"choices":[{"index":0,"delta":{"content":"ghp_A1b2C3d4E5f6"}}], "n" : 1.50 }` + "\r\n\r\n" + `data: {"choices":[{"index":1,"delta":{"content":"G7h8I9j0K1l2M3n4O5p6"}}]}` + "\r\n\r\n: comment\n\nevent: x\ndata: [DONE]\n\n"
	if out, n := maskStream([]byte(body), guard.DefaultRedactor().Payload); n != 0 || string(out) != body {
		t.Errorf("masked %d: %s", n, out)
	}
}

func FuzzMaskStream(f *testing.F) {
	f.Add(`data: {"choices":[{"index":0,"delta":{"content":"ghp_A1b2C3d4"}}]}` + "\n\n" + `data: {"choices":[{"index":0,"delta":{"content":"E5f6G7h8I9j0K1l2M3n4O5p6"}}]}` + "\n\n")
	f.Add("data: {\"delta\":[\"a\"]}\r\ndata:{}\n: x\n")
	red := guard.DefaultRedactor()
	f.Fuzz(func(t *testing.T, body string) {
		out, n := maskStream([]byte(body), red.Payload)
		if n == 0 && string(out) != body {
			t.Fatalf("changed without a count: %q", out)
		}
		if strings.Count(string(out), "\n") != strings.Count(body, "\n") {
			t.Fatalf("%q has other lines than %q", out, body)
		}
	})
}
