package llmproxy

import (
	"net/http"
	"reflect"
	"testing"

	"vise/engine/model/cassette"
)

// TestReadQuestion: where in its conversation a model call stands.
func TestReadQuestion(t *testing.T) {
	sums := func(texts ...string) (out []Sum) {
		for _, x := range texts {
			out = append(out, sum(x))
		}
		return out
	}
	const ask = `{"role":"assistant","tool_calls":[{"id":"c1","function":{"name":"f","arguments":"{}"}}]}`
	for _, c := range []struct {
		name, path, body string
		want             Question
	}{
		{"the first word", "/chat/completions", `{"model":"m","messages":[{"role":"system","content":"be kind"},{"role":"user","content":"hi"}]}`,
			Question{Model: "m", System: "be kind", Users: sums("hi"), Input: "hi", Fresh: true}},
		{"with a result", "/chat/completions", `{"messages":[{"role":"user","content":"hi"},` + ask + `,{"role":"tool","tool_call_id":"c1","content":"x"}]}`,
			Question{Users: sums("hi"), Input: "hi", Result: "c1"}},
		{"the second turn", "/v1/chat/completions", `{"messages":[{"role":"user","content":"hi"},` + ask + `,{"role":"tool","tool_call_id":"c1","content":"x"},{"role":"assistant","content":" done "},{"role":"user","content":[{"type":"text","text":"more"}]}]}`,
			Question{Users: sums("hi", "more"), Said: sum("done"), Input: "more", Fresh: true, Result: "c1"}},
		{"two words at once", "/chat/completions", `{"messages":[{"role":"user","content":"look:"},{"role":"user","content":"a file"}]}`,
			Question{Users: sums("look:", "a file"), Input: "look:\n\na file", Fresh: true}},
		{"a reminder between steps is nobody's word", "/chat/completions", `{"messages":[{"role":"user","content":"hi"},` + ask + `,{"role":"tool","tool_call_id":"c1","content":"x"},{"role":"user","content":"remember the plan"}]}`,
			Question{Users: sums("hi"), Input: "hi", Result: "c1"}},
		{"responses: a text", "/responses", `{"model":"m","instructions":"be kind","input":"hi"}`,
			Question{Model: "m", System: "be kind", Users: sums("hi"), Input: "hi", Fresh: true}},
		{"responses: items", "/responses", `{"input":[{"role":"user","content":[{"type":"input_text","text":"hi"}]},{"type":"reasoning","summary":[]},{"type":"function_call","call_id":"c1","name":"f","arguments":"{}"},{"type":"function_call_output","call_id":"c1","output":"x"}]}`,
			Question{Users: sums("hi"), Input: "hi", Result: "c1"}},
		{"responses: what is new alone", "/responses", `{"previous_response_id":"r1","input":[{"type":"function_call_output","call_id":"c1","output":"x"}]}`,
			Question{Previous: "r1", Result: "c1"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, ok := ReadQuestion(http.Header{}, c.path, []byte(c.body))
			if !ok || !reflect.DeepEqual(got, c.want) {
				t.Errorf("read %+v, %v; want %+v", got, ok, c.want)
			}
		})
	}
	h := http.Header{}
	h.Set(Header, " desk-7 ")
	h.Set("Traceparent", "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01")
	h.Set("User-Agent", "OpenAI/Python 2.1")
	got, _ := ReadQuestion(h, "/chat/completions", []byte(`{"tools":[{"type":"function","function":{"name":"f"}}]}`))
	if got.Session != "desk-7" || got.TraceID != "4bf92f3577b34da6a3ce929d0e0e4736" || got.Client != "OpenAI/Python 2.1" || len(got.Tools) != 1 || got.Tools[0].Name != "f" {
		t.Errorf("headers and tools: %+v", got)
	}
	for _, bad := range []string{"/models", "/embeddings"} {
		if _, ok := ReadQuestion(h, bad, []byte(`{"model":"m"}`)); ok {
			t.Errorf("%s asks a model", bad)
		}
	}
	if _, ok := ReadQuestion(h, "/chat/completions", []byte(`not json`)); ok {
		t.Error("no JSON is a question")
	}
}

// TestReadReply: an answer that asks for calls is none yet.
func TestReadReply(t *testing.T) {
	at := func(path, body string, status int) Reply {
		return ReadReply(cassette.Exchange{Path: path, Status: status, Header: map[string]string{"Content-Type": "application/json"}, Body: []byte(body)})
	}
	got := at("/chat/completions", `{"choices":[{"message":{"role":"assistant","content":"done"},"finish_reason":"stop"}]}`, 200)
	if got.Said != sum("done") || got.Calls != nil || got.Broken {
		t.Errorf("an answer: %+v", got)
	}
	got = at("/responses", `{"id":"r1","status":"completed","output":[{"type":"function_call","call_id":"c1","name":"f","arguments":"{}"}]}`, 200)
	if got.ID != "r1" || !reflect.DeepEqual(got.Calls, []string{"c1"}) {
		t.Errorf("a call: %+v", got)
	}
	if got = at("/chat/completions", `{"error":{"message":"slow down"}}`, 429); !got.Broken {
		t.Errorf("a refusal: %+v", got)
	}
}

// FuzzReadQuestion: whatever an agent sends is read without harm.
func FuzzReadQuestion(f *testing.F) {
	f.Add("/chat/completions", `{"messages":[{"role":"user","content":"hi"},{"role":"assistant","tool_calls":[{"id":"c"}]},{"role":"tool","tool_call_id":"c","content":[{"text":"x"}]}]}`)
	f.Add("/responses", `{"input":[{"role":"user","content":"hi"},{"type":"function_call_output","call_id":"c","output":{}}],"previous_response_id":"r"}`)
	f.Fuzz(func(t *testing.T, path, body string) {
		q, ok := ReadQuestion(http.Header{}, path, []byte(body))
		if ok && q.Fresh && len(q.Users) == 0 {
			t.Errorf("%q: %+v", body, q)
		}
	})
}
