package format_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"vise/engine/trace"
	"vise/replay/format"
)

// sessions is the folder of our own recordings.
func sessions(elem ...string) string {
	return filepath.Join(append([]string{"..", "..", "testdata", "sessions"}, elem...)...)
}

// TestFixtures reads our own recordings of every kind of trouble.
func TestFixtures(t *testing.T) {
	for _, c := range []struct {
		file     string
		counts   trace.Counts // of all sessions
		records  int
		damaged  []string // "line:offset reason"
		unknown  map[string]int
		sessions int
	}{
		{file: "claude-code/desk.jsonl", counts: trace.Counts{Turns: 2, Steps: 3, Calls: 3, Errors: 1}, records: 11},
		// A line cut in the middle: the nine others are kept.
		{file: "claude-code/b01-line-cut.jsonl", counts: trace.Counts{Turns: 2, Steps: 3, Calls: 2, Errors: 0}, records: 9,
			damaged: []string{"4:1312 record is cut off"}},
		// Two records on a line; one and the beginning of another; the beginning of one and a whole one.
		{file: "claude-code/b02-glued.jsonl", counts: trace.Counts{Turns: 2, Steps: 2, Calls: 3, Errors: 1}, records: 7,
			damaged: []string{"3:1846 record is cut off", "5:2300 record is cut off by the next one"}},
		// The writer crashed: the last record lacks its end and its line feed.
		{file: "claude-code/b03-tail.jsonl", counts: trace.Counts{Turns: 2, Steps: 2, Calls: 2, Errors: 1}, records: 8,
			damaged: []string{"9:3374 last record is incomplete (no line end)"}},
		// A message that is no message.
		{file: "claude-code/b04-shape.jsonl", counts: trace.Counts{Turns: 2, Steps: 2}, records: 6,
			unknown: map[string]int{"user (malformed)": 1, "assistant (malformed)": 1}},
		// Raw line feeds inside a text: the pieces are one record.
		{file: "claude-code/b05-line-feeds.jsonl", counts: trace.Counts{Turns: 2, Steps: 3, Calls: 3, Errors: 1}, records: 10},
		// U+2028, U+2029 and U+0085 end no line, a CR before the LF is none of the text.
		{file: "claude-code/b06-separators.jsonl", counts: trace.Counts{Turns: 1, Steps: 1}, records: 2},
		{file: "claude-code/b09-invalid-utf8.jsonl", counts: trace.Counts{Turns: 2, Steps: 3, Calls: 3, Errors: 1}, records: 10,
			damaged: []string{"5:2174 invalid UTF-8, replaced; the record is kept"}},
		{file: "claude-code/b10-future.jsonl", counts: trace.Counts{Turns: 2, Steps: 1}, records: 6, unknown: map[string]int{"zz-future": 3}},
		{file: "claude-code/b43-secrets.jsonl", counts: trace.Counts{Turns: 1, Steps: 2, Calls: 1}, records: 4},
		{file: "claude-code/b48-terminal.jsonl", counts: trace.Counts{Turns: 1, Steps: 1, Calls: 1}, records: 3},
		{file: "claude-code/zero-bytes.jsonl", counts: trace.Counts{Turns: 2, Steps: 2, Calls: 2, Errors: 1}, records: 8,
			damaged: []string{"3:783 zero bytes instead of a record"}},
		{file: "claude-code/side-chain.jsonl", counts: trace.Counts{Turns: 1, Steps: 4, Calls: 2}, records: 8},
		{file: "claude-code/project/5e0c1d2a-0002-4000-8000-00000000d35c.jsonl", counts: trace.Counts{Turns: 1, Steps: 4, Calls: 2}, records: 8},
		{file: "tau/tau-bench.json", counts: trace.Counts{Turns: 4, Steps: 5, Calls: 4, Errors: 1}, records: 4, sessions: 4},
		{file: "tau/tau-bench-one-broken.json", counts: trace.Counts{Turns: 4, Steps: 5, Calls: 4, Errors: 1}, records: 3, sessions: 4,
			damaged: []string{"1:1 the simulation is not JSON throughout; 6 messages of it are kept"}},
		{file: "tau/tau2.json", counts: trace.Counts{Turns: 2, Steps: 6, Calls: 2, Errors: 1}, records: 2, sessions: 2},
		{file: "tau/tau2-simulations-first.json", counts: trace.Counts{Turns: 2, Steps: 6, Calls: 2, Errors: 1}, records: 2, sessions: 2},
		{file: "native/desk.jsonl", counts: trace.Counts{Turns: 3, Steps: 3, Calls: 2, Errors: 1}, records: 10, sessions: 2, unknown: map[string]int{"remark": 1}},
	} {
		t.Run(c.file, func(t *testing.T) {
			got, sum, err := read(t, sessions(c.file), format.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if want := max(c.sessions, 1); sum.Sessions != want || len(got.sessions) != want {
				t.Errorf("%d sessions, want %d", sum.Sessions, want)
			}
			if n := (trace.Counts{Turns: sum.Turns, Steps: sum.Steps, Calls: sum.Calls, Errors: sum.Errors}); n != c.counts {
				t.Errorf("counts %+v, want %+v", n, c.counts)
			}
			if sum.Records != c.records {
				t.Errorf("%d records, want %d", sum.Records, c.records)
			}
			var damaged []string
			for _, d := range sum.Damaged {
				damaged = append(damaged, fmt.Sprintf("%d:%d %s", d.Line, d.Offset, d.Reason))
			}
			if fmt.Sprint(damaged) != fmt.Sprint(c.damaged) {
				t.Errorf("damage %q, want %q", damaged, c.damaged)
			}
			if fmt.Sprint(sum.Unknown) != fmt.Sprint(c.unknown) && len(sum.Unknown)+len(c.unknown) > 0 {
				t.Errorf("unknown %v, want %v", sum.Unknown, c.unknown)
			}
			_, strict, err := read(t, sessions(c.file), format.Options{Strict: true})
			if errors.Is(err, format.ErrDamaged) != (len(c.damaged) > 0) || strict.Sessions != sum.Sessions {
				t.Errorf("strict: %v", err)
			}
			again, _, err := read(t, sessions(c.file), format.Options{})
			if err != nil {
				t.Fatal(err)
			}
			for i, s := range got.sessions {
				if s.Digest == "" || s.Digest != again.sessions[i].Digest || s.ID != again.sessions[i].ID {
					t.Errorf("session %s: reading again gives another digest or id", s.ID)
				}
			}
		})
	}
}

// one reads a file with one session.
func one(t *testing.T, elem ...string) (trace.Session, []trace.Turn, format.Summary) {
	t.Helper()
	c, sum, err := read(t, sessions(elem...), format.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return c.sessions[0], c.turns[c.sessions[0].ID], sum
}

func span(t *testing.T, turn trace.Turn, id string) trace.Span {
	t.Helper()
	for _, s := range turn.Spans {
		if s.ID == id {
			return s
		}
	}
	t.Fatalf("turn %d has no span %s", turn.Index, id)
	return trace.Span{}
}

func TestClaudeCodeSession(t *testing.T) {
	s, turns, _ := one(t, "claude-code", "desk.jsonl")
	if s.ID != "5e0c1d2a-0001-4000-8000-00000000d35c" || s.Source != "claude-code" || s.Agent != "claude-code 2.1.12" ||
		s.Origin != trace.Recorded || s.Title != "Where is order A-17?" || s.Attrs["cwd"] != "/home/dev/desk" {
		t.Errorf("head %+v", s)
	}
	llm := span(t, turns[0], "msg_1")
	// One response over three lines: its usage counts once, the last line wins.
	if llm.Name != "model-a" || llm.Thought != "Look it up." || llm.Usage != (trace.Usage{Input: 125, Output: 12, Cached: 100}) {
		t.Errorf("response %+v", llm)
	}
	if u := turns[0].Usage; u.Output != 22 {
		t.Errorf("usage of the turn %+v", u)
	}
	a, b := span(t, turns[0], "toolu_A"), span(t, turns[0], "toolu_B")
	if a.Parent != "msg_1" || a.Input != `{"order_id":"A-17"}` || a.Output != "shipped on Monday" || a.Error != "" || a.Pending {
		t.Errorf("call %+v", a)
	}
	if b.Error != "Error: no order A-18" || b.End.Sub(b.Start).Seconds() != 2 {
		t.Errorf("failed call %+v", b)
	}
	if c := span(t, turns[1], "toolu_C"); !c.Pending || c.Error != "" || c.Output != "" {
		t.Errorf("unanswered call %+v", c)
	}
	if m := span(t, turns[1], "u10"); m.Kind != trace.CHAIN || m.Name != "meta" {
		t.Errorf("feedback of a hook %+v", m)
	}
	if turns[0].TraceID != s.ID+".0" || turns[1].Input != "Refund it, please." {
		t.Errorf("turns %+v", turns)
	}
}

func TestClaudeCodeDamageKeptInPlace(t *testing.T) {
	s, turns, _ := one(t, "claude-code", "b01-line-cut.jsonl")
	if s.Damaged != 1 {
		t.Errorf("%d damaged records in the head", s.Damaged)
	}
	found := false
	for _, sp := range turns[0].Spans {
		if sp.Name == "damaged" {
			found = sp.Kind == trace.CHAIN && strings.Contains(sp.Output, `"uuid":"u4"`) || strings.Contains(sp.Output, "parentUuid")
		}
	}
	if !found {
		t.Error("the damaged line is not shown where it stood")
	}
	_, turns, _ = one(t, "claude-code", "b05-line-feeds.jsonl")
	if got := span(t, turns[0], "toolu_A").Output; got != "shipped\non\n\nMonday {or so}" {
		t.Errorf("joined text %q", got)
	}
	_, turns, _ = one(t, "claude-code", "b06-separators.jsonl")
	if turns[0].Input != "one\u2028two\u2029three\u0085four" {
		t.Errorf("separators: %q", turns[0].Input)
	}
	_, turns, _ = one(t, "claude-code", "b09-invalid-utf8.jsonl")
	if got := span(t, turns[0], "toolu_A").Output; got != "shipped on Mon\uFFFDday" {
		t.Errorf("lossy text %q", got)
	}
	_, turns, _ = one(t, "claude-code", "b48-terminal.jsonl")
	if got := span(t, turns[0], "toolu_E").Output; !strings.HasPrefix(got, "\x1b]52;c;aGk=\x07") || !strings.HasSuffix(got, "over\rwrite") {
		t.Errorf("terminal sequences are data in the record: %q", got)
	}
}

// Unknown records are kept, masked and bounded, and change no turn.
func TestClaudeCodeUnknownKept(t *testing.T) {
	_, turns, sum := one(t, "claude-code", "b10-future.jsonl")
	n := 0
	for _, turn := range turns {
		for _, s := range turn.Spans {
			if s.Name == "zz-future" {
				n++
				if s.Kind != trace.CHAIN || strings.Contains(s.Output, "hunter2") {
					t.Errorf("unknown record %+v", s)
				}
			}
		}
	}
	if n != 3 || sum.Masked != 1 {
		t.Errorf("%d unknown records kept, %d masked", n, sum.Masked)
	}
}

// Secrets are gone from all that reaches the sink, identifiers are not touched,
// and one secret has one placeholder.
func TestSecretsMasked(t *testing.T) {
	c, sum, err := read(t, sessions("claude-code", "b43-secrets.jsonl"), format.Options{})
	if err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(map[string]any{"s": c.sessions, "t": c.turns})
	if err != nil {
		t.Fatal(err)
	}
	all := string(raw)
	for _, gone := range []string{"sk-ant", "pa55word", "r-1"} {
		if strings.Contains(all, gone) {
			t.Errorf("%q is left", gone)
		}
	}
	for _, kept := range []string{"toolu_01SV2pqw6MpP3RXkk9rYKYMu", "4bf92f3577b34da6a3ce929d0e0e4736", "0a1b2c3d-4e5f-4061-8071-2a3b4c5d6e7f", "12345678901234567890", "5e0c1d2a-0001-4000-8000-00000000d35c"} {
		if !strings.Contains(all, kept) {
			t.Errorf("%q is gone", kept)
		}
	}
	call := span(t, c.turns[c.sessions[0].ID][0], "toolu_01SV2pqw6MpP3RXkk9rYKYMu")
	var args struct {
		Key     string `json:"api_key"`
		Headers map[string]string
	}
	if err := json.Unmarshal([]byte(call.Input), &args); err != nil {
		t.Fatal(err)
	}
	if args.Key == "" || args.Headers["Authorization"] != "Bearer "+args.Key || !strings.Contains(c.turns[c.sessions[0].ID][0].Input, args.Key) {
		t.Errorf("placeholders differ: %s", call.Input)
	}
	// The title repeats the input: it is masked before it is cut.
	if sum.Masked < 5 {
		t.Errorf("masked %d", sum.Masked)
	}
	for _, name := range []string{"tau2.json", "tau2-simulations-first.json"} {
		c, _, err := read(t, sessions("tau", name), format.Options{})
		if err != nil {
			t.Fatal(err)
		}
		raw, _ := json.Marshal(map[string]any{"s": c.sessions, "t": c.turns})
		if strings.Contains(string(raw), "sk-live") || strings.Contains(string(raw), "llm_args") {
			t.Errorf("%s: llm_args are left", name)
		}
	}
}

// A sub-agent hangs under the call that launched it, recorded either way.
func TestClaudeCodeSubagents(t *testing.T) {
	for file, name := range map[string]string{
		"side-chain.jsonl": "sub-agent",
		"project/5e0c1d2a-0002-4000-8000-00000000d35c.jsonl": "counter",
	} {
		_, turns, _ := one(t, "claude-code", file)
		if len(turns) != 1 {
			t.Fatalf("%s: %d turns", file, len(turns))
		}
		a := span(t, turns[0], "agent-a1b2c3")
		if a.Kind != trace.AGENT || a.Name != name || a.Parent != "toolu_T" || a.Input != "Count them" || a.Output != "Three." || fmt.Sprint(a.Attrs["total_tokens"]) != "321" {
			t.Errorf("%s: agent %+v", file, a)
		}
		if llm := span(t, turns[0], "msg_s1"); llm.Parent != "agent-a1b2c3" {
			t.Errorf("%s: response %+v", file, llm)
		}
		if call := span(t, turns[0], "toolu_S"); call.Parent != "msg_s1" || call.Output != "3" {
			t.Errorf("%s: call %+v", file, call)
		}
		if llm := span(t, turns[0], "msg_2"); llm.Parent != "" {
			t.Errorf("%s: answer %+v", file, llm)
		}
	}
	files, err := format.Walk(sessions("claude-code", "project"))
	if err != nil || len(files) != 1 {
		t.Errorf("Walk: %v, %v; the sub-agent belongs to its session", files, err)
	}
	// By itself the log of a sub-agent is a session with its prompt as the input.
	s, turns, _ := one(t, "claude-code", "project", "5e0c1d2a-0002-4000-8000-00000000d35c", "subagents", "agent-a1b2c3.jsonl")
	if len(turns) != 1 || turns[0].Input != "Count them" || s.ID == "5e0c1d2a-0002-4000-8000-00000000d35c" {
		t.Errorf("sub-agent alone: %s, %+v", s.ID, turns)
	}
}

func TestTauSessions(t *testing.T) {
	c, _, err := read(t, sessions("tau", "tau-bench.json"), format.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s := c.sessions[0]
	turns := c.turns[s.ID]
	if s.System != "# Retail desk policy\nBe brief." || s.Attrs["index"] != 0 || s.Attrs["id"] != "task3-trial0" || s.Attrs["task_id"] != "3" || s.Attrs["tail"] != "Thanks!" || !strings.HasPrefix(s.ID, "tau-retail-t3-0-") {
		t.Errorf("head %+v", s)
	}
	if raw, _ := json.Marshal(c.sessions); strings.Contains(string(raw), "secret_answer") {
		t.Error("the expected actions reached the session")
	}
	// Two calls share an id: the first unanswered one takes the result.
	if a := span(t, turns[0], "call_1"); a.Error != "Error: missing required argument 'reason'" || a.Output != a.Error || a.Input != `{"order_id": "#W1"}` {
		t.Errorf("first call %+v", a)
	}
	if b := span(t, turns[0], "call_1#2"); b.Output != "ok" || b.Error != "" || b.Input != `{"order_id": broken` {
		t.Errorf("second call %+v", b)
	}
	var got []string
	for _, s := range c.sessions {
		got = append(got, s.Label)
	}
	if fmt.Sprint(got) != "[success failure success partial]" {
		t.Errorf("labels %v", got)
	}
	if p := span(t, c.turns[c.sessions[1].ID][0], "call_1"); !p.Pending {
		t.Errorf("unanswered call %+v", p)
	}
}

func TestTau2Sessions(t *testing.T) {
	for _, file := range []string{"tau2.json", "tau2-simulations-first.json"} {
		c, _, err := read(t, sessions("tau", file), format.Options{})
		if err != nil {
			t.Fatal(err)
		}
		s, turns := c.sessions[0], c.turns[c.sessions[0].ID]
		if s.System != "# Telecom policy" || s.Agent != "llm_agent model-b" || s.Label != "failure" || s.Attrs["id"] != "9a0e-1" || s.Attrs["db_match"] != false ||
			fmt.Sprint(s.Attrs["action_checks"]) != "[reset_apn: not done]" || len(s.Tools) != 1 || !strings.Contains(string(s.Tools[0].Schema), `"required"`) {
			t.Errorf("%s: head %+v", file, s)
		}
		if len(turns) != 2 || turns[0].Input != "No data on my phone." || turns[1].Input != "It is broken." || turns[0].Spans[0].Output != "Hello! How can I help?" {
			t.Fatalf("%s: turns %+v", file, turns)
		}
		if user := turns[0].Spans[2]; user.Kind != trace.AGENT || user.Name != "user" || user.Output != "I look." {
			t.Errorf("%s: the user's act %+v", file, user)
		}
		if look := span(t, turns[0], "c1"); look.Kind != trace.CHAIN || look.Output != "Error: broken" || look.Pending {
			t.Errorf("%s: the user's call %+v", file, look)
		}
		// The agent's call has the same id as the user's.
		if reset := span(t, turns[1], "c1#2"); reset.Kind != trace.TOOL || reset.Output != "boom" || reset.Error != "boom" || !strings.Contains(reset.Input, "12345678901234567890") {
			t.Errorf("%s: the agent's call %+v", file, reset)
		}
		if last := turns[1].Spans[len(turns[1].Spans)-1]; last.Output != "It failed." || last.Attrs["envelope"] != `{"confidence":0.2}` {
			t.Errorf("%s: answer %+v", file, last)
		}
		// Nobody spoke: one synthetic turn that begins with the ticket.
		solo := c.turns[c.sessions[1].ID]
		if len(solo) != 1 || !solo[0].Synthetic || solo[0].Input != "Line L2 has no data." || len(solo[0].Spans) != 3 {
			t.Errorf("%s: run without a user %+v", file, solo)
		}
	}
}
