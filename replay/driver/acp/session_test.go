package acp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"vise/engine/process"
	"vise/engine/rule/tools"
	"vise/engine/trace"
	"vise/replay/driver"
	"vise/replay/driver/acp"
	"vise/replay/ruleserver"
	"vise/replay/sample"
)

// TestMain lets the test binary be the agent: a real subprocess of the same code.
func TestMain(m *testing.M) {
	if raw := os.Getenv("TEST_SAMPLE_AGENT"); raw != "" {
		var o sample.Options
		if err := json.Unmarshal([]byte(raw), &o); err != nil {
			panic(err)
		}
		if err := sample.Run(context.Background(), os.Stdin, os.Stdout, os.Stderr, o); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if os.Getenv("TEST_BRIDGE") != "" {
		set := tools.New(oneRule(os.Getenv("TEST_BRIDGE")), tools.Options{})
		if err := ruleserver.ServeStdio(context.Background(), set, os.Stdin, os.Stdout); err != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// patience is how long the tests give an agent where the time it takes is not what they are about.
const patience = 10 * time.Second

func agentConfig(t *testing.T, o sample.Options) driver.Config {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(struct {
		Noise     float64
		Seed      string
		Fault     sample.Fault
		FaultTurn int
		Keep      string
		Modes     bool
	}{o.Noise, o.Seed, o.Fault, o.FaultTurn, o.Keep, o.Modes})
	if err != nil {
		t.Fatal(err)
	}
	return driver.Config{Command: []string{self}, Dir: t.TempDir(), SessionID: "s1",
		Env: driver.Environ(nil, map[string]string{"TEST_SAMPLE_AGENT": string(raw), "GORACE": "atexit_sleep_ms=0"}, os.Environ()), CancelGrace: patience}
}

func start(t *testing.T, cfg driver.Config) driver.Session {
	t.Helper()
	s, err := acp.Start(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close(context.Background()) })
	return s
}

var failing = []string{
	"Where is order A-1002 right now?",
	"The wool blanket in A-1003 arrived torn, please pay back the money.",
	"My garden hose A-1004 is cracked all over. I want a refund.",
}

func play(t *testing.T, s driver.Session, inputs ...string) []trace.Turn {
	t.Helper()
	var turns []trace.Turn
	for i, in := range inputs {
		turn, err := s.Prompt(t.Context(), i, in)
		if err != nil {
			t.Fatalf("turn %d: %v", i, err)
		}
		turns = append(turns, turn)
	}
	return turns
}

func lines(turn trace.Turn) []string {
	var out []string
	for _, s := range turn.Spans {
		switch s.Kind {
		case trace.LLM:
			out = append(out, strings.TrimSpace("LLM "+s.Output))
		case trace.TOOL:
			mark := ""
			if s.Error != "" {
				mark = " ! " + s.Error
			}
			out = append(out, "TOOL "+s.Name+" "+s.Input+mark)
		default:
			out = append(out, string(s.Kind)+" "+s.Name)
		}
	}
	return out
}

func TestTurnsBecomeSpans(t *testing.T) {
	cfg := agentConfig(t, sample.Options{})
	var mu sync.Mutex
	live := map[string]trace.Span{}
	cfg.OnSpan = func(_ int, s trace.Span) {
		mu.Lock()
		defer mu.Unlock()
		live[s.ID] = s
	}
	var rec process.Record
	cfg.OnProcess = func(r process.Record) { rec = r }
	cfg.Preamble = "You may read rules."
	s := start(t, cfg)
	turns := play(t, s, failing...)
	want := [][]string{{
		`LLM Checking the order book.`,
		`TOOL look_up_order {"order_id":"A-1002"}`,
		`LLM Order A-1002 holds a coffee grinder. It left on 2026-03-09 with Parcelline and is now in transit.`,
	}, {
		`LLM Checking the order book.`,
		`TOOL look_up_order {"order_id":"A-1003"}`,
		`CHAIN plan`,
		`LLM Issuing the refund.`,
		`TOOL issue_refund {"amount":61.25,"order_id":"A-1003","reason_code":"damaged_item"}`,
		`LLM Telling the customer.`,
		`TOOL notify_customer {"message":"Your refund for the wool blanket is on record.","order_id":"A-1003"}`,
		`LLM Done: RF-1003 returns $61.25 to Aisha Khan for the wool blanket. The confirmation mail went out as well.`,
	}, {
		`LLM Checking the order book.`,
		`TOOL look_up_order {"order_id":"A-1004"}`,
		`CHAIN plan`,
		`LLM Issuing the refund.`,
		`TOOL issue_refund {"amount":28.4,"order_id":"A-1004"} ! validation error: missing required argument 'reason_code' for issue_refund`,
		`LLM`,
		`TOOL issue_refund {"amount":28.4,"order_id":"A-1004"} ! validation error: missing required argument 'reason_code' for issue_refund`,
		`LLM I could not complete the refund of the garden hose: the desk rejects it every time.`,
	}}
	for i, turn := range turns {
		if got := lines(turn); strings.Join(got, "\n") != strings.Join(want[i], "\n") {
			t.Errorf("turn %d:\n%s\nwant:\n%s", i, strings.Join(got, "\n"), strings.Join(want[i], "\n"))
		}
		if turn.TraceID != fmt.Sprintf("s1.%d", i) || turn.StopReason != "end_turn" || turn.Input != failing[i] {
			t.Errorf("turn %d: head is %+v", i, turn)
		}
		for _, sp := range turn.Spans {
			mu.Lock()
			l := live[sp.ID]
			mu.Unlock()
			if l.Output != sp.Output || l.Input != sp.Input || l.Name != sp.Name || l.Error != sp.Error {
				t.Errorf("span %s was shown as %+v, ended as %+v", sp.ID, l, sp)
			}
			if sp.Pending || sp.End.IsZero() {
				t.Errorf("span %+v has no end", sp)
			}
		}
	}
	think := turns[0].Spans[0]
	if think.Thought != "The request is about order A-1002. The order book comes first." {
		t.Errorf("thought = %q", think.Thought)
	}
	call := turns[0].Spans[1]
	if call.Attrs["title"] != "Look up order A-1002" || call.Attrs["status"] != "completed" ||
		call.Output != `{"carrier":"Parcelline","customer":"Jonas Weber","item":"coffee grinder","order_id":"A-1002","shipped":"2026-03-09","status":"in transit","total":84.5}` {
		t.Errorf("call = %+v", call)
	}
	info := s.Info()
	if info.Agent != sample.Name || info.Protocol != 1 || info.PID != rec.PID || info.PID == 0 || info.Stray != 0 || info.Late != 0 || info.Unknown != 0 {
		t.Errorf("info = %+v", info)
	}
	if !rec.Alive() {
		t.Error("recorded process is not alive")
	}
	if exit := s.Close(t.Context()); !exit.OK() {
		t.Errorf("exit = %v", exit)
	}
	if rec.Alive() {
		t.Error("agent lives on after Close")
	}
	if _, err := s.Prompt(t.Context(), 3, "hello"); driver.KindOf(err) != driver.AgentExited {
		t.Errorf("prompt after close: %v", err)
	}
}

func TestNoiseFollowsTheSeed(t *testing.T) {
	inputs := []string{failing[1], "Order A-1005 came far too late, I would like a reimbursement.", "Is A-1006 on the road?"}
	run := func(seed string, noise float64) string {
		cfg := agentConfig(t, sample.Options{Noise: noise, Seed: seed})
		s := start(t, cfg)
		defer s.Close(context.Background())
		var b strings.Builder
		for _, turn := range play(t, s, inputs...) {
			b.WriteString(strings.Join(lines(turn), "\n"))
		}
		return b.String()
	}
	if a, b := run("seed-1", 0.5), run("seed-1", 0.5); a != b {
		t.Errorf("same seed, different runs:\n%s\n\n%s", a, b)
	}
	distinct := map[string]bool{}
	for i := range 6 {
		distinct[run(fmt.Sprint("seed-", i), 0.5)] = true
	}
	if len(distinct) < 2 {
		t.Error("six seeds at noise 0.5 gave one and the same run")
	}
	if got := run("x", 1); strings.Count(got, "missing required argument") != 5 {
		t.Errorf("noise 1 left a turn alone:\n%s", got)
	}
}

func TestStartFails(t *testing.T) {
	for _, c := range []struct {
		name    string
		change  func(*driver.Config)
		kind    driver.Kind
		message string
	}{
		{"no command", func(c *driver.Config) { c.Command = nil }, driver.StartFailed, "no command given"},
		{"missing command", func(c *driver.Config) { c.Command = []string{"no-such-agent-anywhere"} }, driver.StartFailed, "executable file not found"},
		{"missing folder", func(c *driver.Config) { c.Dir = "/no/such/folder" }, driver.StartFailed, "working directory"},
		{"ends at once", func(c *driver.Config) { c.Command = []string{"sh", "-c", "echo cannot log in >&2; exit 7"} }, driver.AgentExited, "exit status 7); it last wrote: cannot log in"},
		{"says nothing", func(c *driver.Config) { c.Command, c.StartTimeout = []string{"sleep", "60"}, 200*time.Millisecond }, driver.Timeout, "agent.start_timeout"},
		{"other version", func(c *driver.Config) {
			c.Command = []string{"sh", "-c", `read x; echo '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":2}}'; sleep 60`}
		}, driver.Protocol, "speaks protocol version 2"},
		{"answers an error", func(c *driver.Config) {
			c.Command = []string{"sh", "-c", `read x; echo '{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"log in first"}}'; sleep 60`}
		}, driver.Refused, "log in first (code -32000)"},
		{"no bridge", func(c *driver.Config) {
			c.Command = []string{"sh", "-c", `read x; echo '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1}}'; sleep 60`}
			c.MCP = []driver.MCPServer{{Name: "vise", URL: "http://127.0.0.1:1"}}
		}, driver.Protocol, "no bridge command"},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := agentConfig(t, sample.Options{})
			c.change(&cfg)
			var rec process.Record
			cfg.OnProcess = func(r process.Record) { rec = r }
			_, err := acp.Start(t.Context(), cfg)
			if driver.KindOf(err) != c.kind || !strings.Contains(err.Error(), c.message) {
				t.Errorf("error is %v (kind %q), want kind %q with %q", err, driver.KindOf(err), c.kind, c.message)
			}
			if rec.PID != 0 && rec.Alive() {
				t.Error("the agent lives on")
			}
		})
	}
}
