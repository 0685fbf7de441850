// Package faults is a scripted model server as an http.RoundTripper: tests use it
// to send a client what servers really send, broken answers included.
package faults

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"
)

// Step is one scripted answer.
type Step struct {
	// Err fails the request before any answer.
	Err error
	// Status of the answer, 0 = 200.
	Status int
	Header http.Header
	// Lines are sent as "data: LINE" each; "[DONE]" is not added.
	Lines []string
	// Body is sent as it is when there are no Lines.
	Body string
	// Delay before the answer, Pace before every further line.
	Delay, Pace time.Duration
	// Cut ends the body with an unexpected EOF instead of a clean end.
	Cut bool
	// Hang keeps the stream open and silent after the last line, until the request's context ends.
	Hang bool
}

// Transport answers each request with the next step. Safe for concurrent use.
type Transport struct {
	mu       sync.Mutex
	steps    []Step
	next     int
	requests [][]byte
}

// New returns a transport that plays the steps in order. Requests beyond the script fail.
func New(steps ...Step) *Transport { return &Transport{steps: steps} }

// Requests returns the bodies received so far.
func (t *Transport) Requests() [][]byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	return append([][]byte(nil), t.requests...)
}

// ErrScriptEnded says that more was asked than scripted.
var ErrScriptEnded = errors.New("faults: the script has no further step")

// RoundTrip implements http.RoundTripper.
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	var body []byte
	if req.Body != nil {
		body, _ = io.ReadAll(req.Body)
		req.Body.Close()
	}
	t.mu.Lock()
	t.requests = append(t.requests, body)
	if t.next >= len(t.steps) {
		t.mu.Unlock()
		return nil, ErrScriptEnded
	}
	s := t.steps[t.next]
	t.next++
	t.mu.Unlock()
	if err := pause(req, s.Delay); err != nil {
		return nil, err
	}
	if s.Err != nil {
		return nil, s.Err
	}
	status := s.Status
	if status == 0 {
		status = http.StatusOK
	}
	header := s.Header.Clone()
	if header == nil {
		header = http.Header{}
	}
	a := &answer{req: req, step: s}
	if len(s.Lines) == 0 {
		a.rest = s.Body
	} else {
		for _, l := range s.Lines {
			a.lines = append(a.lines, "data: "+l+"\n\n")
		}
		if header.Get("Content-Type") == "" {
			header.Set("Content-Type", "text/event-stream")
		}
	}
	return &http.Response{StatusCode: status, Status: http.StatusText(status), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: header, Body: a, ContentLength: -1, Request: req}, nil
}

type answer struct {
	req   *http.Request
	step  Step
	lines []string
	rest  string
}

func (b *answer) Read(p []byte) (int, error) {
	if err := b.req.Context().Err(); err != nil {
		return 0, err
	}
	if b.rest == "" {
		if len(b.lines) == 0 {
			switch {
			case b.step.Hang:
				<-b.req.Context().Done()
				return 0, b.req.Context().Err()
			case b.step.Cut:
				return 0, io.ErrUnexpectedEOF
			}
			return 0, io.EOF
		}
		if err := pause(b.req, b.step.Pace); err != nil {
			return 0, err
		}
		b.rest, b.lines = b.lines[0], b.lines[1:]
	}
	n := copy(p, b.rest)
	b.rest = b.rest[n:]
	return n, nil
}

func (b *answer) Close() error { return nil }

func pause(req *http.Request, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-req.Context().Done():
		return req.Context().Err()
	}
}

// Text is the line of a plain text piece, Finish the line that ends an answer.
func Text(s string) string { return `{"choices":[{"index":0,"delta":{"content":` + quote(s) + `}}]}` }

// Finish is the line that completes an answer for a reason.
func Finish(reason string) string {
	return `{"choices":[{"index":0,"delta":{},"finish_reason":` + quote(reason) + `}]}`
}

// Call is the line of one whole tool call.
func Call(index, id, name, arguments string) string {
	return `{"choices":[{"index":0,"delta":{"tool_calls":[{"index":` + index + `,"id":` + quote(id) +
		`,"type":"function","function":{"name":` + quote(name) + `,"arguments":` + quote(arguments) + `}}]}}]}`
}

func quote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch r {
		case '"', '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case '\n':
			b.WriteString(`\n`)
		case '\t':
			b.WriteString(`\t`)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}
