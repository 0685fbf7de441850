package llmproxy

import (
	"crypto/sha256"
	"encoding/json"
	"net/http"
	"strings"

	"vise/engine/model/cassette"
	"vise/engine/trace"
	"vise/replay/format/chat"
)

// Header is the request header by which an agent may name the conversation that a model
// call belongs to; it goes no further than to us.
const Header = "X-Vise-Session"

// Sum is the digest of a text: conversations are recognised without keeping what was said.
type Sum [16]byte

func sum(text string) Sum {
	all := sha256.Sum256([]byte(strings.TrimSpace(text)))
	return Sum(all[:])
}

// Question is what a model call tells of the conversation that it belongs to.
type Question struct {
	// Session is the conversation's name, if the agent told one (Header); TraceID that of
	// the W3C header traceparent, if its client sent one.
	Session string
	TraceID string
	Client  string // the program that asks, as it calls itself (User-Agent)
	// Conn is the connection that it asks on: two of one connection are of one program.
	Conn   string
	Model  string
	System string
	Tools  []trace.Tool
	// Users are what the user has said so far, in order; Said is what the model had
	// answered before the last of it, a zero Sum when it had not been asked before.
	Users []Sum
	Said  Sum
	// Input is what the user said last. Fresh: it waits for a first answer; else the model
	// is asked again within the turn, with results of its calls.
	Input string
	Fresh bool
	// Result is the id of the call whose result came last, "" for none.
	Result string
	// Previous is the id of the answer that the question goes on with (Responses API);
	// Users hold then only what is new.
	Previous string
}

// spoken is one message of a question, of either API.
type spoken struct {
	role  string // user | assistant | call | result | system
	text  string
	id    string // of the call that a result belongs to
	calls bool
}

// ReadQuestion takes a request apart; false for one that asks no model, such as for a list
// of models. path is the request's, below the base of the API.
func ReadQuestion(h http.Header, path string, body []byte) (q Question, ok bool) {
	var b struct {
		Model        string            `json:"model"`
		Messages     []json.RawMessage `json:"messages"`
		Input        json.RawMessage   `json:"input"`
		Instructions string            `json:"instructions"`
		Previous     string            `json:"previous_response_id"`
		Tools        json.RawMessage   `json:"tools"`
	}
	responses := isResponses(path)
	if !responses && !strings.HasSuffix(path, "/chat/completions") || json.Unmarshal(body, &b) != nil {
		return q, false
	}
	q = Question{Session: strings.TrimSpace(h.Get(Header)), TraceID: traceOf(h.Get("Traceparent")), Client: h.Get("User-Agent"),
		Model: b.Model, System: b.Instructions, Tools: chat.Tools(b.Tools), Previous: b.Previous}
	list := b.Messages
	if responses && json.Unmarshal(b.Input, &list) != nil {
		var text string
		_ = json.Unmarshal(b.Input, &text)
		q.hear([]spoken{{role: "user", text: text}})
		return q, true
	}
	said := make([]spoken, len(list))
	for i, raw := range list {
		said[i] = speak(raw)
	}
	q.hear(said)
	return q, true
}

// speak reads a message of the chat API, or an item of the Responses API.
func speak(raw json.RawMessage) spoken {
	var m struct {
		item
		Calls []json.RawMessage `json:"tool_calls"`
		ID    string            `json:"tool_call_id"`
	}
	_ = json.Unmarshal(raw, &m) // what is no message says nothing
	switch {
	case m.Type == "function_call" || m.Type == "reasoning":
		return spoken{role: "call", calls: true}
	case m.Type == "function_call_output" || m.Role == "tool" || m.Role == "function":
		return spoken{role: "result", id: m.ID + m.CallID}
	case m.Role == "system" || m.Role == "developer":
		return spoken{role: "system", text: textOf(m.Content)}
	}
	return spoken{role: m.Role, text: textOf(m.Content), calls: len(m.Calls) > 0}
}

// hear finds out where in its conversation a list of messages stands.
func (q *Question) hear(list []spoken) {
	var system []string
	if q.System != "" {
		system = append(system, q.System)
	}
	answer, last := Sum{}, "" // the last whole answer, and who spoke last but the system
	called := false
	var input []string
	for _, m := range list {
		switch m.role {
		case "system":
			system = append(system, m.text)
			continue
		case "user":
			switch {
			case last == "user":
				input = append(input, m.text)
			case last == "result" || called:
				// A word between a call's result and the next step is the program's own.
				continue
			default:
				input, q.Said = []string{m.text}, answer
			}
			q.Users = append(q.Users, sum(m.text))
		case "assistant":
			called = m.calls
			if !m.calls {
				answer = sum(m.text)
			}
		case "call":
			called = true
		case "result":
			q.Result = m.id
		}
		last = m.role
	}
	q.System = strings.Join(system, "\n")
	q.Input, q.Fresh = strings.Join(input, "\n\n"), last == "user"
}

// traceOf is the trace id of a W3C traceparent header (w3.org/TR/trace-context), "" for none.
func traceOf(header string) string {
	parts := strings.Split(strings.TrimSpace(header), "-")
	if len(parts) < 4 || len(parts[1]) != 32 || strings.Trim(parts[1], "0") == "" {
		return ""
	}
	return strings.ToLower(parts[1])
}

// Reply is what an answer tells of its conversation.
type Reply struct {
	ID string // of a response that a later question may name
	// Said is the answer. Calls are the ids of the calls that it asks for: it is none yet
	// when there are any.
	Said  Sum
	Calls []string
	// Broken: there is no whole answer.
	Broken bool
}

// ReadReply takes an exchange's answer apart.
func ReadReply(e cassette.Exchange) Reply {
	a := read(e)
	r := Reply{ID: a.id, Said: sum(a.text), Broken: a.err != ""}
	for _, c := range a.calls {
		r.Calls = append(r.Calls, c.ID)
	}
	return r
}
