package llmproxy

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"vise/engine/model"
	"vise/engine/model/cassette"
	"vise/engine/trace"
)

// provider is a scripted model server: it calls lookup first and answers then.
type provider struct {
	*httptest.Server
	mu   sync.Mutex
	keys []string
	n    int
}

func serve(t *testing.T) *provider {
	p := &provider{}
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		p.mu.Lock()
		p.keys = append(p.keys, r.Header.Get("Authorization"))
		p.n++
		n := p.n
		p.mu.Unlock()
		if r.URL.Path != "/api/v1/chat/completions" {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		say := func(s string) { fmt.Fprintf(w, "data: %s\n\n", s); w.(http.Flusher).Flush() }
		if bytes.Contains(body, []byte(`"role":"tool"`)) {
			say(`{"model":"toy-1","choices":[{"index":0,"delta":{"content":"It is "}}]}`)
			say(fmt.Sprintf(`{"choices":[{"index":0,"delta":{"content":"shipped (%d)."},"finish_reason":"stop"}]}`, n))
		} else {
			say(`{"model":"toy-1","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"call_a","function":{"name":"lookup","arguments":"{\"order\":"}}]}}]}`)
			say(`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"\"A-1\"}"}}]},"finish_reason":"tool_calls"}]}`)
		}
		say(`{"choices":[],"usage":{"prompt_tokens":100,"completion_tokens":10}}`)
		say("[DONE]")
	}))
	t.Cleanup(p.Close)
	return p
}

func start(t *testing.T) *Server {
	t.Helper()
	s, err := Start(t.Context(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return s
}

// agent is a small agent on the wire protocol, as any client library makes it.
func agent(t *testing.T, s *Server, token, order string) (string, error) {
	t.Helper()
	c, err := model.New(model.Options{Model: "x/toy", Providers: map[string]model.Provider{"x": {BaseURL: s.URL(), Key: func() (string, error) { return token, nil }}}, Retries: -1})
	if err != nil {
		t.Fatal(err)
	}
	messages := []model.Message{{Role: "system", Content: "Today is 2026-11-30."}, {Role: "user", Content: "Where is " + order + "?"}}
	for range 4 {
		r, err := c.Chat(t.Context(), model.Request{Messages: messages, Tools: []model.Tool{{Name: "lookup", Schema: json.RawMessage(`{"type":"object"}`)}}, MaxTokens: 50}, nil)
		if err != nil {
			return "", err
		}
		if len(r.Calls) == 0 {
			return r.Text, nil
		}
		messages = append(messages, model.Message{Role: "assistant", Calls: r.Calls})
		for _, call := range r.Calls {
			messages = append(messages, model.Message{Role: "tool", CallID: call.ID, Content: `{"status":"shipped"}`})
		}
	}
	return "", fmt.Errorf("no answer")
}

// An agent runs through the proxy; the recording answers it again without a network,
// and both make the same spans.
func TestRecordAndPlayBack(t *testing.T) {
	up, s := serve(t), start(t)
	ledger := model.NewLedger(model.Budget{})
	var rec []cassette.Exchange
	live := &Tracer{ID: "t0"}
	token, err := s.Grant(Run{
		Upstream: Upstream{BaseURL: up.URL + "/api/v1/", Key: func() (string, error) { return "sk-real", nil }, Price: func(name string) *model.Price { return map[string]*model.Price{"toy": {Input: 10, Output: 100}}[name] }},
		Ledger:   ledger, OnExchange: func(e cassette.Exchange) { rec = append(rec, e); live.Add(e) },
	})
	if err != nil {
		t.Fatal(err)
	}
	said, err := agent(t, s, token, "A-1")
	if err != nil || said != "It is shipped (2)." {
		t.Fatalf("%q, %v", said, err)
	}
	if err := s.Wait(t.Context(), token); err != nil {
		t.Fatal(err)
	}
	if up.keys[0] != "Bearer sk-real" || strings.Contains(fmt.Sprint(rec), "sk-real") || strings.Contains(fmt.Sprint(rec), token) {
		t.Errorf("keys %v", up.keys)
	}
	if e := ledger.Total(); e.Calls != 2 || e.Input != 200 || e.Output != 20 || e.USD != 0.004 {
		t.Errorf("ledger %+v", e)
	}

	var got []string
	for _, sp := range live.Spans() {
		got = append(got, fmt.Sprintf("%s %s %s > %s%s", sp.Kind, sp.Name, sp.Input, sp.Output, map[bool]string{true: " pending"}[sp.Pending]))
	}
	want := []string{
		`LLM toy-1 [{"content":"Today is <date>.","role":"system"},{"content":"Where is A-1?","role":"user"}] > `,
		`TOOL lookup {"order":"A-1"} > {"status":"shipped"}`,
		`LLM toy-1 `,
	}
	if len(got) != 3 || got[0] != want[0] || got[1] != want[1] || !strings.HasPrefix(got[2], want[2]) || !strings.HasSuffix(got[2], "> It is shipped (2).") {
		t.Errorf("spans:\n%s", strings.Join(got, "\n"))
	}

	var kept []cassette.Exchange
	for _, e := range rec {
		line, err := e.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		var again cassette.Exchange
		if err := again.UnmarshalJSON(line); err != nil {
			t.Fatal(err)
		}
		kept = append(kept, again)
	}
	up.Close()
	tape := cassette.NewTape(kept)
	again := &Tracer{ID: "t0"}
	token, err = s.Grant(Run{Tape: tape, OnExchange: func(e cassette.Exchange) { again.Add(e) }})
	if err != nil {
		t.Fatal(err)
	}
	if said, err = agent(t, s, token, "A-1"); err != nil || said != "It is shipped (2)." {
		t.Fatalf("played back: %q, %v", said, err)
	}
	if err := s.Wait(t.Context(), token); err != nil {
		t.Fatal(err)
	}
	strip := func(spans []trace.Span) string {
		for i := range spans {
			spans[i].Start, spans[i].End, spans[i].Attrs = time.Time{}, time.Time{}, nil
		}
		return fmt.Sprint(spans)
	}
	if a, b := strip(live.Spans()), strip(again.Spans()); a != b {
		t.Errorf("live  %s\nagain %s", a, b)
	}
	// Another question is a divergence, whatever the recording holds.
	if said, err = agent(t, s, token, "A-2"); err == nil || len(tape.Misses()) != 1 {
		t.Errorf("another order was answered %q, misses %v", said, tape.Misses())
	}
}

// The bytes of the provider arrive unchanged and one by one.
func TestBytesPassThrough(t *testing.T) {
	const body = ": keep-alive\n\ndata: {\"a\" :1}\r\n\r\nevent: x\ndata: [DONE]\n\n"
	next := make(chan struct{})
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, body[:14])
		w.(http.Flusher).Flush()
		<-next
		io.WriteString(w, body[14:])
	}))
	defer up.Close()
	s := start(t)
	token, err := s.Grant(Run{Upstream: Upstream{BaseURL: up.URL}})
	if err != nil {
		t.Fatal(err)
	}
	req, _ := http.NewRequestWithContext(t.Context(), "POST", s.URL()+"/responses", strings.NewReader(`{"input":"hi"}`))
	req.Header.Set("Authorization", "Bearer "+token)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	first := make([]byte, 14)
	if _, err := io.ReadFull(resp.Body, first); err != nil { // before the provider says more
		t.Fatal(err)
	}
	close(next)
	rest, err := io.ReadAll(resp.Body)
	if err != nil || string(first)+string(rest) != body {
		t.Errorf("got %q, %v", string(first)+string(rest), err)
	}
}

// Nobody but the run gets through, and nothing beyond the budget.
func TestRefusals(t *testing.T) {
	up, s := serve(t), start(t)
	ledger := model.NewLedger(model.Budget{Tokens: 60})
	token, err := s.Grant(Run{Upstream: Upstream{BaseURL: up.URL + "/api/v1"}, Ledger: ledger})
	if err != nil {
		t.Fatal(err)
	}
	post := func(token, host, path string) (int, string) {
		req, _ := http.NewRequestWithContext(t.Context(), "POST", strings.TrimSuffix(s.URL(), "/v1")+path, strings.NewReader(`{"max_tokens":100000}`))
		req.Header.Set("Authorization", "Bearer "+token)
		if host != "" {
			req.Host = host
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		text, _ := io.ReadAll(resp.Body)
		return resp.StatusCode, string(text)
	}
	for _, c := range []struct {
		name, token, host, path string
		status                  int
	}{
		{"no token of ours", "sk-other", "", "/v1/chat/completions", 401},
		{"a name that resolves to us", token, "evil.example:80", "/v1/chat/completions", 403},
		{"another path", token, "", "/admin", 404},
		{"out of the API", token, "", "/v1/../../admin", 404},
		{"out of the API, escaped", token, "", "/v1/%2e%2e/%2e%2e/admin", 404},
		{"beyond the budget", token, "", "/v1/chat/completions", 402},
	} {
		if status, text := post(c.token, c.host, c.path); status != c.status || status != 403 && !strings.Contains(text, `"message":"vise: `) {
			t.Errorf("%s: %d %s", c.name, status, text)
		}
	}
	if up.n != 0 {
		t.Errorf("%d requests reached the provider", up.n)
	}
	s.Revoke(token)
	if status, _ := post(token, "", "/v1/chat/completions"); status != 401 {
		t.Errorf("a revoked token: %d", status)
	}
	if _, err := s.Grant(Run{Upstream: Upstream{BaseURL: "example.com"}}); err == nil {
		t.Error("an address without a scheme was taken")
	}
}

// A request that names no limit is given the one that the budget pays for: the budget is
// not spent first and looked at afterwards.
func TestOutputIsReserved(t *testing.T) {
	up, s := serve(t), start(t)
	price := func(string) *model.Price { return &model.Price{Input: 1, Output: 2} }
	for _, c := range []struct {
		body   string
		usd    float64
		status int
	}{
		{`{"model":"m"}`, 0.0003, 402},
		{`{"model":"m"}`, 0.003, 200},
		{`{"model":"m","max_tokens":100}`, 0.0003, 200},
		{`{"model":"m"}`, 1, 200},
		{`{"model":"m","n":64}`, 0.01, 402},
		{`{"model":"m","n":4000000000,"max_tokens":9000000000000000000}`, 1e9, 402},
	} {
		token, err := s.Grant(Run{Upstream: Upstream{BaseURL: up.URL + "/api/v1", Price: price}, Ledger: model.NewLedger(model.Budget{USD: c.usd})})
		if err != nil {
			t.Fatal(err)
		}
		req, _ := http.NewRequestWithContext(t.Context(), "POST", s.URL()+"/chat/completions", strings.NewReader(c.body))
		req.Header.Set("Authorization", "Bearer "+token)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.StatusCode != c.status || c.status == 402 && !strings.Contains(string(text), "may cost") {
			t.Errorf("%s of $%v: %d %s", c.body, c.usd, resp.StatusCode, text)
		}
	}
}

// A request that is refused on its way was not sent: its reservation comes back.
func TestRefusedRequestCostsNothing(t *testing.T) {
	up, s := serve(t), start(t)
	ledger := model.NewLedger(model.Budget{Tokens: 40 << 20})
	token, err := s.Grant(Run{Upstream: Upstream{BaseURL: up.URL + "/api/v1"}, Ledger: ledger})
	if err != nil {
		t.Fatal(err)
	}
	huge := bytes.Repeat([]byte(" "), cassette.MaxRequest+1)
	for range 3 { // each alone reserves 16 M tokens
		req, _ := http.NewRequestWithContext(t.Context(), "POST", s.URL()+"/chat/completions", bytes.NewReader(huge))
		req.Header.Set("Authorization", "Bearer "+token)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != http.StatusBadGateway {
			t.Errorf("status %d", resp.StatusCode)
		}
	}
	if up.n != 0 {
		t.Errorf("%d requests reached the provider", up.n)
	}
}

// A model's name with an escaped slash reaches the provider as it was written.
func TestEscapedPath(t *testing.T) {
	var got string
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { got = r.RequestURI; _, _ = w.Write([]byte("{}")) }))
	t.Cleanup(up.Close)
	s := start(t)
	token, err := s.Grant(Run{Upstream: Upstream{BaseURL: up.URL + "/api/v1"}})
	if err != nil {
		t.Fatal(err)
	}
	req, _ := http.NewRequestWithContext(t.Context(), "GET", s.URL()+"/models/qwen%2F3", nil)
	req.Header.Set("Authorization", "Bearer "+token)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if got != "/api/v1/models/qwen%2F3" {
		t.Errorf("asked for %s", got)
	}
}

// The Responses API says the same in other words.
func TestResponses(t *testing.T) {
	sse := "event: response.created\ndata: {\"type\":\"response.created\",\"response\":{}}\n\n" +
		`data: {"type":"response.completed","response":{"model":"toy-2","status":"completed","output":[` +
		`{"type":"reasoning","summary":[{"type":"summary_text","text":"hm"}]},{"type":"function_call","call_id":"c1","name":"lookup","arguments":"{}"},` +
		`{"type":"message","role":"assistant","content":[{"type":"output_text","text":"one moment"}]}],"usage":{"input_tokens":7,"output_tokens":5,"input_tokens_details":{"cached_tokens":3}}}}` + "\n\n"
	t0 := &Tracer{ID: "t"}
	t0.Add(cassette.Exchange{Seq: 1, Method: "POST", Path: "/responses", Status: 200, Header: map[string]string{"Content-Type": "text/event-stream"}, Body: []byte(sse), Request: []byte(`{"input":"hi","model":"toy"}`)})
	t0.Add(cassette.Exchange{Seq: 2, Method: "POST", Path: "/responses", Status: 500, Header: map[string]string{"Content-Type": "text/html"}, Body: []byte("<h1>oops</h1>"),
		Request: []byte(`{"input":[{"role":"user","content":"hi"},{"type":"function_call_output","call_id":"c1","output":"found"}]}`)})
	spans := t0.Spans()
	if len(spans) != 3 {
		t.Fatalf("spans %+v", spans)
	}
	if l := spans[0]; l.Name != "toy-2" || l.Output != "one moment" || l.Thought != "hm" || l.Usage.Input != 7 || l.Usage.Cached != 3 {
		t.Errorf("LLM %+v", l)
	}
	if c := spans[1]; c.Kind != trace.TOOL || c.Output != "found" || c.Pending {
		t.Errorf("TOOL %+v", c)
	}
	if l := spans[2]; !strings.Contains(l.Error, "500") && !strings.Contains(l.Error, "oops") {
		t.Errorf("failed LLM %+v", l)
	}
}
