package model

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
)

// normaliser stands in front of every transport and turns what servers really
// send into the event stream the client library expects:
//
//   - keep-alive comments, blank lines and other SSE fields are taken out, so
//     that no count of empty messages can end a slow stream;
//   - an error inside a stream is moved behind an empty choices list: the library
//     recognises one exact spelling and loses all others;
//   - an answer that is one JSON document although a stream was asked for becomes a stream;
//   - lines and the whole stream are bounded.
type normaliser struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (n normaliser) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := n.next.RoundTrip(req)
	if err != nil {
		return resp, err
	}
	if resp.StatusCode >= 300 && resp.StatusCode < 400 {
		resp.Body.Close()
		// Followed, a redirect would carry the key to a host nobody named.
		return nil, &Error{Kind: KindProtocol, Status: resp.StatusCode,
			Message: "the endpoint redirects to " + resp.Header.Get("Location") + ": set base_url to where it really is"}
	}
	if resp.StatusCode < 200 || resp.StatusCode >= 400 {
		// The library reads error bodies without a bound and leaves them open.
		body, _ := io.ReadAll(io.LimitReader(resp.Body, maxErrorBytes))
		resp.Body.Close()
		resp.Body = io.NopCloser(bytes.NewReader(body))
		return resp, nil
	}
	media, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if media == "application/json" {
		return document(resp)
	}
	resp.Body = &events{body: resp.Body, in: bufio.NewReaderSize(resp.Body, 16<<10)}
	resp.ContentLength = -1
	return resp, nil
}

// document turns an answer that is one JSON document into a stream of one chunk.
func document(resp *http.Response) (*http.Response, error) {
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxStreamBytes+1))
	if err != nil {
		return nil, err
	}
	if len(body) > maxStreamBytes {
		return nil, &Error{Kind: KindProtocol, Message: fmt.Sprintf("the answer is larger than %d MB", maxStreamBytes>>20)}
	}
	body = bytes.TrimSpace(body)
	var whole map[string]json.RawMessage
	if err := json.Unmarshal(body, &whole); err != nil {
		return nil, &Error{Kind: KindProtocol, Message: "the answer is neither a stream nor a JSON object: " + string(body[:min(len(body), 200)])}
	}
	out := &bytes.Buffer{}
	if raw, ok := whole["error"]; ok && !isNull(raw) {
		writeData(out, inBand(raw))
	} else {
		var choices []map[string]json.RawMessage
		if err := json.Unmarshal(whole["choices"], &choices); err != nil || len(choices) == 0 {
			return nil, &Error{Kind: KindProtocol, Message: "the answer has no choices: is base_url a chat completions endpoint? " + bodyMessage(body)}
		}
		for _, c := range choices {
			if m, ok := c["message"]; ok {
				c["delta"] = m
				delete(c, "message")
			}
		}
		raw, err := json.Marshal(choices)
		if err != nil {
			return nil, &Error{Kind: KindProtocol, Message: "the answer's choices: " + err.Error()}
		}
		whole["choices"] = raw
		if raw, err = json.Marshal(whole); err != nil {
			return nil, &Error{Kind: KindProtocol, Message: "the answer: " + err.Error()}
		}
		writeData(out, raw)
	}
	out.WriteString("data: [DONE]\n\n")
	resp.Body = io.NopCloser(out)
	resp.ContentLength = int64(out.Len())
	resp.Header.Set("Content-Type", "text/event-stream")
	return resp, nil
}

func writeData(out *bytes.Buffer, payload []byte) {
	out.WriteString("data: ")
	out.Write(payload)
	out.WriteString("\n\n")
}

// inBand puts an error behind an empty choices list, where the library passes it through.
func inBand(raw json.RawMessage) []byte {
	out := append([]byte(`{"choices":[],"error":`), bytes.ReplaceAll(bytes.TrimSpace(raw), []byte("\n"), []byte(" "))...)
	return append(out, '}')
}

func isNull(raw json.RawMessage) bool {
	t := bytes.TrimSpace(raw)
	return len(t) == 0 || string(t) == "null"
}

// events is an event stream with everything but data lines taken out.
type events struct {
	body  io.Closer
	in    *bufio.Reader
	out   bytes.Buffer
	total int64
	event string // the event field of the current message
	err   error
}

// Close implements io.Closer.
func (e *events) Close() error { return e.body.Close() }

// Read implements io.Reader.
func (e *events) Read(p []byte) (int, error) {
	for e.out.Len() == 0 {
		if e.err != nil {
			return 0, e.err
		}
		e.next()
	}
	return e.out.Read(p)
}

// next reads one line and writes what it stands for.
func (e *events) next() {
	line, err := e.line()
	e.err = err
	if e.total == int64(len(line)) {
		line = bytes.TrimPrefix(line, []byte("\xef\xbb\xbf"))
	}
	if err != nil && errors.Is(err, io.EOF) && len(line) > 0 && line[len(line)-1] != '\n' {
		// A line without its end is a cut one, except for a complete payload.
		if p, ok := payload(line); !ok || string(p) != "[DONE]" && !json.Valid(p) {
			return
		}
	}
	if len(bytes.TrimSpace(line)) == 0 {
		e.event = ""
		return
	}
	if rest, ok := bytes.CutPrefix(line, []byte("event:")); ok {
		e.event = string(bytes.TrimSpace(rest))
		return
	}
	p, ok := payload(line)
	if !ok || len(p) == 0 {
		// Some servers put a bare error object on a line of its own.
		if t := bytes.TrimSpace(line); len(t) > 0 && t[0] == '{' && json.Valid(t) {
			p = t
		} else {
			return
		}
	}
	var head struct {
		Error json.RawMessage `json:"error"`
	}
	switch {
	case string(p) == "[DONE]":
	case p[0] == '[':
		p = inBand(p)
	case e.event == "error":
		if json.Unmarshal(p, &head) == nil && !isNull(head.Error) {
			p = inBand(head.Error)
		} else if json.Valid(p) {
			p = inBand(p)
		}
	case bytes.Contains(p, []byte(`"error"`)):
		if json.Unmarshal(p, &head) == nil && !isNull(head.Error) {
			p = inBand(head.Error)
		}
	}
	writeData(&e.out, p)
}

// line reads one line, bounded.
func (e *events) line() ([]byte, error) {
	var line []byte
	for {
		part, err := e.in.ReadSlice('\n')
		line = append(line, part...)
		e.total += int64(len(part))
		if len(line) > maxLineBytes || e.total > maxStreamBytes {
			return nil, &Error{Kind: KindProtocol, Message: fmt.Sprintf("the stream is larger than %d MB in all or %d MB in one line", maxStreamBytes>>20, maxLineBytes>>20)}
		}
		if err == bufio.ErrBufferFull {
			continue
		}
		return line, err
	}
}

// payload returns what follows "data:".
func payload(line []byte) ([]byte, bool) {
	rest, ok := bytes.CutPrefix(bytes.TrimSpace(line), []byte("data:"))
	return bytes.TrimSpace(rest), ok
}
