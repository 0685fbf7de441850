package format_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"vise/engine/trace"
	"vise/replay/format"
)

// Beside a session only plain files are read: a pipe would wait for its writer for
// ever, and a link may lead anywhere.
func TestSubagentFilesArePlain(t *testing.T) {
	path := written(t, "s.jsonl", `{"type":"user","sessionId":"s","message":{"content":"hi"}}`+"\n")
	dir := filepath.Join(filepath.Dir(path), "s", "subagents")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	private := written(t, "private.jsonl", `{"type":"user","sessionId":"p","message":{"content":"private words"}}`+"\n")
	if err := os.Symlink(private, filepath.Join(dir, "agent-link.jsonl")); err != nil {
		t.Skip(err)
	}
	for _, name := range []string{"agent-pipe.jsonl", "agent-good.meta.json"} {
		if err := exec.Command("mkfifo", filepath.Join(dir, name)).Run(); err != nil {
			t.Skip(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "agent-good.jsonl"), []byte(`{"type":"user","sessionId":"s","isSidechain":true,"message":{"content":"work"}}`+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	type result struct {
		c   *collector
		sum format.Summary
		err error
	}
	done := make(chan result, 1)
	go func() {
		c, sum, err := read(t, path, format.Options{})
		done <- result{c, sum, err}
	}()
	select {
	case r := <-done:
		if r.err != nil || len(r.c.turns) != 1 || len(r.c.turns[r.c.sessions[0].ID]) != 1 {
			t.Fatalf("%+v, %v", r.sum, r.err)
		}
		var asked []string
		for _, s := range r.c.turns[r.c.sessions[0].ID][0].Spans {
			if s.Kind == trace.AGENT {
				asked = append(asked, s.Input)
			}
		}
		slices.Sort(asked)
		if notes := strings.Join(r.sum.Notes, "\n"); !slices.Equal(asked, []string{"", "", "work"}) || strings.Count(notes, "not a plain file") != 2 {
			t.Errorf("sub-agents asked %q, notes %s", asked, notes)
		}
	case <-time.After(time.Minute):
		t.Fatal("a pipe holds the reading up")
	}
}

// An end that comes while a sub-agent's file is read ends the reading of the session.
func TestSubagentFileEnds(t *testing.T) {
	for name, session := range map[string]string{
		"orphan": `{"type":"user","sessionId":"s","message":{"content":"hi"}}` + "\n",
		"launched": `{"type":"user","sessionId":"s","message":{"content":"hi"}}` + "\n" +
			`{"type":"assistant","message":{"id":"m","content":[{"type":"tool_use","id":"t","name":"Task","input":{}}]}}` + "\n" +
			`{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t","content":"ok"}]},"toolUseResult":{"agentId":"a"}}` + "\n",
	} {
		path := written(t, name+".jsonl", session)
		dir := filepath.Join(filepath.Dir(path), name, "subagents")
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "agent-a.jsonl"), []byte(strings.Repeat(`{"type":"user","isSidechain":true,"message":{"content":"work"}}`+"\n", 3)), 0o600); err != nil {
			t.Fatal(err)
		}
		want := errors.New("stopped")
		ctx := &ending{Context: context.Background(), after: strings.Count(session, "\n") + 3, err: want}
		if _, err := format.Read(ctx, path, format.Options{}, newCollector(t)); !errors.Is(err, want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// ending is a context that ends for good when it has been asked a number of times, and
// is asked about no more.
type ending struct {
	context.Context
	after, asked int
	err          error
}

func (e *ending) Err() error {
	if e.asked++; e.asked == e.after {
		return e.err
	}
	return nil
}

// The stream and the list of a managed agent tell each event twice, and an echo may be
// missing: no message is a turn more than once.
func TestManagedEchoes(t *testing.T) {
	send := func(text string) string {
		return fmt.Sprintf(`["beta.sessions.events.send",["s",{"events":[{"type":"user.message","content":[{"type":"text","text":%q}]}]}]]`, text)
	}
	event := func(method, id, kind, text string) string {
		return fmt.Sprintf(`["beta.sessions.events.%s",{"id":%q,"type":%q,"content":[{"type":"text","text":%q}]}]`, method, id, kind, text)
	}
	lines := []string{
		`["beta.sessions.create",{"id":"s","agent":{"name":"a","model":{"id":"m"}}}]`,
		send("one"), send("two"), event("stream", "e2", "user.message", "two"), event("stream", "e3", "agent.message", "answer"),
		send("three"), event("stream", "e4", "user.message", "three"), event("stream", "e5", "agent.message", "more"),
		event("list", "e2", "user.message", "two"), event("list", "e3", "agent.message", "answer"), event("list", "e4", "user.message", "three"), event("list", "e5", "agent.message", "more"),
		send("three"), event("stream", "e6", "user.message", "three"), event("stream", "e7", "agent.message", "again"),
	}
	c, sum, err := read(t, written(t, "log.jsonl", strings.Join(lines, "\n")+"\n"), format.Options{Format: "anthropic-agents"})
	if err != nil || len(c.turns) != 1 {
		t.Fatalf("%+v, %v", sum, err)
	}
	var told []string
	for _, turn := range c.turns[c.sessions[0].ID] {
		told = append(told, turn.Input)
		for _, s := range turn.Spans {
			told = append(told, s.Output)
		}
	}
	if want := []string{"one", "two", "answer", "three", "more", "three", "again"}; !slices.Equal(told, want) || !strings.Contains(strings.Join(sum.Notes, " "), "4 repeats") {
		t.Errorf("%q, want %q; notes %q", told, want, sum.Notes)
	}
}

// Calls that the provider answers itself end when their status says so, with what they
// gave back.
func TestHostedCalls(t *testing.T) {
	for item, want := range map[string]string{
		`{"type":"mcp_call","id":"i","name":"x","status":"failed","error":"401 from the server"}`:                                                                     `x  "" error "401 from the server"`,
		`{"type":"mcp_call","id":"i","name":"x","status":"completed","error":null,"output":"fine"}`:                                                                   `x  "fine" error ""`,
		`{"type":"web_search_call","id":"i","status":"searching","action":{"query":"q"}}`:                                                                             `web_search {"query":"q"} pending`,
		`{"type":"code_interpreter_call","id":"i","status":"interpreting","code":"1+1"}`:                                                                              `code_interpreter 1+1 pending`,
		`{"type":"code_interpreter_call","id":"i","status":"completed","code":"1+1","outputs":[{"type":"logs","logs":"2"},{"type":"image","url":"https://h/a.png"}]}`: `code_interpreter 1+1 "2\n[image https://h/a.png]" error ""`,
		`{"type":"file_search_call","id":"i","status":"completed","queries":["a"],"results":[{"filename":"f"}]}`:                                                      `file_search ["a"] "[{\"filename\":\"f\"}]" error ""`,
		`{"type":"image_generation_call","id":"i","status":"generating"}`:                                                                                             `image_generation  pending`,
	} {
		c, sum, err := read(t, written(t, "log.jsonl", `{"type":"session_meta","payload":{"id":"s"}}`+"\n"+`{"type":"response_item","payload":`+item+"}\n"), format.Options{})
		if err != nil || len(c.turns) != 1 {
			t.Fatalf("%+v, %v", sum, err)
		}
		got := ""
		for _, s := range c.turns[c.sessions[0].ID][0].Spans {
			if s.Kind != trace.TOOL {
				continue
			}
			if got = s.Name + " " + s.Input + " "; s.Pending {
				got += "pending"
			} else {
				got += fmt.Sprintf("%q error %q", s.Output, s.Error)
			}
		}
		if got != want {
			t.Errorf("%s\n got %s\nwant %s", item, got, want)
		}
	}
}

// What is damaged behind the simulations counts, also when these stand before the
// description of the run.
func TestTau2CutBehindSimulations(t *testing.T) {
	const simulations = `"simulations":[{"id":"i","task_id":"t","messages":[{"role":"user","content":"hi"},{"role":"assistant","content":"x"}]}]`
	for _, file := range []string{`{"info":{},` + simulations + `,"tasks":[{"id":"1"`, `{` + simulations + `,"info":{},"tasks":[{"id":"1"`} {
		c, sum, err := read(t, written(t, "r.json", file), format.Options{Format: "tau2"})
		if err != nil || len(c.sessions) != 1 || sum.DamagedTotal != 1 {
			t.Errorf("%s: %d sessions, %d damages, %v", file, len(c.sessions), sum.DamagedTotal, err)
		}
	}
}

// A Gemini session without a word of the user does not wait for one: a message that is
// written again while it is held replaces the first writing.
func TestGeminiHeldMessages(t *testing.T) {
	var b strings.Builder
	b.WriteString(`{"sessionId":"s","projectHash":"p"}` + "\n")
	for i := range 20_000 {
		fmt.Fprintf(&b, `{"id":"m%d","type":"gemini","content":"draft"}`+"\n", i)
		fmt.Fprintf(&b, `{"id":"m%d","type":"gemini","content":"final"}`+"\n", i)
	}
	c, sum, err := read(t, written(t, "s.jsonl", b.String()), format.Options{})
	if err != nil || sum.Steps != 20_000 {
		t.Fatalf("%+v, %v", sum, err)
	}
	for _, s := range c.turns[c.sessions[0].ID][0].Spans {
		if s.Output != "final" {
			t.Fatalf("%s says %q", s.ID, s.Output)
		}
	}
}
