package cli_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"
)

// handAgent is an agent that a person starts by hand: it knows of vise what its
// environment says, and that is nothing of vise. Its first argument is
//
//	ask TEXT...     each text is a turn of one conversation, with its tool calls
//	begin TEXT      asks once and is gone before it has done what the model wants
//	trace CONVERSATION INPUT ANSWER   tells of a turn over OpenTelemetry
func handAgent() {
	args := os.Args[2:]
	switch os.Args[1] {
	case "ask":
		var said []any
		for _, text := range args {
			said = handTurn(append(said, map[string]any{"role": "user", "content": text}), false)
		}
	case "begin":
		handTurn([]any{map[string]any{"role": "user", "content": args[0]}}, true)
	case "trace":
		handTrace(args[0], args[1], args[2])
	}
}

// handTurn asks the model until it answers, and prints the answer.
func handTurn(said []any, once bool) []any {
	for {
		var out struct {
			Choices []struct{ Message map[string]any }
			Error   struct{ Message string }
		}
		raw := handPost(os.Getenv("OPENAI_BASE_URL")+"/chat/completions", "Bearer "+os.Getenv("OPENAI_API_KEY"), map[string]any{"model": "toy", "messages": said})
		if err := json.Unmarshal(raw, &out); err != nil || len(out.Choices) == 0 {
			fmt.Fprintf(os.Stderr, "the model said %s\n", raw)
			os.Exit(1)
		}
		m := out.Choices[0].Message
		said = append(said, m)
		calls, _ := m["tool_calls"].([]any)
		if len(calls) == 0 {
			fmt.Println(m["content"])
			return said
		}
		if once {
			return said
		}
		for _, c := range calls {
			call := c.(map[string]any)
			result := `{"status":"ok"}`
			if f := call["function"].(map[string]any); f["name"] == "issue_refund" && !strings.Contains(f["arguments"].(string), "reason_code") {
				result = `{"error":"missing required argument 'reason_code'"}`
			}
			said = append(said, map[string]any{"role": "tool", "tool_call_id": call["id"], "content": result})
		}
	}
}

// handTrace sends one trace with one model call, as the GenAI conventions have it.
func handTrace(conversation, input, answer string) {
	text := func(key, value string) map[string]any {
		return map[string]any{"key": key, "value": map[string]any{"stringValue": value}}
	}
	messages := func(role, said string) string {
		raw, _ := json.Marshal([]any{map[string]any{"role": role, "parts": []any{map[string]any{"type": "text", "content": said}}}})
		return string(raw)
	}
	now := time.Now().UnixNano()
	span := map[string]any{"traceId": fmt.Sprintf("%032x", now), "spanId": fmt.Sprintf("%016x", now), "name": "chat toy", "kind": 3,
		"startTimeUnixNano": fmt.Sprint(now), "endTimeUnixNano": fmt.Sprint(now + 1e6),
		"attributes": []any{text("gen_ai.operation.name", "chat"), text("gen_ai.request.model", "toy"), text("gen_ai.conversation.id", conversation),
			text("gen_ai.input.messages", messages("user", input)), text("gen_ai.output.messages", messages("assistant", answer))}}
	_, value, _ := strings.Cut(os.Getenv("OTEL_EXPORTER_OTLP_HEADERS"), "=")
	token, err := url.PathUnescape(value)
	if err != nil {
		panic(err)
	}
	handPost(os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT")+"/v1/traces", token, map[string]any{"resourceSpans": []any{map[string]any{
		"resource":   map[string]any{"attributes": []any{text("service.name", "clerk")}},
		"scopeSpans": []any{map[string]any{"spans": []any{span}}}}}})
}

func handPost(to, authorization string, body any) []byte {
	raw, err := json.Marshal(body)
	if err != nil {
		panic(err)
	}
	r, err := http.NewRequest(http.MethodPost, to, bytes.NewReader(raw))
	if err != nil {
		panic(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", authorization)
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		panic(err)
	}
	defer resp.Body.Close()
	out, err := io.ReadAll(resp.Body)
	if err != nil {
		panic(err)
	}
	return out
}
