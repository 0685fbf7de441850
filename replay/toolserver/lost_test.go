package toolserver_test

import (
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"vise/engine/trace"
	"vise/replay/driver"
)

// A server that ends is told with its exit and its last words; the calls that it did not
// answer are no answers that a replay may give.
func TestServerThatEnds(t *testing.T) {
	g, s, _ := open(t, true, nil)
	call(t, s, "a")
	if err := g.Lost(); err != nil {
		t.Fatalf("lost while it answers: %v", err)
	}
	for _, order := range []string{"die", "b"} {
		if got := call(t, s, order); !strings.Contains(got, "tool server orders is gone") || !strings.Contains(got, "exit status 3") || !strings.Contains(got, "the table is gone") {
			t.Errorf("%s: %q", order, got)
		}
	}
	if err := g.Lost(); err == nil || !strings.Contains(err.Error(), "exit status 3") {
		t.Errorf("lost: %v", err)
	}
	spans := g.Spans()
	if len(spans) != 3 || spans[1].Error == "" || spans[1].Attrs["answered_by"] != driver.ByNobody {
		t.Fatalf("spans %+v", spans)
	}
	if got, ok := driver.NewTape([]trace.Turn{{Spans: spans}}, nil).Call("orders", "lookup", `{"order":"b"}`); ok {
		t.Errorf("a replay answers with %+v", got)
	}
}

// A call of a tool that there is not is a call of the turn, and a failed one.
func TestUnknownToolIsACall(t *testing.T) {
	for _, live := range []bool{true, false} {
		g, s, called := open(t, live, nil)
		if _, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "nosuch", Arguments: map[string]any{"order": "a"}}); err == nil || !strings.Contains(err.Error(), "nosuch") {
			t.Errorf("live %v: answered with %v", live, err)
		}
		spans := g.Spans()
		if len(spans) != 1 || spans[0].Name != "nosuch" || spans[0].Input != `{"order":"a"}` || !strings.Contains(spans[0].Error, "unknown tool") || spans[0].Pending || called() != 0 {
			t.Errorf("live %v: spans %+v", live, spans)
		}
	}
}
