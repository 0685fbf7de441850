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

	"vise/engine/model/faults"
)

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
		{"Retry-After of a minute", []faults.Step{bad(429, "Retry-After", "60"), ok}, 2, time.Minute, false},
		{"Retry-After of a day", []faults.Step{bad(429, "Retry-After", "86400"), ok}, 1, 0, true},
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

// A provider that wants the question again after the time that is left is not waited
// for, and the error says what it asked for.
func TestRetryAfterTheDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, script := scripted(t, Options{}, faults.Step{Status: 429, Body: `{"error":{"message":"slow down"}}`, Header: http.Header{"Retry-After": {"120"}}})
		ctx, stop := context.WithTimeout(t.Context(), time.Minute)
		defer stop()
		start := time.Now()
		_, err := c.Chat(ctx, Request{Messages: []Message{{Role: "user", Content: "q"}}}, nil)
		if KindOf(err) != KindRate || time.Since(start) != 0 || len(script.Requests()) != 1 {
			t.Errorf("%v after %v", err, time.Since(start))
		}
		for _, want := range []string{"429", "slow down", "2m0s", "Retry-After"} {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v does not say %q", err, want)
			}
		}
	})
}

func TestChatRetryEndsWithContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _ := scripted(t, Options{Retries: 5}, faults.Step{Status: 429})
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
