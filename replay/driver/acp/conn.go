package acp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"
	"sync/atomic"

	sdk "github.com/coder/acp-go-sdk"
)

// conn is our end of the newline-delimited JSON-RPC connection.
//
// The kit's own client connection queues notifications and closes when the
// queue overflows, stops at 10 MB lines and hides context errors. Here the
// reader goroutine handles every message itself, so an agent that talks faster
// than we listen waits in its own write.
type conn struct {
	maxLine int
	onBytes func() // something came, if only a part of a message
	onNote  func(method string, params json.RawMessage)
	// onReq answers a request by reply: at once, or later from another goroutine.
	onReq   func(method string, params json.RawMessage, reply answer)
	onStray func(line []byte)

	handled atomic.Int64 // messages so far, of whatever kind

	mu   sync.Mutex
	next int64
	// pending answers run on the reader goroutine, before any later message is looked at.
	pending map[string]func(message)
	err     error
	done    chan struct{} // the reader has stopped; err says why
	out     chan []byte
}

// message is any JSON-RPC message.
type message struct {
	Version string            `json:"jsonrpc"`
	ID      json.RawMessage   `json:"id,omitempty"`
	Method  string            `json:"method,omitempty"`
	Params  json.RawMessage   `json:"params,omitempty"`
	Result  json.RawMessage   `json:"result,omitempty"`
	Error   *sdk.RequestError `json:"error,omitempty"`
}

// maxQueue bounds what waits to be written to an agent that does not read.
const maxQueue = 256

var (
	errLineTooLong = errors.New("message too long")
	errClosed      = errors.New("agent closed its output")
	errDeaf        = errors.New("agent does not read its input")
)

func newConn(maxLine int) *conn {
	return &conn{maxLine: maxLine, pending: map[string]func(message){}, done: make(chan struct{}), out: make(chan []byte, maxQueue)}
}

// read handles messages until the output ends or cannot be read on, then
// discards the rest: an agent must never hang in a write to a pipe nobody reads.
func (c *conn) read(r io.Reader) {
	err := c.loop(bufio.NewReaderSize(r, 64<<10))
	c.fail(err)
	io.Copy(io.Discard, r)
}

func (c *conn) fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err == nil {
		c.err = err
		close(c.done)
	}
}

// write sends what is queued until the connection is done.
func (c *conn) write(w io.Writer) {
	for {
		select {
		case b := <-c.out:
			if _, err := w.Write(b); err != nil {
				return // the reader sees the end and has the better reason
			}
		case <-c.done:
			return
		}
	}
}

func (c *conn) loop(r *bufio.Reader) error {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		if len(line)+len(part) > c.maxLine {
			return fmt.Errorf("%w: more than %d bytes", errLineTooLong, c.maxLine)
		}
		line = append(line, part...)
		if c.onBytes != nil {
			c.onBytes()
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if b := bytes.TrimSpace(line); len(b) > 0 {
			if herr := c.handle(b); herr != nil {
				return herr
			}
		}
		if err == io.EOF {
			return errClosed
		}
		if err != nil {
			return fmt.Errorf("read agent's output: %w", err)
		}
		line = line[:0]
		if cap(line) > 1<<20 {
			line = nil // do not keep the memory of one large message
		}
	}
}

// handle takes one line, which is only valid until it returns; decoding copies.
func (c *conn) handle(b []byte) error {
	c.handled.Add(1)
	var m message
	if json.Unmarshal(b, &m) != nil || m.Method == "" && len(m.ID) == 0 {
		c.onStray(b)
		return nil
	}
	switch {
	case m.Method != "" && len(m.ID) == 0:
		c.onNote(m.Method, m.Params)
	case m.Method != "":
		c.onReq(m.Method, m.Params, func(result any, rerr *sdk.RequestError) {
			reply := message{Version: "2.0", ID: m.ID, Error: rerr}
			if rerr == nil {
				var err error
				if reply.Result, err = json.Marshal(result); err != nil {
					c.fail(fmt.Errorf("encode answer to %s: %w", m.Method, err))
					return
				}
			}
			_ = c.send(reply) // a connection that is over needs no answers
		})
	default:
		c.mu.Lock()
		answer := c.pending[string(m.ID)]
		delete(c.pending, string(m.ID))
		c.mu.Unlock()
		if answer != nil {
			answer(m)
		}
	}
	return nil
}

func (c *conn) send(m message) error {
	b, err := json.Marshal(m)
	if err != nil {
		return err
	}
	select {
	case c.out <- append(b, '\n'):
		return nil
	default:
		c.fail(errDeaf)
		return errDeaf
	}
}

func (c *conn) notify(method string, params any) error {
	b, err := json.Marshal(params)
	if err != nil {
		return err
	}
	return c.send(message{Version: "2.0", Method: method, Params: b})
}

// request sends a request; answer runs on the reader goroutine.
func (c *conn) request(method string, params any, answer func(message)) error {
	b, err := json.Marshal(params)
	if err != nil {
		return err
	}
	c.mu.Lock()
	c.next++
	id := strconv.FormatInt(c.next, 10)
	c.pending[id] = answer
	c.mu.Unlock()
	return c.send(message{Version: "2.0", ID: json.RawMessage(id), Method: method, Params: b})
}

// call is request that waits: for the answer, the end of the connection or the context.
func (c *conn) call(ctx context.Context, method string, params, result any) error {
	got := make(chan message, 1)
	if err := c.request(method, params, func(m message) { got <- m }); err != nil {
		return err
	}
	select {
	case m := <-got:
		return m.decode(result)
	case <-c.done:
		select {
		case m := <-got: // the answer was the last thing it said
			return m.decode(result)
		default:
			return c.err
		}
	case <-ctx.Done():
		return cancelled(ctx)
	}
}

// cancelError says that the caller's context ended, with its cause.
type cancelError struct{ cause error }

func (e *cancelError) Error() string { return e.cause.Error() }
func (e *cancelError) Unwrap() error { return e.cause }

func cancelled(ctx context.Context) error {
	if cause := context.Cause(ctx); !errors.Is(cause, errStart) {
		return &cancelError{cause}
	}
	return errStart
}

// decode reads the result, or returns the agent's error.
func (m message) decode(result any) error {
	if m.Error != nil {
		return &answerError{m.Error}
	}
	if err := json.Unmarshal(m.Result, result); err != nil {
		return fmt.Errorf("decode answer: %w", err)
	}
	return nil
}

// answerError is an error the agent answered with, on one bounded line.
type answerError struct{ err *sdk.RequestError }

func (e *answerError) Error() string {
	s := e.err.Message
	if s == "" {
		s = "error without a message"
	}
	if e.err.Data != nil {
		if b, err := json.Marshal(e.err.Data); err == nil {
			s += " " + string(b)
		}
	}
	return fmt.Sprintf("%s (code %d)", oneLine(s, 500), e.err.Code)
}
