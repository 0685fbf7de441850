package acp

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"vise/engine/process"
	"vise/engine/trace"
	"vise/replay/driver"
)

// peer is an agent written out in a test: it reads our messages and says lines.
type peer struct {
	in   *bufio.Reader
	out  *io.PipeWriter
	gone chan struct{}
	once sync.Once
}

// Stop ends the peer as a killed process ends: its output closes.
func (p *peer) Stop() process.Exit {
	p.once.Do(func() { close(p.gone); p.out.Close() })
	return process.Exit{Code: -1, Signal: "killed"}
}
func (p *peer) Tail() string            { return "" }
func (p *peer) Exited() <-chan struct{} { return p.gone }

// next returns the next message we sent.
func (p *peer) next() message {
	line, err := p.in.ReadBytes('\n')
	if err != nil {
		return message{}
	}
	var m message
	if err := json.Unmarshal(line, &m); err != nil {
		panic(err)
	}
	return m
}

func (p *peer) say(format string, args ...any) { fmt.Fprintf(p.out, format+"\n", args...) }

// tell sends a session update.
func (p *peer) tell(update string) {
	p.say(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"x","update":%s}}`, update)
}

func (p *peer) answer(m message) {
	p.say(`{"jsonrpc":"2.0","id":%s,"result":{"stopReason":"end_turn"}}`, m.ID)
}

// connected runs an agent's script against an open session. In a synctest
// bubble its clock is the bubble's.
func connected(t *testing.T, cfg driver.Config, script func(*peer)) *session {
	t.Helper()
	toAgent, ours := io.Pipe()
	theirs, fromAgent := io.Pipe()
	p := &peer{in: bufio.NewReader(toAgent), out: fromAgent, gone: make(chan struct{})}
	cfg.SessionID = "s"
	s := makeSession(cfg.WithDefaults())
	s.attach(p, ours, theirs)
	s.id = "x"
	done := make(chan struct{})
	go func() {
		defer close(done)
		script(p)
	}()
	t.Cleanup(func() {
		ours.Close()
		toAgent.Close()
		p.Stop()
		s.room.close()
		s.loops.Wait()
		<-done
	})
	return s
}

func TestUpserts(t *testing.T) {
	for _, c := range []struct {
		name    string
		updates []string
		want    []trace.Span
	}{
		{"one model span in a turn of text", []string{
			`{"sessionUpdate":"agent_thought_chunk","content":{"type":"text","text":"hm"}}`,
			`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"Hel"}}`,
			`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"lo"}}`,
		}, []trace.Span{{Kind: trace.LLM, Thought: "hm", Output: "Hello"}}},
		{"a new one after a call", []string{
			`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"a"}}`,
			`{"sessionUpdate":"tool_call","toolCallId":"c","title":"t","status":"completed","rawOutput":"ok"}`,
			`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"b"}}`,
		}, []trace.Span{{Kind: trace.LLM, Output: "a"}, {Kind: trace.TOOL, Name: "t", Output: "ok"}, {Kind: trace.LLM, Output: "b"}}},
		{"arguments that come late, and a name from the adapter's corner", []string{
			`{"sessionUpdate":"tool_call","toolCallId":"c","title":"Read a file","kind":"read","rawInput":{}}`,
			`{"sessionUpdate":"tool_call_update","toolCallId":"c","_meta":{"claudeCode":{"toolName":"Read"}},"rawInput":{"n":12345678901234567890, "path":"x"}}`,
			`{"sessionUpdate":"tool_call_update","toolCallId":"c","title":"Read x","rawInput":{},"status":"completed","content":[{"type":"content","content":{"type":"text","text":"data"}}]}`,
		}, []trace.Span{{Kind: trace.TOOL, Name: "Read", Input: `{"n":12345678901234567890,"path":"x"}`, Output: "data"}}},
		{"raw output wins over what is shown", []string{
			`{"sessionUpdate":"tool_call","toolCallId":"c","title":"t","rawOutput":{"a":1},"content":[{"type":"content","content":{"type":"text","text":"shown"}}]}`,
			`{"sessionUpdate":"tool_call_update","toolCallId":"c","status":"completed","content":[{"type":"content","content":{"type":"text","text":"shown again"}}]}`,
		}, []trace.Span{{Kind: trace.TOOL, Name: "t", Output: `{"a":1}`}}},
		{"a failure keeps its text", []string{
			`{"sessionUpdate":"tool_call","toolCallId":"c","title":"t"}`,
			`{"sessionUpdate":"tool_call_update","toolCallId":"c","status":"failed","rawOutput":"no such order"}`,
		}, []trace.Span{{Kind: trace.TOOL, Name: "t", Output: "no such order", Error: "no such order"}}},
		{"a failure without a text", []string{
			`{"sessionUpdate":"tool_call","toolCallId":"c","title":"t","status":"failed"}`,
		}, []trace.Span{{Kind: trace.TOOL, Name: "t", Error: "failed"}}},
		{"only updates, and no end", []string{
			`{"sessionUpdate":"tool_call_update","toolCallId":"c","title":"t","status":"in_progress"}`,
		}, []trace.Span{{Kind: trace.TOOL, Name: "t", Pending: true}}},
		{"a nested call", []string{
			`{"sessionUpdate":"tool_call","toolCallId":"a","title":"Task","status":"completed"}`,
			`{"sessionUpdate":"tool_call","toolCallId":"b","title":"t","status":"completed","_meta":{"claudeCode":{"parentToolUseId":"a"}}}`,
		}, []trace.Span{{Kind: trace.TOOL, Name: "Task"}, {Kind: trace.TOOL, Name: "t", Parent: "s.0.s0"}}},
		{"one plan", []string{
			`{"sessionUpdate":"plan","entries":[{"content":"a"}]}`,
			`{"sessionUpdate":"plan","entries":[{"content":"b"}]}`,
		}, []trace.Span{{Kind: trace.CHAIN, Name: "plan", Output: `[{"content":"b"}]`}}},
		{"an image is described", []string{
			`{"sessionUpdate":"agent_message_chunk","content":{"type":"image","mimeType":"image/png","data":"AAAA"}}`,
		}, []trace.Span{{Kind: trace.LLM, Output: "[image image/png, 4 bytes encoded]"}}},
		{"an unknown kind is kept", []string{
			`{"sessionUpdate":"brand_new","x":1}`,
		}, []trace.Span{{Kind: trace.CHAIN, Name: "acp:brand_new", Output: `{"sessionUpdate":"brand_new","x":1}`}}},
		{"one that breaks its schema too", []string{
			`{"sessionUpdate":"tool_call","toolCallId":7}`,
		}, []trace.Span{{Kind: trace.CHAIN, Name: "acp:unreadable", Output: `{"sessionUpdate":"tool_call","toolCallId":7}`}}},
		{"settings and echoes are nothing the agent did", []string{
			`{"sessionUpdate":"available_commands_update","availableCommands":[]}`,
			`{"sessionUpdate":"user_message_chunk","content":{"type":"text","text":"hi"}}`,
			`{"sessionUpdate":"current_mode_update","currentModeId":"x"}`,
		}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := connected(t, driver.Config{}, func(p *peer) {
				m := p.next()
				for _, u := range c.updates {
					p.tell(u)
				}
				p.answer(m)
			})
			turn, err := s.Prompt(t.Context(), 0, "hi")
			if err != nil {
				t.Fatal(err)
			}
			if len(turn.Spans) != len(c.want) {
				t.Fatalf("spans = %+v", turn.Spans)
			}
			for i, got := range turn.Spans {
				w := c.want[i]
				if got.Kind != w.Kind || got.Name != w.Name || got.Input != w.Input || got.Output != w.Output || got.Thought != w.Thought ||
					got.Error != w.Error || got.Pending != w.Pending || got.Parent != w.Parent {
					t.Errorf("span %d = %+v, want %+v", i, got, w)
				}
			}
		})
	}
}

func TestLateUpdatesStayOut(t *testing.T) {
	s := connected(t, driver.Config{}, func(p *peer) {
		m := p.next()
		p.tell(`{"sessionUpdate":"tool_call","toolCallId":"old","title":"slow","rawInput":{"q":1}}`)
		p.answer(m)
		p.tell(`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"late"}}`)
		p.tell(`{"sessionUpdate":"available_commands_update"}`)
		m = p.next()
		p.tell(`{"sessionUpdate":"tool_call_update","toolCallId":"old","status":"completed","rawOutput":"late too"}`)
		p.say(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"another","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"foreign"}}}}`)
		p.tell(`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"second"}}`)
		p.answer(m)
		m = p.next()
		p.tell(`{"sessionUpdate":"tool_call","toolCallId":"old","title":"a call anew","status":"completed"}`)
		p.answer(m)
	})
	var turns []trace.Turn
	for i := range 3 {
		turn, err := s.Prompt(t.Context(), i, "go on")
		if err != nil {
			t.Fatal(err)
		}
		turns = append(turns, turn)
		for end := time.Now().Add(time.Minute); i == 0 && s.Info().Late == 0 && time.Now().Before(end); {
			time.Sleep(time.Millisecond) // what comes late has come before the next prompt
		}
	}
	if sp := turns[0].Spans; len(sp) != 1 || !sp[0].Pending || sp[0].Output != "" {
		t.Errorf("first turn = %+v", sp)
	}
	if sp := turns[1].Spans; len(sp) != 1 || sp[0].Output != "second" {
		t.Errorf("second turn = %+v", sp)
	}
	if sp := turns[2].Spans; len(sp) != 1 || sp[0].Name != "a call anew" {
		t.Errorf("third turn = %+v", sp)
	}
	if i := s.Info(); i.Late != 3 || i.Updates != 7 {
		t.Errorf("info = %+v", i)
	}
}

// Time is the agent's: any word of it within the idle time keeps the turn alive, up to the turn's own limit.
func TestClocks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := driver.Config{IdleTimeout: time.Minute, TurnTimeout: 5 * time.Minute, CancelGrace: time.Second}
		s := connected(t, cfg, func(p *peer) {
			m := p.next()
			for range 6 {
				time.Sleep(45 * time.Second)
				p.tell(`{"sessionUpdate":"agent_thought_chunk","content":{"type":"text","text":"."}}`)
			}
			p.answer(m)
			m = p.next()
			if c := p.next(); c.Method != "session/cancel" {
				t.Errorf("idle agent was sent %s", c.Method)
			}
			p.answer(m) // in time: the session goes on
			p.next()
			for p.in.Buffered() == 0 {
				time.Sleep(40 * time.Second)
				select {
				case <-p.gone:
					return
				default:
				}
				p.tell(`{"sessionUpdate":"agent_thought_chunk","content":{"type":"text","text":"."}}`)
			}
		})
		begun := time.Now()
		turn, err := s.Prompt(t.Context(), 0, "a")
		if err != nil || time.Since(begun) != 270*time.Second || turn.Spans[0].Thought != "......" {
			t.Fatalf("slow but talking: %v after %v", err, time.Since(begun))
		}
		begun = time.Now()
		_, err = s.Prompt(t.Context(), 1, "b")
		if driver.KindOf(err) != driver.IdleTimeout || time.Since(begun) != time.Minute {
			t.Fatalf("silent: %v after %v", err, time.Since(begun))
		}
		begun = time.Now()
		turn, err = s.Prompt(t.Context(), 2, "c")
		if driver.KindOf(err) != driver.Timeout || time.Since(begun) != 5*time.Minute+time.Second || len(turn.Spans) != 1 {
			t.Fatalf("endless: %v after %v with %+v", err, time.Since(begun), turn.Spans)
		}
		if _, err = s.Prompt(t.Context(), 3, "d"); driver.KindOf(err) != driver.Timeout {
			t.Fatalf("after the end: %v", err)
		}
	})
}

func TestLimitsAreTold(t *testing.T) {
	s := connected(t, driver.Config{MaxSpans: 5, MaxTurn: 10}, func(p *peer) {
		m := p.next()
		p.tell(`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"12345678é90"}}`)
		for i := range 10 {
			p.tell(fmt.Sprintf(`{"sessionUpdate":"tool_call","toolCallId":"c%d","title":"t","status":"completed"}`, i))
		}
		p.answer(m)
	})
	turn, err := s.Prompt(t.Context(), 0, "hi")
	if err != nil {
		t.Fatal(err)
	}
	if len(turn.Spans) != 6 || turn.Spans[0].Output != "12345678é" {
		t.Fatalf("spans = %+v", turn.Spans)
	}
	if l := turn.Spans[5]; l.Name != "limits" || l.Attrs["dropped_spans"] != 6 || l.Attrs["dropped_bytes"] != 2 {
		t.Errorf("limits = %+v", l)
	}
}

// An agent that talks without end is stopped by its bytes, long before the turn's time.
func TestFloodIsEnded(t *testing.T) {
	s := connected(t, driver.Config{MaxSaid: 1000}, func(p *peer) {
		m := p.next()
		for range 20 {
			p.tell(`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"` + strings.Repeat("x", 100) + `"}}`)
		}
		p.next() // session/cancel
		p.say(`{"jsonrpc":"2.0","id":%s,"result":{"stopReason":"cancelled"}}`, m.ID)
	})
	turn, err := s.Prompt(t.Context(), 0, "hi")
	if driver.KindOf(err) != driver.OutputLimit || !strings.Contains(err.Error(), "1000 bytes") {
		t.Errorf("got %v", err)
	}
	if len(turn.Spans) != 2 || len(turn.Spans[0].Output) != 1000 || turn.Spans[1].Attrs["dropped_bytes"] != 1000 {
		t.Errorf("spans %+v", turn.Spans)
	}
}

func TestUsage(t *testing.T) {
	for _, c := range []struct {
		agent string
		input []int64
	}{{"opencode", []int64{100, 150}}, {"claude-agent-acp", []int64{100, 50}}} {
		s := connected(t, driver.Config{}, func(p *peer) {
			for _, u := range []struct {
				in   int
				cost float64
			}{{100, 0.5}, {150, 0.75}} {
				m := p.next()
				p.tell(fmt.Sprintf(`{"sessionUpdate":"usage_update","size":1,"used":1,"cost":{"amount":%v,"currency":"USD"}}`, u.cost))
				p.say(`{"jsonrpc":"2.0","id":%s,"result":{"stopReason":"end_turn","usage":{"inputTokens":%d,"outputTokens":1,"totalTokens":1}}}`, m.ID, u.in)
			}
		})
		s.info.Agent = c.agent
		for i, cost := range []float64{0.5, 0.25} {
			turn, err := s.Prompt(t.Context(), i, "hi")
			if err != nil {
				t.Fatal(err)
			}
			if turn.Usage.Input != c.input[i] || turn.Usage.CostUSD == nil || *turn.Usage.CostUSD != cost {
				t.Errorf("%s: turn %d used %+v", c.agent, i, turn.Usage)
			}
		}
	}
}

func TestPreambleComesOnce(t *testing.T) {
	var seen []string
	s := connected(t, driver.Config{Preamble: "You may read rules."}, func(p *peer) {
		for range 2 {
			m := p.next()
			var req struct{ Prompt []struct{ Text string } }
			json.Unmarshal(m.Params, &req)
			text := ""
			for _, b := range req.Prompt {
				text += b.Text
			}
			seen = append(seen, text)
			p.answer(m)
		}
	})
	for i := range 2 {
		if turn, err := s.Prompt(t.Context(), i, "hi"); err != nil || turn.Input != "hi" {
			t.Fatalf("%+v, %v", turn, err)
		}
	}
	if len(seen) != 2 || seen[0] != "You may read rules.\n\nhi" || seen[1] != "hi" {
		t.Errorf("agent was sent %q", seen)
	}
}

// An agent that asks without end and never reads the answers is given up, not waited for.
func TestAgentThatDoesNotRead(t *testing.T) {
	s := connected(t, driver.Config{}, func(p *peer) {
		p.next()
		for range 2 * maxQueue {
			p.say(`{"jsonrpc":"2.0","id":1,"method":"fs/read_text_file","params":{}}`)
		}
		<-p.gone
	})
	_, err := s.Prompt(t.Context(), 0, "hi")
	if driver.KindOf(err) != driver.Protocol || !errors.Is(err, errDeaf) {
		t.Errorf("error is %v", err)
	}
	s.proc.Stop()
}

// Whatever an agent writes, we neither panic nor hang, and keep what is ours bounded.
func FuzzMessages(f *testing.F) {
	for _, s := range []string{
		`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"x","update":{"sessionUpdate":"tool_call","toolCallId":"c","_meta":{"a":{"toolName":"t"}}}}}`,
		`{"jsonrpc":"2.0","method":"session/update","params":{"update":{"sessionUpdate":"agent_message_chunk","content":{"type":"resource","resource":null}}}}`,
		`{"jsonrpc":"2.0","id":1,"result":{"stopReason":"end_turn","usage":{"inputTokens":-1}}}`,
		`{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"x","data":[1]}}`,
		`{"id":{},"method":"session/request_permission","params":{"toolCall":{"content":[{"path":1}]}}}`,
		"not a message", "null", "[]", "{}", "\xff\x00",
	} {
		f.Add([]byte(s))
	}
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, data []byte) {
		s := connected(t, driver.Config{MaxLine: 1 << 16, Dir: dir, CancelGrace: 10 * time.Millisecond}, func(p *peer) {
			go func() {
				for p.next().Version != "" {
				}
			}()
			p.out.Write(data)
			p.out.Write([]byte("\n"))
			p.Stop()
		})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		turn, _ := s.Prompt(ctx, 0, "hi")
		if ctx.Err() != nil {
			t.Fatal("hung")
		}
		for _, sp := range turn.Spans {
			if _, err := json.Marshal(sp); err != nil || sp.ID == "" || strings.ContainsRune(sp.Name, '\n') {
				t.Errorf("span %+v: %v", sp, err)
			}
		}
	})
}

// An output that is told again as it grows takes its last size of the turn's allowance.
func TestGrowingOutputIsChargedOnce(t *testing.T) {
	r := &recorder{id: "s.0", now: time.Now, emit: func(trace.Span) {}, maxSpans: 10, left: 10_000, said: 10_000, full: make(chan struct{}), tools: map[string]*building{}}
	for n := range 100 {
		raw := json.RawMessage(fmt.Sprintf(`{"sessionUpdate":"tool_call_update","toolCallId":"c","title":"build","rawOutput":%q}`, strings.Repeat("x", 50*(n+1))))
		var u update
		if err := json.Unmarshal(raw, &u); err != nil {
			t.Fatal(err)
		}
		r.apply(u, raw)
	}
	if got := r.finish(); len(got[0].Output) != 5000 || r.left != 5_000 || r.cut != 0 {
		t.Errorf("%d bytes kept, %d left, %d cut", len(got[0].Output), r.left, r.cut)
	}
}

// BenchmarkFlood measures 5,000 text updates, each shown live.
func BenchmarkFlood(b *testing.B) {
	b.ReportAllocs()
	u, raw := update{}, json.RawMessage(`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"x"}}`)
	if err := json.Unmarshal(raw, &u); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		r := &recorder{id: "s.0", now: time.Now, emit: func(trace.Span) {}, maxSpans: 10, left: 1 << 20, said: 1 << 20, full: make(chan struct{}), tools: map[string]*building{}}
		for range 5000 {
			r.apply(u, raw)
		}
		if got := r.finish(); len(got[0].Output) != 5000 {
			b.Fatal(len(got[0].Output))
		}
	}
}
