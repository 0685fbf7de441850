package acp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"vise/engine/process"
	"vise/engine/trace"
	"vise/replay/driver"
	"vise/replay/driver/acp"
)

// A real agent, opencode, over the real protocol: `.ci/run full` installs it and
// runs this test where there is no network but the loopback. Its model is a
// scripted server that searches the rules once and then answers. It does the same
// in a sandbox that holds its files and its network.
func TestRealOpencode(t *testing.T) {
	bin := os.Getenv("VISE_OPENCODE")
	if bin == "" {
		t.Skip("VISE_OPENCODE is not set; .ci/run full installs opencode and sets it")
	}
	t.Run("plain", func(t *testing.T) { talkToOpencode(t, bin, false) })
	t.Run("sandbox", func(t *testing.T) { talkToOpencode(t, bin, true) })
}

func talkToOpencode(t *testing.T, bin string, confined bool) {
	var mu sync.Mutex
	var asked int
	model := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var q struct {
			Tools    []struct{ Function struct{ Name string } }
			Messages []struct{ Role string }
		}
		_ = json.NewDecoder(r.Body).Decode(&q)
		mu.Lock()
		asked++
		mu.Unlock()
		search := ""
		for _, tool := range q.Tools {
			if strings.HasSuffix(tool.Function.Name, "harness_rules_search") {
				search = tool.Function.Name
			}
		}
		w.Header().Set("Content-Type", "text/event-stream")
		chunk := func(delta, finish, usage string) {
			fmt.Fprintf(w, `data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":%s,"finish_reason":%s}]%s}`+"\n\n", delta, finish, usage)
		}
		if n := len(q.Messages); search != "" && n > 0 && q.Messages[n-1].Role != "tool" {
			chunk(fmt.Sprintf(`{"role":"assistant","tool_calls":[{"index":0,"id":"call_1","type":"function","function":{"name":%q,"arguments":"{\"query\":\"refund\"}"}}]}`, search), "null", "")
			chunk(`{}`, `"tool_calls"`, `,"usage":{"prompt_tokens":50,"completion_tokens":5,"total_tokens":55}`)
		} else {
			chunk(`{"role":"assistant","content":"I will confirm "}`, "null", "")
			chunk(`{"content":"the refund."}`, `"stop"`, `,"usage":{"prompt_tokens":60,"completion_tokens":8,"total_tokens":68}`)
		}
		fmt.Fprint(w, "data: [DONE]\n\n")
	}))
	t.Cleanup(model.Close)

	home := t.TempDir()
	config := filepath.Join(home, "opencode.json")
	if err := os.WriteFile(config, fmt.Appendf(nil, `{"provider":{"mock":{"npm":"@ai-sdk/openai-compatible","name":"Mock","options":{"baseURL":%q,"apiKey":"none"},"models":{"m":{"name":"m","tool_call":true}}}},"model":"mock/m","small_model":"mock/m","autoupdate":false,"share":"disabled"}`, model.URL+"/v1"), 0o600); err != nil {
		t.Fatal(err)
	}
	server, set := serveRules(t, "Confirm the refund with the customer before issuing it.")
	var log bytes.Buffer
	dir := t.TempDir()
	var box *process.Sandbox
	if confined {
		box = &process.Sandbox{Write: []string{dir, home}, Home: os.Getenv("HOME"), Network: process.Network{
			Services: []string{strings.TrimPrefix(model.URL, "http://"), strings.Split(strings.TrimPrefix(server.URL, "http://"), "/")[0]}}}
	}
	cfg := driver.Config{
		Command: []string{bin, "acp"}, Dir: dir, Sandbox: box, SessionID: "s1", MCP: []driver.MCPServer{server}, Log: &log, StartTimeout: 60 * time.Second,
		Env: driver.Environ(nil, map[string]string{"HOME": home, "TMPDIR": home, "OPENCODE_CONFIG": config, "OPENCODE_DISABLE_AUTOUPDATE": "1",
			"OPENCODE_DISABLE_MODELS_FETCH": "1", "OPENCODE_DISABLE_LSP_DOWNLOAD": "1", "OPENCODE_DISABLE_DEFAULT_PLUGINS": "1"}, os.Environ()),
	}
	agent, err := acp.Start(t.Context(), cfg)
	if err != nil {
		t.Fatalf("%v\n%s", err, log.String())
	}
	defer func() { t.Logf("%+v", agent.Close(context.Background())) }()
	info := agent.Info()
	t.Log(info.Held.Detail())
	if info.Agent == "" || info.Protocol != 1 {
		t.Errorf("the agent says %+v", info)
	}
	for turn, input := range []string{"Refund order 1017.", "Did you do it?"} {
		got, err := agent.Prompt(t.Context(), turn, input)
		if err != nil {
			t.Fatalf("turn %d: %v\n%s", turn, err, log.String())
		}
		said := strings.Join(lines(got), "\n")
		if !strings.Contains(said, "LLM I will confirm the refund.") {
			t.Errorf("turn %d: %s", turn, said)
		}
		searched := slices.ContainsFunc(got.Spans, func(s trace.Span) bool {
			return s.Kind == trace.TOOL && strings.HasSuffix(s.Name, "harness_rules_search") && strings.Contains(s.Input, "refund") && s.Error == ""
		})
		if !searched {
			t.Errorf("turn %d has no search of the rules: %s", turn, said)
		}
	}
	if len(set.Surfaced()) == 0 {
		t.Error("the rule server saw no read")
	}
	t.Logf("%s %s, %d model calls, loads %v, mode %q, capabilities %s", info.Agent, info.Version, asked, info.Loads, info.Mode, info.Capabilities)
	if !info.Loads {
		return
	}
	// Another process goes on with the session, in another mode; what it tells of the past
	// is no part of the next turn.
	agent.Close(context.Background())
	cfg.Load, cfg.Mode = info.AgentSession, "plan"
	again, err := acp.Start(t.Context(), cfg)
	if err != nil {
		t.Fatalf("load: %v\n%s", err, log.String())
	}
	defer again.Close(context.Background())
	got, err := again.Prompt(t.Context(), 2, "And now?")
	if err != nil || again.Info().Mode != "plan" || again.Info().AgentSession != info.AgentSession {
		t.Errorf("after loading: %v, %+v", err, again.Info())
	}
	if said := strings.Join(lines(got), "\n"); strings.Count(said, "LLM I will confirm the refund.") != 1 {
		t.Errorf("the turn after loading: %s", said)
	}
}
