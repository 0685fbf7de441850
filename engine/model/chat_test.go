package model

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"vise/engine/model/faults"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// scripted returns a client of a provider that answers with the steps.
func scripted(t testing.TB, o Options, steps ...faults.Step) (*Client, *faults.Transport) {
	t.Helper()
	script := faults.New(steps...)
	o.Transport = script
	if o.Model == "" {
		o.Model = "acme/m-1"
	}
	if o.Providers == nil {
		o.Providers = map[string]Provider{"acme": {BaseURL: "http://acme.invalid/v1", Key: func() (string, error) { return "sk-secret-123456", nil }}}
	}
	c, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	c.jitter = func() float64 { return 0.5 }
	return c, script
}

func ask(t testing.TB, c *Client) (Reply, error) {
	t.Helper()
	return c.Chat(t.Context(), Request{Messages: []Message{{Role: User, Content: "hi"}}, Purpose: "repair"}, nil)
}

func calls(r Reply) string {
	var out []string
	for _, c := range r.Calls {
		out = append(out, fmt.Sprintf("%s:%s(%s)", c.ID, c.Name, c.Arguments))
	}
	return strings.Join(out, " ")
}

const usageLine = `{"choices":[],"usage":{"prompt_tokens":10,"completion_tokens":5,"total_tokens":16,"completion_tokens_details":{"reasoning_tokens":2},"prompt_tokens_details":{"cached_tokens":4}}}`

// TestChatAssembles has one row per dialect seen in the wild.
func TestChatAssembles(t *testing.T) {
	fin := faults.Finish
	tests := []struct {
		name                        string
		lines                       []string
		text, reasoning, calls, fin string
		note                        string
	}{
		{name: "text and usage with empty choices", lines: []string{
			`{"id":"1","model":"m-2026","choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}`,
			faults.Text("Hel"), faults.Text("lo"), fin("stop"), usageLine, "[DONE]"}, text: "Hello", fin: "stop"},
		{name: "interleaved calls by index", lines: []string{
			`{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"search","arguments":""}}]}}]}`,
			`{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"q\":"}}]}}]}`,
			`{"choices":[{"delta":{"tool_calls":[{"index":1,"id":"b","type":"function","function":{"name":"read","arguments":"{\"id\":1}"}}]}}]}`,
			`{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"\"x\"}"}}]}}]}`,
			fin("tool_calls"), "[DONE]"}, calls: `a:search({"q":"x"}) b:read({"id":1})`, fin: "tool_calls"},
		{name: "no index, continuation without id", lines: []string{
			`{"choices":[{"delta":{"tool_calls":[{"id":"x1","function":{"name":"a","arguments":"{}"}},{"id":"x2","function":{"name":"b","arguments":"{\"k\":"}}]}}]}`,
			`{"choices":[{"delta":{"tool_calls":[{"function":{"arguments":"2}"}}]}}]}`, fin("tool_calls"), "[DONE]"},
			calls: `x1:a({}) x2:b({"k":2})`, fin: "tool_calls", note: "without an index"},
		{name: "index null", lines: []string{
			`{"choices":[{"delta":{"tool_calls":[{"index":null,"id":"x1","function":{"name":"a","arguments":"{}"}}]}}]}`,
			`{"choices":[{"delta":{"tool_calls":[{"index":null,"id":"x2","function":{"name":"b","arguments":"{}"}}]}}]}`, fin("tool_calls"), "[DONE]"},
			calls: `x1:a({}) x2:b({})`, fin: "tool_calls"},
		{name: "all index 0, new ids", lines: []string{
			faults.Call("0", "a", "read", "{}"), faults.Call("0", "b", "grep", "{}"), faults.Call("0", "c", "bash", "{}"), fin("tool_calls"), "[DONE]"},
			calls: `a:read({}) b:grep({}) c:bash({})`, fin: "tool_calls", note: "under one index"},
		{name: "neither index nor id", lines: []string{
			`{"choices":[{"delta":{"tool_calls":[{"function":{"name":"a","arguments":"{}"}}]}}]}`,
			`{"choices":[{"delta":{"tool_calls":[{"function":{"name":"b","arguments":"{}"}}]}}]}`, fin("tool_calls"), "[DONE]"},
			calls: `call_0:a({}) call_1:b({})`, fin: "tool_calls"},
		{name: "name repeated in every piece", lines: []string{
			`{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"read","arguments":"{\"x\""}}]}}]}`,
			`{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"read","arguments":":1}"}}]}}]}`, fin("tool_calls"), "[DONE]"},
			calls: `a:read({"x":1})`, fin: "tool_calls"},
		{name: "finish stop with calls", lines: []string{faults.Call("0", "a", "read", "{}"), fin("stop"), "[DONE]"},
			calls: `a:read({})`, fin: "tool_calls", note: "finished with stop"},
		{name: "arguments never sent", lines: []string{`{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"list"}}]}}]}`, fin("tool_calls"), "[DONE]"},
			calls: `a:list({})`, fin: "tool_calls"},
		{name: "arguments as an object", lines: []string{`{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"list","arguments":{"k":1}}}]}}]}`, fin("tool_calls"), "[DONE]"},
			calls: `a:list({"k":1})`, fin: "tool_calls", note: "as JSON instead of text"},
		{name: "reasoning in both spellings", lines: []string{
			`{"choices":[{"delta":{"reasoning_content":"hm "}}]}`, `{"choices":[{"delta":{"reasoning":"ok"}}]}`, faults.Text("4"), fin("stop"), "[DONE]"},
			text: "4", reasoning: "hm ok", fin: "stop"},
		{name: "content in parts", lines: []string{`{"choices":[{"delta":{"content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}}]}`, fin("stop"), "[DONE]"}, text: "ab", fin: "stop"},
		{name: "other choices are ignored", lines: []string{`{"choices":[{"index":1,"delta":{"content":"no"}},{"index":0,"delta":{"content":"yes"}}]}`, fin("stop"), "[DONE]"}, text: "yes", fin: "stop"},
		{name: "complete without DONE", lines: []string{faults.Text("all"), fin("stop")}, text: "all", fin: "stop"},
		{name: "arguments cut by length stay as they are", lines: []string{faults.Call("0", "a", "read", `{"q":"x`), fin("length"), "[DONE]"},
			calls: `a:read({"q":"x)`, fin: "length"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c, _ := scripted(t, Options{}, faults.Step{Lines: tt.lines})
			r, err := ask(t, c)
			if err != nil {
				t.Fatal(err)
			}
			if r.Text != tt.text || r.Reasoning != tt.reasoning || r.Finish != tt.fin || calls(r) != tt.calls {
				t.Errorf("got text %q reasoning %q finish %q calls %s", r.Text, r.Reasoning, r.Finish, calls(r))
			}
			if notes := strings.Join(r.Notes, "; "); tt.note != "" && !strings.Contains(notes, tt.note) {
				t.Errorf("notes %q do not say %q", notes, tt.note)
			}
		})
	}
}

func TestChatUsage(t *testing.T) {
	price := &Price{Input: 1, Output: 10}
	c, _ := scripted(t, Options{Providers: map[string]Provider{"acme": {BaseURL: "http://x/v1", Price: price}}},
		faults.Step{Lines: []string{faults.Text("x"), faults.Finish("stop"), usageLine, "[DONE]"}},
		faults.Step{Lines: []string{faults.Text("x"), faults.Finish("stop"), `{"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":1,"cost":0.25}}`, "[DONE]"}},
		faults.Step{Lines: []string{faults.Text("12345678"), faults.Finish("stop"), "[DONE]"}})
	r, err := ask(t, c)
	if err != nil || !r.UsageKnown || r.Usage.Input != 10 || r.Usage.Output != 5 || r.Usage.Cached != 4 || r.Usage.Reasoning != 2 || r.Total != 16 {
		t.Fatalf("usage %+v total %d err %v", r.Usage, r.Total, err)
	}
	if got, want := *r.Usage.CostUSD, 60e-6; got != want {
		t.Errorf("cost %v, want %v", got, want)
	}
	if r, _ = ask(t, c); *r.Usage.CostUSD != 0.25 {
		t.Errorf("the provider's own cost wins, got %v", *r.Usage.CostUSD)
	}
	if r, _ = ask(t, c); r.UsageKnown || !r.Usage.IsZero() || r.Estimate != 2 {
		t.Errorf("silent provider: usage %+v known %v estimate %d", r.Usage, r.UsageKnown, r.Estimate)
	}
}

// A cut stream is never executed, however whole its calls look.
func TestChatCutStream(t *testing.T) {
	whole := faults.Call("0", "a", "rm", `{"path":"/"}`)
	tests := map[string]faults.Step{
		"clean end without finish":     {Lines: []string{faults.Text("half"), whole}},
		"connection broken":            {Lines: []string{faults.Text("half"), whole}, Cut: true},
		"DONE without finish":          {Lines: []string{faults.Text("half"), whole, "[DONE]"}},
		"broken within a line":         {Header: sse(), Body: "data: " + faults.Text("half") + "\n\ndata: " + whole[:len(whole)-20]},
		"within the finish chunk":      {Header: sse(), Body: "data: " + faults.Text("half") + "\n\ndata: " + whole + "\n\ndata: {\"choices\":[{\"delta\":{},\"finish_reas"},
		"nothing but an opened answer": {Lines: []string{faults.Text("half")}},
	}
	for name, step := range tests {
		t.Run(name, func(t *testing.T) {
			c, script := scripted(t, Options{}, step)
			r, err := ask(t, c)
			if !errors.Is(err, ErrTruncated) || KindOf(err) != KindTruncated {
				t.Fatalf("err = %v, want ErrTruncated", err)
			}
			if len(r.Calls) != 0 {
				t.Errorf("calls of a cut stream came out: %s", calls(r))
			}
			if r.Text != "half" {
				t.Errorf("the partial text is kept for viewing, got %q", r.Text)
			}
			if n := len(script.Requests()); n != 1 {
				t.Errorf("a stream that had begun was sent again: %d requests", n)
			}
		})
	}
}

func sse() http.Header { return http.Header{"Content-Type": {"text/event-stream"}} }

func TestChatInBandErrors(t *testing.T) {
	tests := []struct{ name, line, want string }{
		{"library's spelling", `{"error":{"message":"overloaded","type":"server_error","code":503}}`, "overloaded"},
		{"with a space", `{ "error": {"message":"overloaded spaced","code":"x"}}`, "overloaded spaced"},
		{"bare text", `{"error":"plain text"}`, "plain text"},
		{"beside empty choices", `{"id":"1","choices":[],"error":{"message":"in the chunk"}}`, "in the chunk"},
		{"a list", `[{"error":{"message":"in a list"}}]`, "in a list"},
		{"no message", `{"error":{"code":"oops"}}`, "oops"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c, script := scripted(t, Options{}, faults.Step{Lines: []string{faults.Text("a"), tt.line, "[DONE]"}})
			r, err := ask(t, c)
			if err == nil || !strings.Contains(err.Error(), tt.want) || KindOf(err) != KindServer {
				t.Fatalf("err = %v, want the provider's %q", err, tt.want)
			}
			if r.Text != "a" || len(script.Requests()) != 1 {
				t.Errorf("text %q, requests %d", r.Text, len(script.Requests()))
			}
		})
	}
	t.Run("event field", func(t *testing.T) {
		c, _ := scripted(t, Options{}, faults.Step{Header: sse(), Body: "event: error\ndata: {\"message\":\"by event\"}\n\n"})
		if _, err := ask(t, c); err == nil || !strings.Contains(err.Error(), "by event") {
			t.Fatalf("err = %v", err)
		}
	})
}

func TestChatErrorBodies(t *testing.T) {
	tests := []struct {
		name, body string
		status     int
		kind       Kind
		want       string
	}{
		{"object", `{"error":{"message":"no such model","type":"x","code":"y"}}`, 404, KindRequest, "no such model"},
		{"list", `[{"error":{"message":"x marks"}}]`, 400, KindRequest, "x marks"},
		{"text", `{"error":"just text"}`, 400, KindRequest, "just text"},
		{"detail", `{"detail":"nope"}`, 422, KindRequest, "nope"},
		{"detail list", `{"detail":[{"loc":["body"],"msg":"field required"}]}`, 422, KindRequest, "field required"},
		{"html", "<html><head><title>502</title></head><body><h1>Bad Gateway</h1></body></html>", 502, KindServer, "Bad Gateway"},
		{"empty", "", 500, KindServer, "no text"},
		{"key in message", `{"error":{"message":"Incorrect API key provided: sk-secret-123456. You can find"}}`, 401, KindAuth, "[key]"},
		{"masked key", `{"error":{"message":"bad key sk-ab***yz99"}}`, 401, KindAuth, "[key]"},
		{"huge", `{"error":"` + strings.Repeat("long ", 100000) + `"}`, 400, KindRequest, "…"},
		{"terminal codes", "{\"error\":\"a\\u001b[31mred\\nb\"}", 400, KindRequest, "a[31mred b"},
		{"rate", `{"error":{"message":"slow down"}}`, 429, KindRate, "slow down"},
		{"code is a list", `{"error":{"message":["a","b"],"code":[1]}}`, 400, KindRequest, "a"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c, script := scripted(t, Options{Retries: -1}, faults.Step{Status: tt.status, Body: tt.body})
			_, err := ask(t, c)
			var e *Error
			if !errors.As(err, &e) || e.Kind != tt.kind || e.Status != tt.status {
				t.Fatalf("err = %#v", err)
			}
			s := err.Error()
			if !strings.Contains(s, tt.want) || strings.ContainsAny(s, "\n\x1b") || len([]rune(s)) > 450 || !strings.Contains(s, fmt.Sprint(tt.status)) {
				t.Errorf("message %q", s)
			}
			if strings.Contains(fmt.Sprintf("%+v %v", e, errors.Unwrap(e)), "secret") {
				t.Errorf("the key leaks: %+v", e)
			}
			if len(script.Requests()) != 1 {
				t.Errorf("%d requests", len(script.Requests()))
			}
		})
	}
}

func TestChatWholeDocument(t *testing.T) {
	c, _ := scripted(t, Options{}, faults.Step{Header: http.Header{"Content-Type": {"application/json; charset=utf-8"}},
		Body: `{"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"whole","tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}]},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":3,"completion_tokens":4}}`})
	r, err := ask(t, c)
	if err != nil || r.Text != "whole" || calls(r) != "a:f({})" || r.Usage.Output != 4 {
		t.Fatalf("%+v %v", r, err)
	}
	c, _ = scripted(t, Options{}, faults.Step{Header: http.Header{"Content-Type": {"application/json"}}, Body: `{"error":{"message":"with status 200"}}`})
	if _, err = ask(t, c); err == nil || !strings.Contains(err.Error(), "with status 200") {
		t.Fatalf("err %v", err)
	}
	c, _ = scripted(t, Options{}, faults.Step{Header: http.Header{"Content-Type": {"text/html"}}, Body: `<html>hello</html>`})
	if _, err = ask(t, c); !errors.Is(err, ErrTruncated) {
		t.Fatalf("err %v", err)
	}
}

func TestChatRedirectIsRefused(t *testing.T) {
	c, script := scripted(t, Options{}, faults.Step{Status: 301, Header: http.Header{"Location": {"https://elsewhere.invalid/"}}})
	_, err := ask(t, c)
	if err == nil || !strings.Contains(err.Error(), "elsewhere.invalid") || len(script.Requests()) != 1 {
		t.Fatalf("err %v", err)
	}
}

func TestChatKeepAlives(t *testing.T) {
	body := strings.Repeat(": PROCESSING\n\n", 5000) + "data: " + faults.Text("ok") + "\n\nid: 7\nretry: 100\ndata:" + faults.Finish("stop") + "\n\ndata: [DONE]\n\n"
	c, _ := scripted(t, Options{}, faults.Step{Header: sse(), Body: body})
	r, err := ask(t, c)
	if err != nil || r.Text != "ok" {
		t.Fatalf("%q %v", r.Text, err)
	}
}

func TestChatRetries(t *testing.T) {
	ok := faults.Step{Lines: []string{faults.Text("ok"), faults.Finish("stop"), "[DONE]"}}
	bad := func(status int, h ...string) faults.Step {
		s := faults.Step{Status: status, Header: http.Header{}}
		for i := 0; i+1 < len(h); i += 2 {
			s.Header.Set(h[i], h[i+1])
		}
		return s
	}
	tests := []struct {
		name  string
		steps []faults.Step
		tries int
		waits time.Duration
		fails bool
	}{
		{"429 then ok", []faults.Step{bad(429), ok}, 2, 375 * time.Millisecond, false},
		{"twice, growing", []faults.Step{bad(500), bad(503), ok}, 3, 1125 * time.Millisecond, false},
		{"408 and 409", []faults.Step{bad(408), bad(409), ok}, 3, 1125 * time.Millisecond, false},
		{"network error", []faults.Step{{Err: io.ErrUnexpectedEOF}, ok}, 2, 375 * time.Millisecond, false},
		{"Retry-After seconds", []faults.Step{bad(429, "Retry-After", "3"), ok}, 2, 3 * time.Second, false},
		{"Retry-After fraction", []faults.Step{bad(429, "Retry-After", "0.5"), ok}, 2, 500 * time.Millisecond, false},
		{"Retry-After-Ms", []faults.Step{bad(429, "Retry-After-Ms", "70", "Retry-After", "9"), ok}, 2, 70 * time.Millisecond, false},
		{"Retry-After date", []faults.Step{bad(429, "Retry-After", "Sat, 01 Jan 2000 00:00:04 GMT"), ok}, 2, 4 * time.Second, false},
		{"Retry-After is capped", []faults.Step{bad(429, "Retry-After", "86400"), ok}, 2, retryCap, false},
		{"gives up", []faults.Step{bad(500), bad(500), bad(500)}, 3, 1125 * time.Millisecond, true},
		{"400 is not retried", []faults.Step{bad(400)}, 1, 0, true},
		{"the provider says no", []faults.Step{bad(503, "X-Should-Retry", "false")}, 1, 0, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ledger := NewLedger(Budget{})
				c, script := scripted(t, Options{Ledger: ledger}, tt.steps...)
				start := time.Now()
				r, err := ask(t, c)
				if (err != nil) != tt.fails || r.Tries != tt.tries || len(script.Requests()) != tt.tries {
					t.Fatalf("tries %d requests %d err %v", r.Tries, len(script.Requests()), err)
				}
				if d := time.Since(start); d != tt.waits {
					t.Errorf("waited %v, want %v", d, tt.waits)
				}
				if got := ledger.Total(); got.Retries != tt.tries-1 || got.Failed != map[bool]int{true: 1}[tt.fails] {
					t.Errorf("ledger %+v", got)
				}
			})
		})
	}
}

func TestChatRetryEndsWithContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _ := scripted(t, Options{Retries: 5}, faults.Step{Status: 429, Header: http.Header{"Retry-After": {"15"}}})
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		start := time.Now()
		_, err := c.Chat(ctx, Request{}, nil)
		if KindOf(err) != KindTimeout || !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != 2*time.Second {
			t.Fatalf("err %v after %v", err, time.Since(start))
		}
	})
}

func TestChatIdleWatchdog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _ := scripted(t, Options{IdleTimeout: 10 * time.Second}, faults.Step{Lines: []string{faults.Text("a"), faults.Text("b"), faults.Text("c")}, Pace: 9 * time.Second, Hang: true})
		start := time.Now()
		r, err := ask(t, c)
		if KindOf(err) != KindTimeout || !errors.Is(err, ErrIdle) {
			t.Fatalf("err %v", err)
		}
		if r.Text != "abc" || time.Since(start) != 37*time.Second {
			t.Errorf("text %q after %v", r.Text, time.Since(start))
		}
	})
}

func TestChatCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _ := scripted(t, Options{}, faults.Step{Lines: []string{faults.Text("a"), faults.Text("b")}, Pace: time.Second, Hang: true})
		ctx, cancel := context.WithCancel(t.Context())
		_, err := c.Chat(ctx, Request{}, func(d Delta) {
			if d.Text == "b" {
				cancel()
			}
		})
		if KindOf(err) != KindCancelled || !errors.Is(err, context.Canceled) {
			t.Fatalf("err %v", err)
		}
	})
}

// The request side, against a real server: what the library would leave out or refuse.
func TestChatRequest(t *testing.T) {
	var got map[string]any
	var header http.Header
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header = r.Header
		got = nil
		_ = json.NewDecoder(r.Body).Decode(&got)
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, "data: %s\n\ndata: %s\n\ndata: [DONE]\n\n", faults.Text("ok"), faults.Finish("stop"))
	}))
	defer srv.Close()
	zero := 0.0
	q := Request{Temperature: &zero, MaxTokens: 77, ReasoningEffort: "none",
		Messages: []Message{{Role: System, Content: "s"}, {Role: Assistant, Calls: []Call{{ID: "a", Name: "f"}}}, {Role: ToolRole, CallID: "a"}},
		Tools:    []Tool{{Name: "f", Description: "d", Schema: json.RawMessage(`{"type":"object"}`)}}}
	for _, tt := range []struct {
		model     string
		reasoning bool
		field     string
		temp      bool
	}{{"acme/m", false, "max_tokens", true}, {"openai/gpt-4.1", true, "max_completion_tokens", true}, {"openai/gpt-5-mini", true, "max_completion_tokens", false}} {
		provider, _, _ := strings.Cut(tt.model, "/")
		c, err := New(Options{Model: tt.model, Providers: map[string]Provider{provider: {BaseURL: srv.URL + "/v1/", Reasoning: tt.reasoning, Key: func() (string, error) { return " k-1 \n", nil }}}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Chat(t.Context(), q, nil); err != nil {
			t.Fatal(tt.model, err)
		}
		c.Close()
		if header.Get("Authorization") != "Bearer k-1" {
			t.Errorf("%s: authorization %q", tt.model, header.Get("Authorization"))
		}
		if got[tt.field] != 77.0 || got["stream"] != true {
			t.Errorf("%s: %s = %v", tt.model, tt.field, got[tt.field])
		}
		temp, sent := got["temperature"].(float64)
		if sent != tt.temp || temp > 1e-30 {
			t.Errorf("%s: temperature %v sent %v", tt.model, temp, sent)
		}
		if _, sent := got["reasoning_effort"]; sent != tt.reasoning {
			t.Errorf("%s: reasoning_effort sent %v", tt.model, sent)
		}
		msgs := got["messages"].([]any)
		call := msgs[1].(map[string]any)["tool_calls"].([]any)[0].(map[string]any)
		if call["type"] != "function" || call["function"].(map[string]any)["arguments"] != "{}" || msgs[2].(map[string]any)["content"] != "{}" {
			t.Errorf("%s: messages %v", tt.model, msgs)
		}
	}
}

func TestNewErrors(t *testing.T) {
	for model, want := range map[string]string{"": "no model is set", "gpt": "provider/model", "x/": "provider/model", "nope/m": "[providers.nope]", "builtin/gpt": "heuristic"} {
		if _, err := New(Options{Model: model}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("New(%q) = %v, want %q", model, err, want)
		}
	}
	if _, err := New(Options{Model: "a/b", Providers: map[string]Provider{"a": {}}}); err == nil || !strings.Contains(err.Error(), "base_url") {
		t.Errorf("err %v", err)
	}
	c, err := New(Options{Model: "a/b", Providers: map[string]Provider{"a": {BaseURL: "http://x", Key: func() (string, error) { return "", errors.New("env:NOPE is not set") }}}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Chat(t.Context(), Request{}, nil); KindOf(err) != KindAuth || !strings.Contains(err.Error(), "env:NOPE") {
		t.Errorf("err %v", err)
	}
}

func FuzzStream(f *testing.F) {
	f.Add("data: " + faults.Call("0", "a", "f", "{}") + "\n\ndata: " + faults.Finish("stop") + "\n\ndata: [DONE]\n\n")
	f.Add("event: error\r\ndata: {\"error\":\"x\"}\r\n\r\n")
	f.Add("data:{\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":-1}]}}]}")
	f.Add("[{\"error\":{}}]")
	f.Fuzz(func(t *testing.T, body string) {
		c, _ := scripted(t, Options{Retries: -1}, faults.Step{Header: sse(), Body: body})
		r, err := ask(t, c)
		if err != nil && len(r.Calls) > 0 {
			t.Fatalf("calls of a failed answer: %v", r.Calls)
		}
		if err == nil && r.Finish == "" {
			t.Fatal("an answer without a finish reason passed as complete")
		}
	})
}

func BenchmarkChat(b *testing.B) {
	lines := make([]string, 0, 1002)
	for range 1000 {
		lines = append(lines, faults.Text("word "))
	}
	lines = append(lines, faults.Finish("stop"), "[DONE]")
	b.ReportAllocs()
	for b.Loop() {
		c, _ := scripted(b, Options{}, faults.Step{Lines: lines})
		if _, err := ask(b, c); err != nil {
			b.Fatal(err)
		}
	}
}
