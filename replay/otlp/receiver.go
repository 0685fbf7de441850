// Package otlp receives what an instrumented agent tells of itself: OTLP traces over
// HTTP, as protobuf or JSON, on the loopback.
//
// Each run has a token of its own, which reaches the agent as the header that
// OTEL_EXPORTER_OTLP_HEADERS names. What came is read by the same rules as a recorded
// file of OTLP (package replay/format/otel).
package otlp

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"vise/engine/guard"
	"vise/engine/trace"
	"vise/replay/format/otel"
	"vise/replay/format/recording"
	"vise/replay/loopback"
)

// Bounds.
const (
	maxBody = 16 << 20 // bytes of a request, compressed and not
	maxRead = 4        // requests that are read at once: taken apart they are many times as large
	maxTurn = 64 << 20 // bytes kept of one turn of a run
	path    = "/v1/traces"
)

// Receiver is the loopback server. Its goroutines end with Close or with the context
// that Start was given.
type Receiver struct {
	*loopback.Server
	runs loopback.Tokens[*run]
	now  func() time.Time
	read chan struct{} // has a place for every request that is being read
}

// run is what one run has sent since it was last taken.
type run struct {
	told    func() // of every request that is kept; may be nil
	mu      sync.Mutex
	heard   bool // ever
	binary  []byte
	lines   []byte
	dropped int
}

// Start listens on a free port of 127.0.0.1. A nil now is time.Now.
func Start(ctx context.Context, now func() time.Time) (*Receiver, error) {
	if now == nil {
		now = time.Now
	}
	r := &Receiver{now: now, read: make(chan struct{}, maxRead)}
	var err error
	if r.Server, err = loopback.Start(ctx, "trace receiver", r, 30*time.Second, 30*time.Second); err != nil {
		return nil, err
	}
	return r, nil
}

// Grant makes a token for a run.
func (r *Receiver) Grant() string { return r.runs.Grant(&run{}, r.now(), time.Time{}) }

// GrantTold is Grant for whoever does not know when a run has something to say: told is
// called whenever something has come. It must not wait.
func (r *Receiver) GrantTold(told func()) string {
	return r.runs.Grant(&run{told: told}, r.now(), time.Time{})
}

// Revoke ends a token at once.
func (r *Receiver) Revoke(token string) { r.runs.Revoke(token) }

// Env is what makes the exporter of any OpenTelemetry SDK come to us: the names are
// those of its specification. session, if there is one, goes into the resource, so that one
// agent's traces can be told apart in any file that they end up in.
func (r *Receiver) Env(token, session string) map[string]string {
	env := map[string]string{
		"OTEL_EXPORTER_OTLP_ENDPOINT": r.URL(""),
		"OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf",
		"OTEL_EXPORTER_OTLP_HEADERS":  "Authorization=" + url.PathEscape("Bearer "+token),
		"OTEL_BSP_SCHEDULE_DELAY":     "200", // milliseconds; the default of 5 s outlives a turn
	}
	if session != "" {
		env["OTEL_RESOURCE_ATTRIBUTES"] = "vise.session=" + url.PathEscape(session)
	}
	return env
}

// Delay is how long after its last span an agent's exporter may still hold it back,
// by the schedule that Env sets.
const Delay = 400 * time.Millisecond

// Take returns the spans that a run has sent since the last call, masked, in the
// order of their beginning; dropped counts requests that did not fit.
func (r *Receiver) Take(ctx context.Context, token string, red *guard.Redactor) (spans []trace.Span, dropped int, err error) {
	traces, dropped, err := r.TakeTraces(ctx, token, red)
	for _, t := range traces {
		spans = append(spans, t.Turn.Spans...)
	}
	return spans, dropped, err
}

// Trace is what has come of one trace.
type Trace struct {
	// Session is the conversation that the trace belongs to, as its spans tell; without
	// an id where they tell none. It names the agent, its tools and the system prompt.
	Session trace.Session
	// ID is the trace's own id, in hex.
	ID string
	// Turn holds the spans, and what the user said as far as it has come. The parent of a
	// span that is not among them is its attribute parent_elsewhere.
	Turn trace.Turn
	// Whole: the span under which all others hang has come; it ends last.
	Whole bool
}

// TakeTraces is Take, by trace.
func (r *Receiver) TakeTraces(ctx context.Context, token string, red *guard.Redactor) (traces []Trace, dropped int, err error) {
	g, known := r.runs.Lookup(token, r.now())
	if !known {
		return nil, 0, nil
	}
	g.mu.Lock()
	binary, lines := g.binary, g.lines
	dropped = g.dropped
	g.binary, g.lines, g.dropped = nil, nil, 0
	g.mu.Unlock()
	for _, body := range [][]byte{binary, lines} {
		if len(body) == 0 {
			continue
		}
		var c collected
		rec := recording.NewRecorder(ctx, "traces of the agent", otel.NameOTLP, recording.Options{Redactor: red}, &c)
		if err := otel.ReadOTLP(bytes.NewReader(body), "traces of the agent", rec); err != nil {
			return traces, dropped, err
		}
		traces = append(traces, c.traces...)
	}
	return traces, dropped, nil
}

// Heard reports whether a run has ever sent anything: only then is it worth to wait.
func (r *Receiver) Heard(token string) bool {
	g, known := r.runs.Lookup(token, r.now())
	if !known {
		return false
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.heard
}

// collected is the sink that keeps traces.
type collected struct {
	traces []Trace
	first  int // of the open session
}

func (c *collected) Begin(trace.Session) error { c.first = len(c.traces); return nil }

func (c *collected) Turn(t trace.Turn) error {
	whole := slices.ContainsFunc(t.Spans, func(s trace.Span) bool { return s.Parent == "" && s.Attrs["parent_elsewhere"] == nil })
	c.traces = append(c.traces, Trace{Turn: t, Whole: whole})
	return nil
}

// End gives the traces of a session what is known of it by then. A session without an
// id of its own is called by the id of its only trace.
func (c *collected) End(s trace.Session) error {
	ids, _ := s.Attrs["traces"].([]string)
	for i := range c.traces[c.first:] {
		t := &c.traces[c.first+i]
		t.Session = s
		if i < len(ids) {
			t.ID = ids[i]
		}
		if s.ID == t.ID {
			t.Session.ID = ""
		}
	}
	return nil
}

// ServeHTTP takes an export request.
func (r *Receiver) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	g, known := r.runs.Lookup(loopback.Bearer(q.Header), r.now())
	media, _, _ := mime.ParseMediaType(q.Header.Get("Content-Type"))
	isJSON := media == "application/json"
	switch {
	case !known:
		http.Error(w, "the token is unknown or revoked", http.StatusUnauthorized)
		return
	case q.URL.Path == "/v1/metrics" || q.URL.Path == "/v1/logs":
		// Taken and dropped: an exporter that is refused fills the agent's log.
		_, _ = io.Copy(io.Discard, http.MaxBytesReader(w, q.Body, maxBody))
		w.Header().Set("Content-Type", media)
		return
	case q.URL.Path != path:
		http.NotFound(w, q)
		return
	case q.Method != http.MethodPost:
		w.Header().Set("Allow", http.MethodPost)
		http.Error(w, "traces are sent by POST", http.StatusMethodNotAllowed)
		return
	case !isJSON && media != "application/x-protobuf":
		http.Error(w, "traces are taken as application/x-protobuf or application/json", http.StatusUnsupportedMediaType)
		return
	}
	select {
	case r.read <- struct{}{}:
	case <-q.Context().Done():
		return // whoever sent it has gone
	}
	body, err := read(w, q)
	if err == nil {
		err = check(body, isJSON)
	}
	<-r.read
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large) || errors.Is(err, errLarge):
		http.Error(w, fmt.Sprintf("a request holds at most %d MB, unpacked", maxBody>>20), http.StatusRequestEntityTooLarge)
		return
	case err != nil:
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	g.add(body, isJSON)
	if g.told != nil {
		g.told()
	}
	w.Header().Set("Content-Type", media)
	if isJSON {
		_, _ = io.WriteString(w, "{}")
	}
}

func (g *run) add(body []byte, isJSON bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.heard = true
	if len(g.binary)+len(g.lines)+len(body) > maxTurn {
		g.dropped++
		return
	}
	if !isJSON {
		g.binary = append(g.binary, body...) // requests one after the other are one request
		return
	}
	var line bytes.Buffer
	if json.Compact(&line, body) == nil {
		g.lines = append(append(g.lines, line.Bytes()...), '\n')
	}
}

var errLarge = errors.New("too large")

// read unpacks a request's body within its bounds.
func read(w http.ResponseWriter, q *http.Request) ([]byte, error) {
	var in io.Reader = http.MaxBytesReader(w, q.Body, maxBody)
	switch strings.ToLower(q.Header.Get("Content-Encoding")) {
	case "", "identity":
	case "gzip":
		z, err := gzip.NewReader(in)
		if err != nil {
			return nil, fmt.Errorf("unpack the request: %w", err)
		}
		defer z.Close()
		in = z
	default:
		return nil, errors.New("only gzip is unpacked")
	}
	body, err := io.ReadAll(io.LimitReader(in, maxBody+1))
	if err == nil && len(body) > maxBody {
		err = errLarge
	}
	return body, err
}

// check refuses what is no export request before it is kept.
func check(body []byte, isJSON bool) error {
	if isJSON {
		var q struct {
			ResourceSpans []json.RawMessage `json:"resourceSpans"`
		}
		return json.Unmarshal(body, &q)
	}
	return proto.Unmarshal(body, &tracepb.TracesData{})
}
