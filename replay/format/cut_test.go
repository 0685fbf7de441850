package format_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"vise/replay/format"
)

// A secret is masked before the text around it is cut, wherever a text is shortened: no
// part of it is left, neither in a session nor in the summary.
func TestSecretNeverCut(t *testing.T) {
	const key = "ghp_" + "q7Zk2Lw9Xc4Vb8Nm1Rt6Yp3Hs5Jd0FgQa7Ue"
	for name, c := range map[string]struct {
		bound int    // where the text is cut
		file  string // %s is the text
	}{
		"chat image":     {200, `[{"role":"user","content":[{"type":"image_url","image_url":{"url":"https://host/%s"}}]},{"role":"assistant","content":"ok"}]`},
		"chat path":      {200, `[{"role":"user","content":[{"type":"image","source":{"path":"/%s"}}]},{"role":"assistant","content":"ok"}]`},
		"chat tool":      {200, `[{"role":"user","content":"hi"},{"role":"assistant","tool_calls":[{"id":"c","function":{"name":"%s","arguments":"{}"}}]}]`},
		"claude image":   {200, `{"type":"user","sessionId":"s","message":{"content":[{"type":"image","source":{"type":"url","url":"https://host/%s"}}]}}`},
		"claude agent":   {200, `{"type":"user","sessionId":"s","message":{"content":"hi"}}` + "\n" + `{"type":"assistant","isSidechain":true,"agentId":"%s","message":{"content":"x"}}`},
		"claude stop":    {80, `{"type":"user","sessionId":"s","message":{"content":"hi"}}` + "\n" + `{"type":"assistant","message":{"content":"x","stop_reason":"%s"}}`},
		"claude unknown": {80, `{"type":"user","sessionId":"s","message":{"content":"hi"}}` + "\n" + `{"type":"%s"}`},
		"gemini project": {200, `{"sessionId":"s","projectHash":"%s","messages":[{"type":"user","content":"hi"},{"type":"gemini","content":"x"}]}`},
		"codex model":    {200, `{"type":"session_meta","payload":{"id":"s"}}` + "\n" + `{"type":"turn_context","payload":{"model":"%s"}}` + "\n" + `{"type":"event_msg","payload":{"type":"user_message","message":"hi"}}`},
		"tau model":      {200, `{"info":{"user_info":{"llm":"%s"}},"simulations":[{"id":"i","task_id":"t","messages":[{"role":"user","content":"hi"},{"role":"assistant","content":"x"}]}]}`},
		"tau task":       {60, `{"info":{},"simulations":[{"id":"i","task_id":"%s","messages":[{"role":"user","content":"hi"},{"role":"assistant","content":"x"}]}]}`},
		"otlp scope":     {200, `{"resourceSpans":[{"scopeSpans":[{"scope":{"name":"%s"},"spans":[{"traceId":"01","spanId":"02","name":"x","attributes":[{"key":"gen_ai.operation.name","value":{"stringValue":"chat"}}]}]}]}]}`},
	} {
		t.Run(name, func(t *testing.T) {
			for _, before := range []int{0, 10, 14, 18, 24, 28, len(key) - 1} {
				pad := strings.Repeat("p/", c.bound)[:max(c.bound-before-1, 0)] + " "
				if strings.Contains(name, "image") || strings.Contains(name, "path") {
					pad = pad[:len(pad)-1] + "="
				}
				c, sum, err := read(t, written(t, "log.jsonl", fmt.Sprintf(c.file, pad+key+strings.Repeat(" tail", 20))+"\n"), format.Options{})
				if err != nil || len(c.sessions) != 1 {
					t.Fatalf("%d sessions, %v", len(c.sessions), err)
				}
				all, err := json.Marshal(map[string]any{"heads": c.sessions, "turns": c.turns, "summary": sum})
				if err != nil {
					t.Fatal(err)
				}
				if strings.Contains(string(all), key[4:9]) {
					t.Errorf("%d characters before the bound, a part of the key is kept: %s", before, all)
				}
			}
		})
	}
}
