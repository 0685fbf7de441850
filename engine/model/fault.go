package model

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"strings"
	"unicode"

	openai "github.com/sashabaranov/go-openai"
)

// ErrTruncated says that a stream ended before the provider said it was complete.
// Nothing of such an answer may be executed.
var ErrTruncated = errors.New("the stream ended before the answer was complete")

// ErrIdle says that a provider kept a stream open and sent nothing.
var ErrIdle = errors.New("the provider sent nothing for too long")

// Kind groups failures by what can be done about them.
type Kind string

// The kinds of failure.
const (
	KindTimeout   Kind = "timeout"        // the context's deadline or the idle watchdog
	KindCancelled Kind = "cancelled"      // the caller cancelled
	KindTruncated Kind = "truncated"      // the stream was cut
	KindAuth      Kind = "authentication" // 401, 403, or the key could not be had
	KindRequest   Kind = "bad_request"    // other 4xx: the same request fails again
	KindRate      Kind = "rate_limited"   // 429 after all retries
	KindServer    Kind = "server_error"   // 5xx after all retries, or an error inside a stream
	KindNetwork   Kind = "network"        // no answer at all
	KindProtocol  Kind = "protocol"       // an answer that is not this protocol
	KindBudget    Kind = "budget"         // the ledger refused
)

// Error is a failed question. Its text is one bounded line without the key.
type Error struct {
	Kind   Kind
	Model  string
	Status int // HTTP status, 0 when there was none
	Tries  int
	// Message is what the provider said, one line, at most 300 characters.
	Message string
	Err     error
}

// Error returns one line.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString("model: ask")
	if e.Model != "" { // a request that was passed on may name none
		b.WriteString(" " + e.Model)
	}
	b.WriteString(": ")
	if e.Status != 0 {
		fmt.Fprintf(&b, "status %d", e.Status)
		if text := http.StatusText(e.Status); text != "" {
			b.WriteString(" " + text)
		}
		if e.Message != "" {
			b.WriteString(": ")
		}
	}
	switch {
	case e.Message != "":
		b.WriteString(e.Message)
	case e.Status == 0 && e.Err != nil:
		b.WriteString(e.Err.Error())
	case e.Status == 0:
		b.WriteString(string(e.Kind))
	}
	if e.Tries > 1 {
		fmt.Fprintf(&b, " (after %d tries)", e.Tries)
	}
	switch e.Kind {
	case KindAuth:
		b.WriteString(": check the provider's key setting")
	case KindTruncated:
		b.WriteString("; nothing of it was used")
	}
	return b.String()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// KindOf returns the kind of a failure, "" for nil and for errors of other origin.
func KindOf(err error) Kind {
	var e *Error
	if errors.As(err, &e) {
		return e.Kind
	}
	return ""
}

// maxMessage bounds what is quoted from a provider, in code points.
const maxMessage = 300

// failure turns whatever the layers below returned into an *Error.
func (c *Client) failure(ctx context.Context, err error, key string, tries int) *Error {
	e := &Error{Model: c.Name(), Tries: tries, Err: err, Kind: KindNetwork}
	var (
		ready  *Error
		inside *openai.APIError
		failed *openai.RequestError
		netErr net.Error
	)
	// A context that ended explains every other error that follows from it.
	switch cause := context.Cause(ctx); {
	case cause != nil && errors.Is(cause, ErrIdle):
		e.Kind, e.Err = KindTimeout, cause
	case cause != nil && errors.Is(cause, context.DeadlineExceeded):
		e.Kind, e.Err = KindTimeout, cause
	case cause != nil:
		e.Kind, e.Err = KindCancelled, cause
	case errors.As(err, &ready):
		e.Kind, e.Status, e.Message = ready.Kind, ready.Status, ready.Message
	case errors.Is(err, ErrTruncated):
		e.Kind = KindTruncated
	// Before the library's decoded error: it wraps a half-decoded one when the body is of another shape.
	case errors.As(err, &failed):
		e.Status, e.Message = failed.HTTPStatusCode, bodyMessage(failed.Body)
		e.Kind = kindOfStatus(failed.HTTPStatusCode)
	case errors.As(err, &inside):
		e.Status, e.Message = inside.HTTPStatusCode, inside.Message
		e.Kind = kindOfStatus(inside.HTTPStatusCode)
		if e.Message == "" {
			e.Message = fmt.Sprint(inside.Code)
		}
	case errors.As(err, &netErr) && netErr.Timeout():
		e.Kind, e.Message = KindTimeout, err.Error()
	case errors.Is(err, openai.ErrChatCompletionInvalidModel), isRefusal(err):
		e.Kind, e.Message = KindRequest, err.Error()
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		e.Message = "the connection was closed without an answer"
	default:
		e.Message = err.Error()
	}
	e.Message = clean(e.Message, key)
	// What the layers below say may quote the key; the cause is kept only as a
	// sentinel so that no later %v prints it.
	e.Err = sentinel(e.Err, e.Message)
	return e
}

// isRefusal reports a request that go-openai refuses before it is sent, by the
// name of the model.
func isRefusal(err error) bool {
	for _, known := range []error{
		openai.ErrReasoningEffortUnsupported, openai.ErrReasoningToolsRequireResponses,
		openai.ErrReasoningSamplingUnsupported, openai.ErrReasoningModelMaxTokensDeprecated,
		openai.ErrReasoningModelLimitationsLogprobs, openai.ErrReasoningModelLimitationsOther,
	} {
		if errors.Is(err, known) {
			return true
		}
	}
	return false
}

// sentinel keeps the errors callers test for and replaces all others by their scrubbed text.
func sentinel(err error, text string) error {
	for _, known := range []error{ErrTruncated, ErrIdle, ErrBudget, context.DeadlineExceeded, context.Canceled} {
		if errors.Is(err, known) {
			return known
		}
	}
	if text == "" {
		return nil
	}
	return errors.New(text)
}

func kindOfStatus(status int) Kind {
	switch {
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return KindAuth
	case status == http.StatusTooManyRequests:
		return KindRate
	case status == http.StatusRequestTimeout:
		return KindTimeout
	case status >= 400 && status < 500:
		return KindRequest
	}
	return KindServer
}

// bodyMessage finds the readable part of an error body of any shape: an object
// with error as object or text, a list of those, {"detail":...}, {"message":...},
// an HTML page of a gateway, plain text, or nothing.
func bodyMessage(body []byte) string {
	body = bytes.TrimSpace(body)
	if len(body) == 0 {
		return "the error has no text"
	}
	var v any
	if err := json.Unmarshal(body, &v); err == nil {
		if s := findMessage(v, 0); s != "" {
			return s
		}
		return string(body)
	}
	text := string(body)
	if strings.HasPrefix(text, "<") {
		text = tags.ReplaceAllString(invisible.ReplaceAllString(text, " "), " ")
		if strings.TrimSpace(text) == "" {
			return "an HTML page without text"
		}
		return "an HTML page: " + text
	}
	return text
}

var (
	invisible = regexp.MustCompile(`(?is)<(script|style|head)\b.*?</(script|style|head)>`)
	tags      = regexp.MustCompile(`(?s)<[^>]*>`)
)

func findMessage(v any, depth int) string {
	if depth > 4 {
		return ""
	}
	switch v := v.(type) {
	case string:
		return v
	case []any:
		for _, x := range v {
			if s := findMessage(x, depth+1); s != "" {
				return s
			}
		}
	case map[string]any:
		for _, key := range []string{"error", "message", "detail", "msg", "error_description", "title", "errors"} {
			if x, ok := v[key]; ok {
				if s := findMessage(x, depth+1); s != "" {
					return s
				}
			}
		}
	}
	return ""
}

// clean makes one printable, bounded line without the key.
func clean(s, key string) string {
	if len(key) >= 4 {
		s = strings.ReplaceAll(s, key, "[key]")
	}
	s = keyLike.ReplaceAllString(s, "[key]")
	s = strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' || r == '\r' {
			return ' '
		}
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == unicode.ReplacementChar {
			return -1
		}
		return r
	}, s)
	s = strings.Join(strings.Fields(s), " ")
	if runes := []rune(s); len(runes) > maxMessage {
		s = string(runes[:maxMessage-1]) + "…"
	}
	return s
}

// keyLike matches what providers print of a key, masked ones ("sk-ab***yz") included.
var keyLike = regexp.MustCompile(`(?i)\b(?:sk|pk|rk|gsk|xai|key|hf|AIza)[-_][A-Za-z0-9*_\-.]{6,}|\bBearer\s+[A-Za-z0-9._~+/\-]{8,}=*`)
