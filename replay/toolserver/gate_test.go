package toolserver_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"

	"vise/engine/process"
	"vise/engine/trace"
	"vise/replay/driver"
	"vise/replay/toolserver"
)

// TestMain lets the test binary be a tool server: a real program on its standard streams.
func TestMain(m *testing.M) {
	if schema := os.Getenv("TEST_ODD"); schema != "" {
		serveOdd(schema)
		os.Exit(0)
	}
	if marker := os.Getenv("TEST_TOOLS"); marker != "" {
		serveTools(marker)
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// serveTools has one tool, which leaves a line per call in a file.
func serveTools(marker string) {
	s := mcp.NewServer(&mcp.Implementation{Name: "orders", Version: "1"}, nil)
	s.AddTool(&mcp.Tool{Name: "lookup", Description: "looks up", InputSchema: map[string]any{"type": "object"}},
		func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			f, err := os.OpenFile(marker, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
			if err != nil {
				return nil, err
			}
			defer f.Close()
			fmt.Fprintf(f, "%s\n", req.Params.Arguments)
			args := string(req.Params.Arguments)
			switch {
			case strings.Contains(args, "image"):
				return &mcp.CallToolResult{Content: []mcp.Content{&mcp.ImageContent{MIMEType: "image/png", Data: []byte("png")}}}, nil
			case strings.Contains(args, "die"):
				fmt.Fprintln(os.Stderr, "Traceback: the table is gone")
				os.Exit(3)
			case strings.Contains(args, "wrong"):
				return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: "no such order"}}}, nil
			}
			b, _ := os.ReadFile(marker)
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: fmt.Sprintf("call %d: %s", strings.Count(string(b), "\n"), args)}}}, nil
		})
	_ = s.Run(context.Background(), &mcp.StdioTransport{})
}

func open(t *testing.T, live bool, tape *driver.Tape) (*toolserver.Gate, *mcp.ClientSession, func() int) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	marker := filepath.Join(t.TempDir(), "called")
	g, err := toolserver.Open(t.Context(), toolserver.Options{Servers: []toolserver.Spec{{Name: "orders", Command: []string{self}}}, Live: live, Tape: tape,
		Env: []string{"TEST_TOOLS=" + marker, "GORACE=atexit_sleep_ms=0"}, Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	g.Begin(0, "s.0")
	offered := g.Offered("vise")[0]
	client := mcp.NewClient(&mcp.Implementation{Name: "agent", Version: "1"}, nil)
	session, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: offered.URL, DisableStandaloneSSE: true, MaxRetries: -1,
		HTTPClient: &http.Client{Transport: bearer(offered.Token)}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		session.Close()
		g.Close(context.Background())
		http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	})
	return g, session, func() int {
		b, _ := os.ReadFile(marker)
		return strings.Count(string(b), "\n")
	}
}

type bearer string

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(b))
	return http.DefaultTransport.RoundTrip(r)
}

func call(t *testing.T, s *mcp.ClientSession, args string) string {
	t.Helper()
	got, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "lookup", Arguments: map[string]any{"order": args}})
	if err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprintf("%T", got.Content[0])
	if tc, ok := got.Content[0].(*mcp.TextContent); ok {
		text = tc.Text
	}
	if got.IsError {
		return "error: " + text
	}
	return text
}

// A call is answered by the server when live, and then by what was recorded of it: each
// result to the same arguments, in the order of equal calls, and never by the server.
func TestB40B42CallsAreRecordedAndServed(t *testing.T) {
	g, s, called := open(t, true, nil)
	live := []string{call(t, s, "a"), call(t, s, "b"), call(t, s, "a"), call(t, s, "wrong"), call(t, s, "image")}
	if called() != 5 || live[0] != `call 1: {"order":"a"}` || live[3] != "error: no such order" || live[4] != "*mcp.ImageContent" {
		t.Fatalf("%d calls: %q", called(), live)
	}
	spans := g.Spans()
	if len(spans) != 5 || spans[0].Name != "lookup" || spans[0].Attrs["tool_server"] != "orders" || spans[0].Kind != trace.TOOL || spans[0].Attrs["answered_by"] != driver.ByServer ||
		spans[3].Error != "no such order" || spans[0].Input != `{"order":"a"}` || spans[0].Output != live[0] || spans[0].Pending {
		t.Fatalf("spans %+v", spans)
	}

	g, s, called = open(t, false, driver.NewTape([]trace.Turn{{Spans: spans}}, nil))
	for _, c := range []struct{ args, want string }{
		{"b", live[1]}, {"a", live[0]}, {"a", live[2]}, {"image", live[4]}, {"wrong", live[3]},
		{"a", "error: vise: this call is not recorded"}, {"c", "error: vise: this call is not recorded"},
	} {
		if got := call(t, s, c.args); !strings.HasPrefix(got, c.want) {
			t.Errorf("%s: %q, want %q", c.args, got, c.want)
		}
	}
	if called() != 0 {
		t.Errorf("the server was called %d times in a replay", called())
	}
	if got := g.Answered(); got[driver.ByRecording] != 5 || got[driver.ByNobody] != 2 || got[driver.ByServer] != 0 {
		t.Errorf("counted %v", got)
	}
}

// Recordings of earlier versions told of calls in spans of another kind.
func TestAnswersFromEarlierVersions(t *testing.T) {
	tape := driver.NewTape([]trace.Turn{{Spans: []trace.Span{
		{Kind: trace.TOOL, Name: "lookup", Input: `{"order":"a"}`, Output: "as the agent has it"},
		{Kind: trace.CHAIN, Name: "mcp orders/lookup", Input: `{"order":"a"}`, Output: "found", Attrs: map[string]any{"answered_by": driver.ByServer}},
	}}}, nil)
	for _, want := range []bool{true, false} {
		if got, ok := tape.Call("orders", "lookup", `{"order":"a"}`); ok != want || ok && got.Output != "found" {
			t.Errorf("%v, %+v", ok, got)
		}
	}
}

// The agent's own account of its calls serves where nothing went through us, under the
// names that agents give to the tools of servers.
func TestAnswersFromForeignRecordings(t *testing.T) {
	for _, c := range []struct {
		name string
		ok   bool
	}{{"mcp__orders__lookup", true}, {"orders_lookup", true}, {"orders.lookup", true}, {"lookup", true}, {"orders/lookup", true},
		{"other_lookup", false}, {"mcp__reorders__lookup", false}, {"orders", false}, {"orderslookup", false}} {
		tape := driver.NewTape([]trace.Turn{{Spans: []trace.Span{{Kind: trace.TOOL, Name: c.name, Input: `{ "order": "a" }`, Output: "found"}}}}, nil)
		if got, ok := tape.Call("orders", "lookup", `{"order":"a"}`); ok != c.ok || ok && got.Output != "found" {
			t.Errorf("%s: %v, %+v", c.name, ok, got)
		}
	}
}

func TestGateIsClosed(t *testing.T) {
	g, _, _ := open(t, false, nil)
	for _, token := range []string{"", "other"} {
		resp, err := (&http.Client{Transport: bearer(token)}).Post(g.Offered("vise")[0].URL, "application/json", strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != http.StatusUnauthorized {
			t.Errorf("token %q: %s", token, resp.Status)
		}
	}
}

func TestServerThatFails(t *testing.T) {
	var started []process.Record
	for _, c := range []struct {
		command []string
		want    string
	}{
		{[]string{"sh", "-c", "echo no database >&2; exit 3"}, "tool server orders: .*exit status 3; it last wrote: no database"},
		{[]string{"no-such-tool-server"}, "executable file not found"},
	} {
		_, err := toolserver.Open(t.Context(), toolserver.Options{Servers: []toolserver.Spec{{Name: "orders", Command: c.command}}, Env: []string{}, Now: time.Now,
			OnProcess: func(r process.Record) { started = append(started, r) }})
		if err == nil || !strings.Contains(err.Error(), c.want[strings.LastIndex(c.want, "*")+1:]) || !strings.Contains(err.Error(), "tool server orders") {
			t.Errorf("%v: %v", c.command, err)
		}
	}
	for _, r := range started {
		if r.Alive() {
			t.Errorf("%s lives on", r.Command)
		}
	}
}
