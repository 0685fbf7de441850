package pandaprobe

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"vise/engine/guard"
	"vise/engine/process"
)

// Exit codes of the command.
const (
	exitAuth       = 2
	exitNotFound   = 3
	exitValidation = 4
	exitServer     = 5
)

// maxAnswer bounds what the command may write, in bytes.
const maxAnswer = 16 << 20

// CallError is a call of the command that failed.
type CallError struct {
	Call string // its first two words: "traces list"
	Code int    // exit code; -1 when it did not end by itself
	Text string // one line of what it wrote on standard error
	Err  error
}

// Error is one line.
func (e *CallError) Error() string {
	s := "pandaprobe " + e.Call
	switch {
	case e.Err != nil:
		return s + ": " + e.Err.Error()
	case e.Text == "":
		return fmt.Sprintf("%s: exit status %d", s, e.Code)
	}
	return fmt.Sprintf("%s: exit status %d: %s", s, e.Code, e.Text)
}

// Unwrap returns the cause.
func (e *CallError) Unwrap() error { return e.Err }

// notYet are words that tell of data that is still on its way.
var notYet = []string{"no traces", "no session", "not yet", "empty", "pending", "no data"}

// transient reports whether the same call may do better a little later: nothing
// found yet, the server's fault, or time up.
func transient(err error) bool {
	var e *CallError
	if !errors.As(err, &e) {
		return false
	}
	if errors.Is(err, process.ErrTime) {
		return true
	}
	switch e.class() {
	case exitNotFound, exitServer:
		return true
	}
	text := strings.ToLower(e.Text)
	return slices.ContainsFunc(notYet, func(w string) bool { return strings.Contains(text, w) })
}

// class is the exit code, or what an unknown code's text sounds like.
func (e *CallError) class() int {
	if e.Code >= 0 && e.Code <= exitServer {
		return e.Code
	}
	text := strings.ToLower(e.Text)
	for _, guess := range []struct {
		code  int
		words []string
	}{
		{exitAuth, []string{"unauthorized", "unauthenticated", "forbidden", "authentication", "not logged in", "401", "403"}},
		{exitNotFound, []string{"not found", "404"}},
		{exitValidation, []string{"invalid", "validation", "422"}},
		{exitServer, []string{"server error", "unavailable", "bad gateway", "timeout", "timed out", "500", "502", "503", "504"}},
	} {
		if slices.ContainsFunc(guess.words, func(w string) bool { return strings.Contains(text, w) }) {
			return guess.code
		}
	}
	return 1
}

// permanent reports that the platform understood the request and will not serve it:
// the same request fails again.
func permanent(err error) bool {
	var e *CallError
	return errors.As(err, &e) && e.Err == nil && !transient(err) && e.class() != exitAuth
}

// call runs the command and returns its answer, decoded with numbers as json.Number.
func (p *Platform) call(ctx context.Context, args ...string) (any, error) {
	raw, err := p.run(ctx, args...)
	if err != nil {
		return nil, err
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	err = d.Decode(&v)
	if err == nil {
		if _, more := d.Token(); !errors.Is(more, io.EOF) {
			err = errors.New("more than one JSON value")
		}
	}
	if err != nil {
		return nil, &CallError{Call: words(args), Err: fmt.Errorf("its answer is no JSON: %w", err)}
	}
	return v, nil
}

// run runs the command and returns its raw answer.
func (p *Platform) run(ctx context.Context, args ...string) ([]byte, error) {
	out, err := process.Filter(ctx, process.Spec{Name: "pandaprobe", Command: append([]string{p.options.Binary}, args...), Dir: p.options.Dir, Env: p.options.Env, Sandbox: p.options.Sandbox},
		nil, process.Limits{Time: p.options.Timeout, Output: maxAnswer})
	switch {
	case err != nil:
		return nil, &CallError{Call: words(args), Code: -1, Err: err}
	case !out.Exit.OK():
		return nil, &CallError{Call: words(args), Code: out.Exit.Code, Text: complaint(out.Tail)}
	}
	return out.Out, nil
}

func words(args []string) string { return strings.Join(args[:min(2, len(args))], " ") }

// complaint is one line of what was written on standard error: the message of a JSON
// error, else the text.
func complaint(tail string) string {
	var e struct {
		Error   json.RawMessage `json:"error"`
		Message string          `json:"message"`
		Detail  string          `json:"detail"`
	}
	if json.Unmarshal([]byte(strings.TrimSpace(tail)), &e) == nil {
		var text string
		var inner struct {
			Message string `json:"message"`
		}
		if json.Unmarshal(e.Error, &text) != nil && json.Unmarshal(e.Error, &inner) == nil {
			text = inner.Message
		}
		for _, s := range []string{e.Message, text, e.Detail} {
			if s != "" {
				tail = s
				break
			}
		}
	}
	tail, _ = guard.DefaultRedactor().Text(tail)
	return guard.Line(tail, 300)
}
