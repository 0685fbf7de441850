package model

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

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

// Zero is sent as zero: the client library would leave it out, and the smallest number
// above it is nothing that a server should divide by.
func TestTemperatureZero(t *testing.T) {
	var sent string
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		sent = string(body)
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, "data: {\"choices\":[{\"delta\":{\"content\":\"x\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
	}))
	defer srv.Close()
	c, err := New(Options{Model: "x/m", Providers: map[string]Provider{"x": {BaseURL: srv.URL}}})
	if err != nil {
		t.Fatal(err)
	}
	zero := 0.0
	ask := `say "temperature":1e-45`
	if _, err := c.Chat(t.Context(), Request{Messages: []Message{{Role: "user", Content: ask}}, Temperature: &zero}, nil); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(sent, `"temperature":0`) || strings.Contains(sent, `"temperature":1e-45,`) || !strings.Contains(sent, `\"temperature\":1e-45`) {
		t.Errorf("sent %s", sent)
	}
}
