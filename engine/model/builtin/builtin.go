// Package builtin is a model that needs no network, no key and no money: it
// answers the OpenAI chat protocol in process, as an http.RoundTripper.
//
// "heuristic" is no language model. It is a fixed set of rules that reads the
// same messages and calls the same tools as any model: it reads the notice,
// inspects a trace, searches the rules, writes one rule for a failure it
// recognises and closes the notice. What it cannot recognise it resolves as
// unactionable. It says what it is in its first answer and in the rationale of
// every rule.
//
// "vague" is a test model: it does the same but leaves the name of the argument
// out of its rule. It exists to show that a useless rule is retired.
package builtin

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"
)

// The models of this package.
const (
	Heuristic = "heuristic"
	Vague     = "vague"
)

// Models lists the models that can be asked for.
func Models() []string { return []string{Heuristic, Vague} }

// Options of the transport.
type Options struct {
	// Vague makes every model leave the argument's name out of its rules.
	Vague bool
	// Pace waits between the pieces of a stream, so that a person can watch it; 0 streams at once.
	Pace time.Duration
}

// maxRequest bounds what is read of a request.
const maxRequest = 16 << 20

// New returns the transport. It never opens a connection and has no state: an
// answer depends on the request alone.
func New(o Options) http.RoundTripper { return transport{o} }

type transport struct{ options Options }

// request is the part of a chat request that is looked at.
type request struct {
	Model     string    `json:"model"`
	Messages  []message `json:"messages"`
	Stream    bool      `json:"stream"`
	MaxTokens int       `json:"max_tokens"`
	MaxOutput int       `json:"max_completion_tokens"`
	Tools     []struct {
		Function struct {
			Name string `json:"name"`
		} `json:"function"`
	} `json:"tools"`
}

type message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
	Calls   []struct {
		ID       string `json:"id"`
		Function struct {
			Name      string `json:"name"`
			Arguments string `json:"arguments"`
		} `json:"function"`
	} `json:"tool_calls"`
	CallID string `json:"tool_call_id"`
}

// answer is what the policy decides to say: one tool call, or only text.
type answer struct {
	reasoning string
	text      string
	tool      string
	arguments map[string]any
}

// RoundTrip implements http.RoundTripper.
func (t transport) RoundTrip(req *http.Request) (*http.Response, error) {
	if err := req.Context().Err(); err != nil {
		return nil, err
	}
	var body []byte
	if req.Body != nil {
		var err error
		body, err = io.ReadAll(io.LimitReader(req.Body, maxRequest+1))
		req.Body.Close()
		if err != nil {
			return nil, fmt.Errorf("builtin: read the request: %w", err)
		}
	}
	if len(body) > maxRequest {
		return refuse(req, http.StatusRequestEntityTooLarge, fmt.Sprintf("the request is larger than %d MB", maxRequest>>20)), nil
	}
	if req.Method != http.MethodPost || !strings.HasSuffix(req.URL.Path, "/chat/completions") {
		return refuse(req, http.StatusNotFound, "the built-in model answers POST /chat/completions only"), nil
	}
	var q request
	if err := json.Unmarshal(body, &q); err != nil {
		return refuse(req, http.StatusBadRequest, "the request is not a chat request: "+err.Error()), nil
	}
	vague := t.options.Vague
	switch q.Model {
	case Heuristic:
	case Vague:
		vague = true
	default:
		return refuse(req, http.StatusNotFound, fmt.Sprintf("there is no built-in model %q (there are: %s)", q.Model, strings.Join(Models(), ", "))), nil
	}
	a := decide(q.Messages, vague)
	chunks, whole := encode(q, a, len(body))
	if !q.Stream {
		return respond(req, http.StatusOK, "application/json", io.NopCloser(strings.NewReader(whole))), nil
	}
	return respond(req, http.StatusOK, "text/event-stream", &stream{req: req, chunks: chunks, pace: t.options.Pace}), nil
}

// encode writes the answer as stream chunks and as one document.
func encode(q request, a answer, size int) (chunks []string, whole string) {
	limit := q.MaxTokens
	if q.MaxOutput > 0 {
		limit = q.MaxOutput
	}
	finish := "stop"
	var args string
	if a.tool != "" {
		raw, err := json.Marshal(a.arguments)
		if err == nil {
			args, finish = string(raw), "tool_calls"
		}
	}
	if room := limit*4 - len(args) - len(a.tool); limit > 0 && room < len(a.reasoning)+len(a.text) {
		// The call matters more than the words around it; a call that does not fit is not made.
		if room < 0 {
			a.tool, args, finish = "", "", "length"
			room = limit * 4
		}
		a.text = cut(a.text, room)
		a.reasoning = cut(a.reasoning, room-len(a.text))
	}
	id := "builtin-" + fmt.Sprint(len(q.Messages))
	usage := map[string]any{"prompt_tokens": (size + 3) / 4,
		"completion_tokens": (len(a.reasoning) + len(a.text) + len(args) + len(a.tool) + 3) / 4}
	usage["total_tokens"] = usage["prompt_tokens"].(int) + usage["completion_tokens"].(int)
	head := func() map[string]any {
		return map[string]any{"id": id, "object": "chat.completion.chunk", "model": "builtin/" + q.Model}
	}
	add := func(delta map[string]any, finish any) {
		c := head()
		c["choices"] = []any{map[string]any{"index": 0, "delta": delta, "finish_reason": finish}}
		chunks = append(chunks, data(c))
	}
	add(map[string]any{"role": "assistant"}, nil)
	for _, p := range pieces(a.reasoning, 24) {
		add(map[string]any{"reasoning_content": p}, nil)
	}
	for _, p := range pieces(a.text, 24) {
		add(map[string]any{"content": p}, nil)
	}
	msg := map[string]any{"role": "assistant", "content": a.text, "reasoning_content": a.reasoning}
	if a.tool != "" {
		callID := fmt.Sprintf("call_%d", len(q.Messages))
		call := map[string]any{"index": 0, "id": callID, "type": "function", "function": map[string]any{"name": a.tool, "arguments": ""}}
		add(map[string]any{"tool_calls": []any{call}}, nil)
		for _, p := range pieces(args, 32) {
			add(map[string]any{"tool_calls": []any{map[string]any{"index": 0, "function": map[string]any{"arguments": p}}}}, nil)
		}
		msg["tool_calls"] = []any{map[string]any{"id": callID, "type": "function", "function": map[string]any{"name": a.tool, "arguments": args}}}
	}
	add(map[string]any{}, finish)
	last := head()
	last["choices"], last["usage"] = []any{}, usage
	chunks = append(chunks, data(last), "data: [DONE]\n\n")

	doc := head()
	doc["object"] = "chat.completion"
	doc["choices"] = []any{map[string]any{"index": 0, "message": msg, "finish_reason": finish}}
	doc["usage"] = usage
	raw, _ := json.Marshal(doc) // maps of plain values always encode
	return chunks, string(raw)
}

func data(v any) string {
	raw, _ := json.Marshal(v) // maps of plain values always encode
	return "data: " + string(raw) + "\n\n"
}

// pieces cuts a text into parts of about n bytes at code point boundaries.
func pieces(s string, n int) []string {
	var out []string
	for len(s) > n {
		i := n
		for i < len(s) && !utf8.RuneStart(s[i]) {
			i++
		}
		out = append(out, s[:i])
		s = s[i:]
	}
	if s != "" {
		out = append(out, s)
	}
	return out
}

// cut returns at most n bytes of s, whole code points.
func cut(s string, n int) string {
	if n <= 0 {
		return ""
	}
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

func refuse(req *http.Request, status int, text string) *http.Response {
	raw, _ := json.Marshal(map[string]any{"error": map[string]any{"message": text, "type": "invalid_request_error"}})
	return respond(req, status, "application/json", io.NopCloser(strings.NewReader(string(raw))))
}

func respond(req *http.Request, status int, media string, body io.ReadCloser) *http.Response {
	return &http.Response{StatusCode: status, Status: fmt.Sprintf("%d %s", status, http.StatusText(status)),
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: http.Header{"Content-Type": {media}},
		Body: body, ContentLength: -1, Request: req}
}

// stream hands out one chunk per read; no goroutine stands behind it.
type stream struct {
	req    *http.Request
	chunks []string
	rest   string
	pace   time.Duration
	closed bool
}

// Read implements io.Reader.
func (s *stream) Read(p []byte) (int, error) {
	if s.closed {
		return 0, http.ErrBodyReadAfterClose
	}
	ctx := s.req.Context()
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	if s.rest == "" {
		if len(s.chunks) == 0 {
			return 0, io.EOF
		}
		if s.pace > 0 {
			timer := time.NewTimer(s.pace)
			select {
			case <-timer.C:
			case <-ctx.Done():
				timer.Stop()
				return 0, ctx.Err()
			}
		}
		s.rest, s.chunks = s.chunks[0], s.chunks[1:]
	}
	n := copy(p, s.rest)
	s.rest = s.rest[n:]
	return n, nil
}

// Close implements io.Closer.
func (s *stream) Close() error { s.closed = true; return nil }
