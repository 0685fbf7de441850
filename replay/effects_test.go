package replay

import (
	"strings"
	"testing"
	"time"

	"vise/engine/score"
	"vise/engine/score/local"
	"vise/engine/trace"
	"vise/replay/driver"
	"vise/replay/toolserver"
)

// throughUs is a call of a tool server that passed through vise, s seconds into the run.
func throughUs(id string, s int, input, output, failed, by string) trace.Span {
	at := time.Unix(1_700_000_000, 0).Add(time.Duration(s) * time.Second)
	return trace.Span{ID: id, Kind: trace.TOOL, Name: "lookup", Input: input, Output: output, Error: failed, Start: at, End: at.Add(time.Second),
		Attrs: map[string]any{"source": "toolserver", "tool_server": "orders", "server_tool": "lookup", "answered_by": by}}
}

// A call that the agent tells of is one call, whatever it is called there.
func TestCallsOfServersAreCalls(t *testing.T) {
	t.Parallel()
	at := func(s int) time.Time { return time.Unix(1_700_000_000, 0).Add(time.Duration(s) * time.Second) }
	own := []trace.Span{
		{ID: "m", Kind: trace.LLM, Output: "I look", Start: at(0), End: at(1)},
		{ID: "c1", Kind: trace.TOOL, Name: "mcp__orders__lookup", Input: `{"order":"a"}`, Output: "shortened", Start: at(1), End: at(3)},
		{ID: "c2", Kind: trace.TOOL, Name: "Looking up an order", Input: `{ "order": "b" }`, Start: at(9), End: at(10)}, // heard of late
		{ID: "c3", Kind: trace.TOOL, Name: "Looking up again", Input: `{"title":"only"}`, Output: "failed", Error: "it took too long", Start: at(7), End: at(9)},
		{ID: "other", Kind: trace.TOOL, Name: "read", Input: `{"path":"x"}`, Output: "text", Start: at(9), End: at(10)},
	}
	byID := throughUs("s.0.t3", 7, `{"order":"c"}`, "found c", "", driver.ByServer)
	byID.Attrs["call_id"] = "c3"
	turn := withCalls(trace.Turn{Spans: own}, []trace.Span{
		throughUs("s.0.t1", 2, `{"order":"a"}`, "found a", "", driver.ByServer),
		throughUs("s.0.t2", 5, `{"order":"b"}`, "vise: this call is not recorded", "vise: this call is not recorded", driver.ByNobody),
		byID,
		throughUs("s.0.t4", 8, `{"order":"d"}`, "found d", "", driver.ByServer),
	})
	if got := trace.Count([]trace.Turn{turn}); got.Calls != 5 || got.Errors != 2 {
		t.Errorf("%+v, want 5 calls, 2 of them errors", got)
	}
	var names []string
	for _, s := range turn.Spans {
		names = append(names, s.ID+"="+s.Name)
	}
	if got := strings.Join(names, " "); got != "m= c1=mcp__orders__lookup s.0.t4=lookup c2=lookup c3=lookup other=read" {
		t.Errorf("spans %s", got)
	}
	c1, c2, c3 := turn.Spans[1], turn.Spans[3], turn.Spans[4]
	if c1.Output != "found a" || c1.Attrs["answered_by"] != driver.ByServer || c1.Error != "" {
		t.Errorf("by name: %+v", c1)
	}
	if c2.Error == "" || c2.Input != `{ "order": "b" }` || c2.Attrs["tool_server"] != "orders" {
		t.Errorf("by arguments: %+v", c2)
	}
	if c3.Input != `{"order":"c"}` || c3.Output != "found c" || c3.Error != "it took too long" {
		t.Errorf("by id: %+v", c3)
	}

	// What was recorded so answers the same calls again, failures of the agent's own apart.
	tape := driver.NewTape([]trace.Turn{turn}, nil)
	for _, c := range []struct{ input, want string }{{"a", "found a"}, {"b", ""}, {"c", "found c"}, {"d", "found d"}} {
		got, ok := tape.Call("orders", "lookup", `{"order":"`+c.input+`"}`)
		if ok != (c.want != "") || got.Output != c.want || got.Error != "" {
			t.Errorf("order %s: %v, %+v", c.input, ok, got)
		}
	}
}

// A turn of refused calls is seen by the evaluator.
func TestRefusedCallsAreScored(t *testing.T) {
	t.Parallel()
	refused := "vise: this call is not recorded, and tool servers are not called in a replay; agent.effects = \"live\" calls them"
	turn := withCalls(trace.Turn{TraceID: "s.0", Input: "find my order", Spans: []trace.Span{{ID: "m", Kind: trace.LLM, Output: "done"}}},
		[]trace.Span{throughUs("t1", 1, `{"order":"a"}`, refused, refused, driver.ByNobody), throughUs("t2", 3, `{"order":"b"}`, refused, refused, driver.ByNobody)})
	for _, s := range local.New(trace.Session{ID: "s"}, local.Options{}).Turn(turn) {
		if s.Metric == score.ToolCorrectness && (s.Value == nil || *s.Value > 0.5) {
			t.Errorf("%s of a turn whose calls were all refused: %v %q", s.Metric, s.Value, s.Reasons)
		}
	}
}

// What is started of a tool server is told under every setting.
func TestServersThatAreStarted(t *testing.T) {
	t.Parallel()
	for _, effects := range []string{"recorded", "confined", "live"} {
		a := Agent{Driver: "acp", Effects: effects, Servers: []toolserver.Spec{{Name: "mail", Command: []string{"mail-server"}}, {Name: "web", URL: "http://127.0.0.1:1"}}}
		got := strings.Join(a.Live(), "; ")
		for _, want := range []string{"the process of tool server mail", "the list of tools of web"} {
			if !strings.Contains(got, want) {
				t.Errorf("%s: %q lacks %q", effects, got, want)
			}
		}
		if strings.Contains(got, "the tools of mail") != (effects == "live") {
			t.Errorf("%s: %q", effects, got)
		}
	}
}
