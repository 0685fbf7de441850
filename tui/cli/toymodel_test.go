package cli_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strings"
)

// toyModel is a stand-in for a model behind the OpenAI wire protocol that works at a
// refund desk: it forgets an argument of issue_refund unless a system message names
// it, repeats the failed call unchanged, and gives up. It writes its address into
// the file that is its only argument.
func toyModel() { standIn(toyAnswers) }

func toyAnswers(w http.ResponseWriter, r *http.Request) {
	var q struct {
		Messages []struct{ Role, Content string } `json:"messages"`
	}
	if err := json.NewDecoder(r.Body).Decode(&q); err != nil || len(q.Messages) == 0 || r.Header.Get("Authorization") != "Bearer toy-key" {
		http.Error(w, `{"error":{"message":"wrong key"}}`, http.StatusUnauthorized)
		return
	}
	var asked string
	var results []string
	for _, m := range q.Messages {
		switch m.Role {
		case "user":
			asked, results = m.Content, nil
		case "tool":
			results = append(results, m.Content)
		}
	}
	text, call := toyTurn(q.Messages[0].Content, asked, results)
	message := map[string]any{"role": "assistant", "content": text}
	finish := "stop"
	if call != "" {
		finish = "tool_calls"
		name, args, _ := strings.Cut(call, " ")
		message["tool_calls"] = []any{map[string]any{"id": fmt.Sprintf("call_%d_%d", len(q.Messages), len(results)), "type": "function",
			"function": map[string]any{"name": name, "arguments": args}}}
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{"id": "x", "object": "chat.completion", "model": "toy-1",
		"choices": []any{map[string]any{"index": 0, "message": message, "finish_reason": finish}},
		"usage":   map[string]any{"prompt_tokens": 100 + 10*len(q.Messages), "completion_tokens": 20}})
}

var toyOrder = regexp.MustCompile(`A-\d+`)

func toyTurn(system, asked string, results []string) (text, call string) {
	order := toyOrder.FindString(asked)
	if !regexp.MustCompile(`refund|money|pay back`).MatchString(asked) {
		if len(results) == 0 {
			return "", fmt.Sprintf(`look_up_order {"order_id":%q}`, order)
		}
		return "Order " + order + " was delivered.", ""
	}
	switch {
	case len(results) > 0 && !strings.Contains(results[len(results)-1], "error"):
		return "The refund for " + order + " has been issued.", ""
	case len(results) > 1:
		return "I am sorry, the refund for " + order + " did not work.", ""
	case strings.Contains(system, "reason_code"):
		return "", fmt.Sprintf(`issue_refund {"order_id":%q,"reason_code":"damaged"}`, order)
	}
	return "", fmt.Sprintf(`issue_refund {"order_id":%q}`, order)
}
