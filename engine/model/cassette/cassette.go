// Package cassette keeps what a model's server said on the wire and says it again.
//
// A cassette is JSON Lines, one Exchange a line: the request, the bytes of the
// answer and the pauses between them. Recording passes every byte on as it comes.
// Playing back matches a request by its content, whatever the order, and hands
// every recorded answer out once; a request that was not recorded is a divergence
// with a difference to look at, never somebody else's answer.
package cassette

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"time"
	"unicode/utf8"
)

// Bounds of one exchange, in bytes: what is beyond them passes through and the
// exchange is kept as cut, with the reason.
const (
	MaxRequest = 64 << 20
	MaxBody    = 64 << 20
	maxParts   = 1 << 16
)

// Exchange is one request and its answer.
type Exchange struct {
	// Seq numbers the exchanges of a recording from 1, in the order of their requests.
	Seq int `json:"seq"`
	// Key is the digest that requests are matched by (Matcher.Key).
	Key    string `json:"key"`
	Method string `json:"method"`
	Path   string `json:"path"`
	// Request is the request's canonical body: masked, without what changes from run to run.
	Request json.RawMessage `json:"request,omitempty"`
	Status  int             `json:"status"`
	// Header holds the few headers that clients act on.
	Header map[string]string `json:"header,omitempty"`
	// Body is the answer, byte for byte unless something in it was masked.
	Body []byte `json:"-"`
	// Parts are the pieces the body came in: milliseconds of pause, then bytes.
	Parts [][2]int64 `json:"parts,omitempty"`
	// Cut says that the answer broke off.
	Cut bool `json:"cut,omitempty"`
	// Limit is what vise had the answer held to, in tokens, for the sake of a budget; 0 = nothing.
	Limit int64 `json:"limit,omitempty"`
	// Masked counts what was masked in request and answer.
	Masked int `json:"masked,omitempty"`
	// Error says why there is no whole answer: the connection failed, the body was empty.
	Error   string        `json:"error,omitempty"`
	Started time.Time     `json:"started"`
	Elapsed time.Duration `json:"elapsed_ns"`
}

// Streamed reports an answer that came as an event stream.
func (e Exchange) Streamed() bool {
	return bytes.HasPrefix([]byte(e.Header["Content-Type"]), []byte("text/event-stream"))
}

// whole reports that the last event of the stream is in the body.
func (e Exchange) whole() bool {
	if !e.Streamed() {
		return false
	}
	tail := bytes.TrimSpace(e.Body)
	tail = tail[bytes.LastIndexByte(tail, '\n')+1:]
	data, ok := bytes.CutPrefix(tail, []byte("data:"))
	if data = bytes.TrimSpace(data); !ok || string(data) == "[DONE]" {
		return ok
	}
	var last struct {
		Type string `json:"type"`
	}
	return json.Unmarshal(data, &last) == nil && (last.Type == "response.completed" || last.Type == "response.incomplete" || last.Type == "response.failed")
}

// wire is an Exchange as a line: the body is text where it is text.
type wire struct {
	Schema string `json:"schema"`
	bare
	Text string `json:"body,omitempty"`
	Raw  []byte `json:"body64,omitempty"`
}

// bare is an Exchange without its methods.
type bare Exchange

const schema = "vise.exchange/1"

// MarshalJSON writes a line of a cassette.
func (e Exchange) MarshalJSON() ([]byte, error) {
	l := wire{Schema: schema, bare: bare(e)}
	if utf8.Valid(e.Body) {
		l.Text = string(e.Body)
	} else {
		l.Raw = e.Body
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	err := enc.Encode(l)
	return out.Bytes(), err
}

// UnmarshalJSON reads a line of a cassette and refuses what could not be played back
// truthfully; errors.Is finds ErrEmpty.
func (e *Exchange) UnmarshalJSON(line []byte) error {
	var l wire
	if err := json.Unmarshal(line, &l); err != nil {
		return err
	}
	if l.Schema != schema {
		return fmt.Errorf("schema %q is not %q", l.Schema, schema)
	}
	*e = Exchange(l.bare)
	if e.Body = l.Raw; l.Text != "" {
		e.Body = []byte(l.Text)
	}
	if err := e.check(); err != nil {
		return fmt.Errorf("exchange %d, %s %s: %w", e.Seq, e.Method, e.Path, err)
	}
	return nil
}

// ErrEmpty says that a recording holds a successful answer without a body: playing
// it back would prove nothing.
var ErrEmpty = errors.New("the recorded answer is empty, nothing would be played back; record the session again")

// check refuses what could not be played back truthfully.
func (e Exchange) check() error {
	if e.Key == "" {
		return errors.New("it has no key")
	}
	if e.Error == "" && e.Status >= 200 && e.Status < 300 && e.Status != 204 && len(e.Body) == 0 {
		return ErrEmpty
	}
	var size int64
	for _, p := range e.Parts {
		if p[0] < 0 || p[1] < 0 || p[1] > int64(len(e.Body)) {
			return fmt.Errorf("a part of %d ms and %d bytes", p[0], p[1])
		}
		size += p[1]
	}
	if len(e.Parts) > 0 && size != int64(len(e.Body)) {
		return fmt.Errorf("its parts hold %d bytes, its body %d", size, len(e.Body))
	}
	return nil
}
