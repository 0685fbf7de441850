package model

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net/http"
)

// ReadAnswer assembles a chat completion as it came over the wire, a stream or one
// document. The error is an *Error: what the server refused with, or ErrTruncated
// for an answer that broke off, with what had come in the reply.
func ReadAnswer(status int, contentType string, body []byte) (Reply, error) {
	said := fixed{&http.Response{StatusCode: status, Header: http.Header{"Content-Type": {contentType}}, Body: io.NopCloser(bytes.NewReader(body))}}
	resp, err := normaliser{said}.RoundTrip(nil)
	if err != nil {
		return Reply{}, err
	}
	defer resp.Body.Close()
	if status < 200 || status >= 300 {
		text, _ := io.ReadAll(resp.Body)
		return Reply{}, &Error{Kind: kindOfStatus(status), Status: status, Message: bodyMessage(text)}
	}
	a := newAssembler()
	lines := bufio.NewReader(resp.Body)
	for {
		line, err := lines.ReadBytes('\n')
		if p, ok := payload(bytes.TrimSpace(line)); ok && len(p) > 0 && string(p) != "[DONE]" {
			if aerr := a.add(p, func(Delta) {}); aerr != nil {
				r, _ := a.result()
				return r, aerr
			}
		}
		if err != nil {
			var failed *Error
			if errors.As(err, &failed) {
				r, _ := a.result()
				return r, failed
			}
			break
		}
	}
	r, complete := a.result()
	if !complete {
		return r, &Error{Kind: KindTruncated, Message: ErrTruncated.Error(), Err: ErrTruncated}
	}
	return r, nil
}

// fixed is a transport that has one answer.
type fixed struct{ resp *http.Response }

// RoundTrip implements http.RoundTripper.
func (f fixed) RoundTrip(*http.Request) (*http.Response, error) { return f.resp, nil }
