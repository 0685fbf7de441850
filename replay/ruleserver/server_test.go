package ruleserver

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"

	"vise/engine/rule"
	"vise/engine/rule/tools"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// rules are one validated rule and two candidates.
var rules = rule.NewSet([]rule.Rule{
	{ID: "r-act", CreatedAt: "2026-01-01T00:00:00Z", Text: "Read the schema first.", Rationale: "It lists what is required.", Status: rule.Active, Scope: "global"},
	{ID: "r-one", CreatedAt: "2026-01-02T00:00:00Z", Text: "Pass reason_code to issue_refund.", Rationale: "It is required.", Status: rule.Candidate, Scope: "refunds"},
	{ID: "r-two", CreatedAt: "2026-01-03T00:00:00Z", Text: "Ask twice before issue_refund.", Rationale: "Perhaps.", Status: rule.Candidate, Scope: "refunds"},
}, nil)

func start(t *testing.T, o Options) *Server {
	t.Helper()
	o.Source = rules
	s, err := Start(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, stop := context.WithTimeout(context.Background(), time.Minute)
		defer stop()
		if err := s.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	return s
}

// dial connects the SDK's client with a token.
func dial(t *testing.T, url, token string) (*mcp.ClientSession, error) {
	t.Helper()
	tr := &http.Transport{}
	t.Cleanup(tr.CloseIdleConnections)
	c := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ClientOptions{Capabilities: &mcp.ClientCapabilities{}})
	s, err := c.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: url, DisableStandaloneSSE: true, MaxRetries: -1,
		HTTPClient: &http.Client{Transport: bearer{token, tr}}}, nil)
	if err == nil {
		t.Cleanup(func() { s.Close() })
	}
	return s, err
}

func call(t *testing.T, s *mcp.ClientSession, tool string, args map[string]any) (string, bool) {
	t.Helper()
	r, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		t.Fatalf("%s: %v", tool, err)
	}
	return r.Content[0].(*mcp.TextContent).Text, r.IsError
}

func TestEachTokenHasItsView(t *testing.T) {
	var mu sync.Mutex
	seen := map[string][]string{}
	s := start(t, Options{OnSurface: func(r Run, ids []string) {
		mu.Lock()
		defer mu.Unlock()
		seen[r.RunID+"/"+r.CaseID] = append(seen[r.RunID+"/"+r.CaseID], ids...)
	}})
	one := s.Grant(Run{RunID: "run-1", CaseID: "case-1", Tools: tools.Options{Restricted: true, Candidates: []string{"r-one"}}})
	none := s.Grant(Run{RunID: "run-2", CaseID: "case-1", Tools: tools.Options{Restricted: true}})
	if one.Token == none.Token || len(one.Token) < 20 {
		t.Fatalf("tokens %q and %q", one.Token, none.Token)
	}
	a, err := dial(t, s.URL(), one.Token)
	if err != nil {
		t.Fatal(err)
	}
	b, err := dial(t, s.URL(), none.Token)
	if err != nil {
		t.Fatal(err)
	}
	if text, bad := call(t, a, tools.RulesSearch, map[string]any{"query": "ISSUE_REFUND", "limit": "5"}); bad || !strings.Contains(text, "reason_code") || strings.Contains(text, "r-two") {
		t.Errorf("with the candidate: %s", text)
	}
	if text, bad := call(t, b, tools.RulesSearch, map[string]any{"query": "issue_refund"}); bad || strings.Contains(text, "r-one") || !strings.Contains(text, "r-act") {
		t.Errorf("without: %s", text)
	}
	if text, _ := call(t, b, tools.RulesRead, map[string]any{"scope": "refunds"}); strings.Contains(text, "reason_code") {
		t.Errorf("without, read: %s", text)
	}
	if text, bad := call(t, b, tools.RuleStatus, map[string]any{"rule_id": "r-one"}); !bad || !strings.Contains(text, "rule_missing") {
		t.Errorf("without, status: %s", text)
	}
	if text, bad := call(t, a, tools.RulesRead, map[string]any{"scope": "refunds"}); bad || !strings.HasPrefix(text, "# ") || !strings.Contains(text, "reason_code") {
		t.Errorf("document: %s", text)
	}
	if got := one.Toolset.Read(); !slices.Equal(got, []string{"r-act", "r-one"}) {
		t.Errorf("ledger of run-1: %v", got)
	}
	if got := none.Toolset.Read(); !slices.Equal(got, []string{"r-act"}) {
		t.Errorf("ledger of run-2: %v", got)
	}
	mu.Lock()
	defer mu.Unlock()
	if !slices.Equal(seen["run-1/case-1"], []string{"r-act", "r-one"}) || !slices.Equal(seen["run-2/case-1"], []string{"r-act"}) {
		t.Errorf("surfaced: %v", seen)
	}
}

func TestExactlyFourTools(t *testing.T) {
	s := start(t, Options{})
	c, err := dial(t, s.URL(), s.Grant(Run{}).Token)
	if err != nil {
		t.Fatal(err)
	}
	list, err := c.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, tool := range list.Tools {
		names = append(names, tool.Name)
		if tool.Annotations == nil || !tool.Annotations.ReadOnlyHint {
			t.Errorf("%s is not marked read-only", tool.Name)
		}
	}
	if want := []string{tools.RuleStatus, tools.RulesList, tools.RulesRead, tools.RulesSearch}; !slices.Equal(names, want) {
		t.Errorf("tools %v, want %v", names, want)
	}
	if list.CacheScope != "private" || list.TTLMs != 0 {
		t.Errorf("list may be cached: %+v", list.Cacheable)
	}
	for _, name := range []string{"harness_rule_add", "harness_notice_read", "", "harness_rules_write"} {
		if r, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: name}); err == nil {
			t.Errorf("%q has a handler: %+v", name, r)
		}
	}
	if got := c.InitializeResult(); got == nil || got.Instructions != tools.Preamble {
		t.Errorf("instructions: %+v", got)
	}
	silent := start(t, Options{Silent: true})
	if c, err = dial(t, silent.URL(), silent.Grant(Run{}).Token); err != nil || c.InitializeResult().Instructions != "" {
		t.Errorf("a silent server instructs (%v)", err)
	}
}

// post sends a raw JSON-RPC message as clients of older protocol versions do.
func post(t *testing.T, url, body string, edit func(*http.Request)) (int, http.Header, string) {
	t.Helper()
	tr := &http.Transport{}
	defer tr.CloseIdleConnections()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	edit(req)
	resp, err := (&http.Client{Transport: tr}).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, resp.Header, string(raw)
}

const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"raw","version":"1"}}}`

func TestWhoMayAsk(t *testing.T) {
	now := time.Now()
	var mu sync.Mutex
	s := start(t, Options{Now: func() time.Time { mu.Lock(); defer mu.Unlock(); return now }})
	good, revoked, old := s.Grant(Run{TTL: time.Hour}).Token, s.Grant(Run{}).Token, s.Grant(Run{TTL: time.Minute}).Token
	s.Revoke(revoked)
	mu.Lock()
	now = now.Add(2 * time.Minute)
	mu.Unlock()
	as := func(token string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+token) }
	}
	header := func(name, value string) func(*http.Request) {
		return func(r *http.Request) { as(good)(r); r.Header.Set(name, value) }
	}
	_, port, _ := strings.Cut(s.Host(), ":")
	tests := []struct {
		name string
		edit func(*http.Request)
		url  string
		want int
	}{
		{"good", as(good), s.URL(), 200},
		{"own origin", header("Origin", "http://"+s.Host()), s.URL(), 200},
		{"localhost", func(r *http.Request) { as(good)(r); r.Host = "localhost:" + port }, s.URL(), 200},
		{"no token", func(*http.Request) {}, s.URL(), 401},
		{"unknown token", as("nope"), s.URL(), 401},
		{"empty token", as(""), s.URL(), 401},
		{"basic", func(r *http.Request) { r.SetBasicAuth("a", good) }, s.URL(), 401},
		{"revoked", as(revoked), s.URL(), 401},
		{"expired", as(old), s.URL(), 401},
		{"foreign host", func(r *http.Request) { as(good)(r); r.Host = "evil.example" }, s.URL(), 403},
		{"foreign host with our port", func(r *http.Request) { as(good)(r); r.Host = "evil.example:" + port }, s.URL(), 403},
		{"foreign origin", header("Origin", "http://evil.example"), s.URL(), 403},
		{"null origin", header("Origin", "null"), s.URL(), 403},
		{"cross site", header("Sec-Fetch-Site", "cross-site"), s.URL(), 403},
		{"foreign origin before token", func(r *http.Request) { r.Header.Set("Origin", "http://evil.example") }, s.URL(), 403},
		{"other path", as(good), "http://" + s.Host() + "/other", 404},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			code, h, body := post(t, test.url, initialize, test.edit)
			if code != test.want {
				t.Fatalf("status %d, want %d: %s", code, test.want, body)
			}
			if code == 401 && h.Get("WWW-Authenticate") == "" {
				t.Error("401 without WWW-Authenticate")
			}
			if code == 200 && !strings.Contains(body, `"protocolVersion":"2025-06-18"`) {
				t.Errorf("answer %s", body)
			}
			if strings.Contains(body, good) {
				t.Errorf("the answer holds the token: %s", body)
			}
		})
	}
}

func TestRawCalls(t *testing.T) {
	s := start(t, Options{})
	g := s.Grant(Run{})
	as := func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+g.Token) }
	ask := func(params string) (int, string) {
		code, _, body := post(t, s.URL(), `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":`+params+`}`, as)
		return code, body
	}
	if code, body := ask(`{"name":"harness_rules_search","arguments":{"query":"refund","limit":1e300}}`); code != 200 || !strings.Contains(body, "r-one") {
		t.Errorf("%d %s", code, body)
	}
	for _, arguments := range []string{`[1]`, `"x"`, `3`} {
		if code, body := ask(`{"name":"harness_rules_search","arguments":` + arguments + `}`); code != 200 || !strings.Contains(body, "missing_argument") {
			t.Errorf("arguments %s: %d %s", arguments, code, body)
		}
	}
	if code, body := ask(`{"name":"harness_rules_search"}`); code != 200 || !strings.Contains(body, "missing_argument") {
		t.Errorf("%d %s", code, body)
	}
	if _, body := ask(`{"name":"harness_rule_add","arguments":{"rule":"x"}}`); !strings.Contains(body, "unknown tool") {
		t.Errorf("rule_add: %s", body)
	}
	if code, _, _ := post(t, s.URL(), `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"harness_rules_search","arguments":{"query":"`+strings.Repeat("x", maxBody)+`"}}}`, as); code != http.StatusRequestEntityTooLarge {
		t.Errorf("a body over the limit gives %d", code)
	}
	if code, _, _ := post(t, s.URL(), `{"jsonrpc"`, as); code != 400 {
		t.Errorf("half a message gives %d", code)
	}
	if code, _, _ := post(t, s.URL(), "", func(r *http.Request) { as(r); r.Method = http.MethodGet }); code != 405 {
		t.Errorf("GET gives %d", code)
	}
}

func TestTheContextEndsTheServer(t *testing.T) {
	ctx, stop := context.WithCancel(context.Background())
	s, err := Start(ctx, Options{Source: rules})
	if err != nil {
		t.Fatal(err)
	}
	stop()
	for range 6000 { // the end is another goroutine's
		c, err := net.Dial("tcp", s.Host())
		if err != nil {
			break
		}
		c.Close()
		time.Sleep(10 * time.Millisecond)
	}
	if c, err := net.Dial("tcp", s.Host()); err == nil {
		c.Close()
		t.Fatal("it still listens")
	}
	for range 2 {
		if err := s.Close(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := Start(context.Background(), Options{}); err == nil {
		t.Fatal("started without rules")
	}
}

func TestManyRunsAtOnce(t *testing.T) {
	s := start(t, Options{})
	var wg sync.WaitGroup
	var given []string
	for i := range 8 {
		id := []string{"r-one", "r-two"}[i%2]
		g := s.Grant(Run{Tools: tools.Options{Restricted: true, Candidates: []string{id}}})
		given = append(given, g.Token)
		c, err := dial(t, s.URL(), g.Token)
		if err != nil {
			t.Fatal(err)
		}
		wg.Go(func() {
			defer s.Revoke(g.Token)
			for range 20 {
				r, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: tools.RulesRead, Arguments: map[string]any{"scope": "refunds"}})
				if err != nil || r.IsError {
					t.Error(err)
					return
				}
			}
			if got := g.Toolset.Read(); !slices.Equal(got, []string{id}) {
				t.Errorf("run with %s read %v", id, got)
			}
		})
	}
	wg.Wait()
	for _, token := range given {
		if _, known := s.grants.Lookup(token, time.Now()); known {
			t.Error("a grant is left")
		}
	}
}

// The stdio forms answer a client that writes all and closes at once, as well as one that stays.
func TestStdio(t *testing.T) {
	s := start(t, Options{})
	g := s.Grant(Run{Tools: tools.Options{Restricted: true, Candidates: []string{"r-one"}}})
	direct := tools.New(rules, tools.Options{Restricted: true, Candidates: []string{"r-one"}})
	forms := map[string]func(ctx context.Context, in io.Reader, out io.Writer) error{
		"store": func(ctx context.Context, in io.Reader, out io.Writer) error { return ServeStdio(ctx, direct, in, out) },
		"bridge": func(ctx context.Context, in io.Reader, out io.Writer) error {
			return Bridge(ctx, s.URL(), g.Token, in, out)
		},
	}
	for name, form := range forms {
		t.Run(name+" raw", func(t *testing.T) {
			in, feed := io.Pipe()
			var out lines
			ended := make(chan error, 1)
			go func() { ended <- form(t.Context(), in, &out) }()
			for _, m := range []string{initialize, `{"jsonrpc":"2.0","method":"notifications/initialized"}`, `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`,
				`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"harness_rules_search","arguments":{"query":"issue_refund"}}}`,
				`{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"harness_rule_add"}}`} {
				if _, err := io.WriteString(feed, m+"\n"); err != nil {
					t.Fatal(err)
				}
			}
			feed.Close()
			if err := <-ended; err != nil {
				t.Fatal(err)
			}
			got := out.byID(t)
			if !strings.Contains(got[1], "harness_rules_search") || strings.Count(got[2], `"inputSchema"`) != 4 || !strings.Contains(got[3], "reason_code") ||
				strings.Contains(got[3], "r-two") || !strings.Contains(got[4], `"error"`) {
				t.Fatalf("answers %v", got)
			}
		})
		t.Run(name+" client", func(t *testing.T) {
			in, feed := io.Pipe()
			back, out := io.Pipe()
			ended := make(chan error, 1)
			go func() { ended <- form(t.Context(), in, out) }()
			c, err := mcp.NewClient(&mcp.Implementation{Name: "t", Version: "1"}, nil).Connect(t.Context(), &mcp.IOTransport{Reader: back, Writer: feed}, nil)
			if err != nil {
				t.Fatal(err)
			}
			if text, bad := call(t, c, tools.RulesSearch, map[string]any{"query": "issue_refund"}); bad || !strings.Contains(text, "reason_code") {
				t.Errorf("search: %s", text)
			}
			c.Close()
			if err := <-ended; err != nil {
				t.Fatal(err)
			}
		})
		t.Run(name+" cancelled", func(t *testing.T) {
			ctx, stop := context.WithCancel(t.Context())
			in, _ := io.Pipe()
			ended := make(chan error, 1)
			go func() { ended <- form(ctx, in, io.Discard) }()
			time.AfterFunc(20*time.Millisecond, stop)
			select {
			case err := <-ended:
				if err != nil {
					// A bridge that was cancelled while it dialled says so.
					t.Logf("ended with %v", err)
				}
			case <-time.After(time.Minute):
				t.Fatal("did not end with its context")
			}
		})
	}
	if got := g.Toolset.Read(); !slices.Contains(got, "r-one") {
		t.Errorf("what the bridge read is not in the ledger: %v", got)
	}
	err := Bridge(t.Context(), s.URL(), "wrong", strings.NewReader(""), io.Discard)
	if err == nil || !strings.Contains(err.Error(), s.URL()) || strings.Contains(err.Error(), g.Token) {
		t.Errorf("bridge with a wrong token: %v", err)
	}
}

// lines collects output and sorts answers by their id.
type lines struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *lines) byID(t *testing.T) map[int]string {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	out := map[int]string{}
	for line := range strings.Lines(l.buf.String()) {
		var m struct {
			ID int `json:"id"`
		}
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			t.Fatalf("not a message: %q", line)
		}
		out[m.ID] = line
	}
	return out
}

func BenchmarkCall(b *testing.B) {
	set := tools.New(rules, tools.Options{})
	raw := json.RawMessage(`{"query":"issue_refund"}`)
	b.ReportAllocs()
	for b.Loop() {
		if answer(set, tools.RulesSearch, raw).IsError {
			b.Fatal("refused")
		}
	}
}
