package toolserver_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"vise/replay/toolserver"
)

// answer is what a server of one odd tool says to a message; "" to what needs no answer.
func answer(line, schema string, big int) string {
	var q struct {
		ID     json.RawMessage
		Method string
		Params struct{ Arguments json.RawMessage }
	}
	if json.Unmarshal([]byte(line), &q) != nil || q.ID == nil {
		return ""
	}
	result := `{}`
	switch q.Method {
	case "initialize":
		result = `{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"odd","version":"1"}}`
	case "tools/list":
		result = `{"tools":[{"name":"ping","inputSchema":` + schema + `}]}`
	case "tools/call":
		text, _ := json.Marshal("arguments " + string(q.Params.Arguments) + strings.Repeat("x", big))
		result = `{"content":[{"type":"text","text":` + string(text) + `}]}`
	}
	return `{"jsonrpc":"2.0","id":` + string(q.ID) + `,"result":` + result + `}`
}

// serveOdd is such a server on the standard streams.
func serveOdd(schema string) {
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 1<<20)
	for in.Scan() {
		if text := answer(in.Text(), schema, 0); text != "" {
			fmt.Println(text)
		}
	}
}

// A server whose tool has no proper schema ends nobody's program: where it says no type
// an object is meant, else the tool is named.
func TestOddSchemas(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for schema, wrong := range map[string]string{
		`{}`: "", `{"properties":{"a":{"type":"string"}}}`: "", `null`: "",
		`{"type":"string"}`: "has the type string", `{"type":["object"]}`: "has the type", `[]`: "has to be an object", `true`: "has to be an object",
	} {
		g, err := toolserver.Open(t.Context(), toolserver.Options{Servers: []toolserver.Spec{{Name: "odd", Command: []string{self}}},
			Env: []string{"TEST_ODD=" + schema, "GORACE=atexit_sleep_ms=0"}, Now: time.Now})
		g.Close(context.Background())
		if wrong == "" && err != nil {
			t.Errorf("%s: %v", schema, err)
		}
		if wrong != "" && (err == nil || !strings.Contains(err.Error(), "odd") || !strings.Contains(err.Error(), `tool "ping"`) || !strings.Contains(err.Error(), wrong)) {
			t.Errorf("%s: %v, want the tool's name and %q", schema, err, wrong)
		}
	}
}

// A server over HTTP gets an object where the agent gave no arguments, and cannot make
// vise hold an answer of any length.
func TestServerOverHTTP(t *testing.T) {
	big := 0
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		text := answer(string(body), `{"type":"object"}`, big)
		if text == "" {
			w.WriteHeader(http.StatusAccepted)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, text)
	}))
	defer srv.Close()
	call := func(size int) *mcp.CallToolResult {
		big = size
		g, err := toolserver.Open(t.Context(), toolserver.Options{Servers: []toolserver.Spec{{Name: "odd", URL: srv.URL}}, Live: true, Now: time.Now})
		if err != nil {
			t.Fatal(err)
		}
		defer g.Close(context.Background())
		g.Begin(0, "s.0")
		offered := g.Offered("vise")[0]
		client := mcp.NewClient(&mcp.Implementation{Name: "agent", Version: "1"}, nil)
		session, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: offered.URL, DisableStandaloneSSE: true, MaxRetries: -1,
			HTTPClient: &http.Client{Transport: bearer(offered.Token)}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer http.DefaultTransport.(*http.Transport).CloseIdleConnections()
		defer session.Close()
		got, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "ping"})
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	if got := call(0); got.IsError || got.Content[0].(*mcp.TextContent).Text != "arguments {}" {
		t.Errorf("without arguments: %+v", got.Content[0])
	}
	if got := call(5 << 20); !got.IsError {
		t.Errorf("an answer of 5 MB passed")
	}
}
