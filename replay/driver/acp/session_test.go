package acp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"vise/engine/process"
	"vise/engine/rule"
	"vise/engine/rule/tools"
	"vise/engine/score"
	"vise/engine/score/local"
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
	}{o.Noise, o.Seed, o.Fault, o.FaultTurn})
	if err != nil {
		t.Fatal(err)
	}
	return driver.Config{Command: []string{self}, Dir: t.TempDir(), SessionID: "s1",
		Env: driver.Environ(nil, map[string]string{"TEST_SAMPLE_AGENT": string(raw), "GORACE": "atexit_sleep_ms=0"}, os.Environ()), CancelGrace: 300 * time.Millisecond}
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

// oneRule is a set of rules with one candidate; none if the text is empty. The
// rationale names the argument in every case: it must not count.
func oneRule(text string) *rule.Set {
	if text == "" {
		return rule.NewSet(nil, nil)
	}
	return rule.NewSet([]rule.Rule{{ID: "r1", CreatedAt: "2026-03-01T00:00:00Z", Text: text, Status: rule.Candidate, Scope: "refunds", Applicability: rule.Topical,
		Rationale: "The call failed: missing required argument 'reason_code'."}}, nil)
}

// serveRules serves it as a run of the harness gets it.
func serveRules(t *testing.T, text string) (driver.MCPServer, *tools.Toolset) {
	t.Helper()
	s, err := ruleserver.Start(t.Context(), ruleserver.Options{Source: oneRule(text)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	g := s.Grant(ruleserver.Run{RunID: "run-1", Tools: tools.Options{Restricted: true, Candidates: []string{"r1"}}})
	return driver.MCPServer{Name: "vise", URL: s.URL(), Token: g.Token}, g.Toolset
}

// scoresOf evaluates the turns as the engine does.
func scoresOf(turns []trace.Turn) []map[string]float64 {
	e := local.New(trace.Session{ID: "s1"}, local.Options{})
	var out []map[string]float64
	for _, turn := range turns {
		m := map[string]float64{}
		for _, s := range e.Turn(turn) {
			if s.Value != nil {
				m[s.Metric] = *s.Value
			}
		}
		out = append(out, m)
	}
	return out
}

// What the agent does with rules is the heart of the demo: it does well, then
// badly; a rule that names the argument helps, a rule that does not changes nothing.
func TestRulesDecideTheThirdTurn(t *testing.T) {
	long := "When issue_refund is called, " + strings.Repeat("take great care of every detail, ", 10) + "and pass reason_code."
	for _, c := range []struct {
		name, rule string
		none       bool
		calls      int  // rule tool calls in the third turn
		read       bool // the rule was read
		helps      bool
	}{
		{name: "no server", none: true},
		{name: "no rule", rule: "", calls: 1},
		{name: "useless rule", rule: "Check issue_refund carefully before calling it again.", calls: 1, read: true},
		{name: "rule for another tool, shown because there was room", rule: "notify_customer needs no reason_code.", calls: 1, read: true},
		{name: "helpful rule", rule: "Always pass `reason_code` to `issue_refund`.", calls: 1, read: true, helps: true},
		{name: "helpful rule in capitals", rule: "ISSUE_REFUND NEEDS REASON_CODE.", calls: 1, read: true, helps: true},
		{name: "helpful rule longer than a snippet", rule: long, calls: 2, read: true, helps: true},
		{name: "useless rule longer than a snippet", rule: "When issue_refund is called, " + strings.Repeat("take great care of every detail, ", 10) + "and hope.", calls: 2, read: true},
		{name: "longer name is another argument", rule: "issue_refund takes no reason_codes.", calls: 1, read: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := agentConfig(t, sample.Options{})
			var read *tools.Toolset
			if !c.none {
				var server driver.MCPServer
				server, read = serveRules(t, c.rule)
				cfg.MCP = []driver.MCPServer{server}
			}
			turns := play(t, start(t, cfg), failing...)
			calls, failed := 0, 0
			for _, s := range turns[2].Spans {
				if strings.HasPrefix(s.Name, "harness_rules_") {
					calls++
					if s.Error != "" {
						t.Errorf("rule call failed: %+v", s)
					}
				} else if s.Error != "" {
					failed++
				}
			}
			if calls != c.calls {
				t.Errorf("third turn has %d rule calls, want %d", calls, c.calls)
			}
			if want := map[bool]int{true: 0, false: 2}[c.helps]; failed != want {
				t.Errorf("third turn has %d failed calls, want %d:\n%s", failed, want, strings.Join(lines(turns[2]), "\n"))
			}
			if read != nil && (len(read.Surfaced()) == 1) != c.read {
				t.Errorf("ledger holds %v, want the rule: %v", read.Surfaced(), c.read)
			}
			scores := scoresOf(turns)
			good := scores[:2]
			if c.helps {
				good = scores
			}
			for i, m := range good {
				for metric, v := range m {
					if v < 0.85 {
						t.Errorf("turn %d: %s = %v in a turn that went well", i, metric, v)
					}
				}
			}
			if c.helps {
				return
			}
			bad := scores[2]
			for _, metric := range []string{score.TaskCompletion, score.ToolCorrectness, score.ArgumentCorrectness, score.StepEfficiency} {
				if v, ok := bad[metric]; !ok || v >= 0.5 {
					t.Errorf("third turn: %s = %v, want below 0.5", metric, v)
				}
			}
		})
	}
}

func TestBridgeWhenTheAgentTakesStdio(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cfg := agentConfig(t, sample.Options{})
	cfg.MCP = []driver.MCPServer{{Name: "vise", Command: []string{self}, Env: []string{"TEST_BRIDGE=pass reason_code to issue_refund", "TEST_SAMPLE_AGENT="}}}
	turns := play(t, start(t, cfg), failing...)
	if got := strings.Join(lines(turns[2]), "\n"); !strings.Contains(got, `"reason_code":"damaged_item"`) {
		t.Errorf("third turn:\n%s", got)
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

func TestFaults(t *testing.T) {
	for _, c := range []struct {
		fault    sample.Fault
		turn     time.Duration
		idle     time.Duration
		kind     driver.Kind
		message  string
		usable   bool // the session goes on
		leftover bool
	}{
		{fault: sample.Hang, turn: 300 * time.Millisecond, kind: driver.Timeout, message: "agent.turn_timeout", usable: true},
		{fault: sample.Hang, idle: 300 * time.Millisecond, kind: driver.IdleTimeout, message: "agent.idle_timeout", usable: true},
		{fault: sample.Deaf, turn: 300 * time.Millisecond, kind: driver.Timeout, message: "agent.turn_timeout"},
		{fault: sample.Flood, usable: true},
		{fault: sample.LongLine, usable: true, kind: "", turn: time.Minute, idle: time.Minute},
		{fault: sample.HugeLine, kind: driver.LineTooLong, message: "33554432 bytes"},
		{fault: sample.Noise, usable: true},
		{fault: sample.Exit, kind: driver.AgentExited, message: "exit status 3"},
		{fault: sample.Detach, kind: driver.AgentExited, message: "1 detached descendant(s) killed", leftover: true},
	} {
		t.Run(fmt.Sprintf("%s %s", c.fault, c.kind), func(t *testing.T) {
			cfg := agentConfig(t, sample.Options{Fault: c.fault, FaultTurn: 1})
			cfg.TurnTimeout, cfg.IdleTimeout = c.turn, c.idle
			var log bytes.Buffer
			cfg.Log = &log
			var rec process.Record
			cfg.OnProcess = func(r process.Record) { rec = r }
			s := start(t, cfg)
			play(t, s, failing[0])
			begun := time.Now()
			turn, err := s.Prompt(t.Context(), 1, failing[1])
			if took := time.Since(begun); took > 20*time.Second {
				t.Errorf("took %v", took)
			}
			if driver.KindOf(err) != c.kind {
				t.Fatalf("error is %v (kind %q), want kind %q", err, driver.KindOf(err), c.kind)
			}
			if err != nil && (!strings.Contains(err.Error(), c.message) || strings.Contains(err.Error(), "\n")) {
				t.Errorf("message is %q, want one line with %q", err, c.message)
			}
			if len(turn.Spans) == 0 && c.fault != sample.HugeLine {
				t.Error("what came before the fault is lost")
			}
			switch c.fault {
			case sample.Flood:
				if n := strings.Count(turn.Spans[0].Output, "x"); n != 5000 {
					t.Errorf("%d of 5000 updates arrived", n)
				}
			case sample.LongLine:
				if n := strings.Count(turn.Spans[0].Output, "y"); n != 12<<20 {
					t.Errorf("%d of %d bytes arrived", n, 12<<20)
				}
			case sample.Noise:
				if s.Info().Stray != 2 || !strings.Contains(log.String(), "[stdout] DEBUG refund desk warmed up") {
					t.Errorf("stray lines: %d, log %q", s.Info().Stray, log.String())
				}
				if turn.Spans[0].Name != "stray output" || turn.Spans[0].Attrs["lines"] != 2 {
					t.Errorf("first span = %+v", turn.Spans[0])
				}
			}
			if _, err := s.Prompt(t.Context(), 2, failing[2]); (err == nil) != c.usable {
				t.Errorf("next turn: %v, usable should be %v", err, c.usable)
			}
			exit := s.Close(context.Background())
			if (len(exit.Leftover) > 0) != c.leftover {
				t.Errorf("exit = %+v", exit)
			}
			if rec.Alive() || syscall.Kill(-rec.PGID, 0) == nil {
				t.Error("the group lives on")
			}
		})
	}
}

func TestAgentKilledInMidTurn(t *testing.T) {
	cfg := agentConfig(t, sample.Options{Fault: sample.Hang})
	var pid int
	cfg.OnProcess = func(r process.Record) { pid = r.PID }
	s := start(t, cfg)
	go func() {
		time.Sleep(100 * time.Millisecond)
		syscall.Kill(pid, syscall.SIGKILL)
	}()
	turn, err := s.Prompt(t.Context(), 0, failing[0])
	if driver.KindOf(err) != driver.AgentExited || !strings.Contains(err.Error(), "ended by signal: killed") {
		t.Errorf("error is %v", err)
	}
	if len(turn.Spans) != 1 || turn.Spans[0].Output != "Still thinking." {
		t.Errorf("spans = %+v", turn.Spans)
	}
}

func TestCallerCancels(t *testing.T) {
	for _, fault := range []sample.Fault{sample.Hang, sample.Deaf} {
		t.Run(string(fault), func(t *testing.T) {
			s := start(t, agentConfig(t, sample.Options{Fault: fault}))
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(100*time.Millisecond, cancel)
			turn, err := s.Prompt(ctx, 0, failing[0])
			if driver.KindOf(err) != driver.Cancelled || len(turn.Spans) != 1 {
				t.Errorf("error is %v, spans %+v", err, turn.Spans)
			}
			if polite := turn.StopReason == "cancelled"; polite != (fault == sample.Hang) {
				t.Errorf("stop reason = %q", turn.StopReason)
			}
		})
	}
	// Start's own context ends the agent, whoever forgets to close it.
	ctx, cancel := context.WithCancel(t.Context())
	cfg := agentConfig(t, sample.Options{})
	var rec process.Record
	cfg.OnProcess = func(r process.Record) { rec = r }
	s, err := acp.Start(ctx, cfg)
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	for deadline := time.Now().Add(10 * time.Second); rec.Alive(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("agent outlives its context")
		}
	}
	s.Close(context.Background())
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
