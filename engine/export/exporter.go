// Package export sends traces over OTLP/HTTP: each live turn with its scores, and on
// wish each run of the repair agent. It is a projection of the event stream, like a
// pane: it reads what the store holds, redacted once more, and never holds up a run.
// What does not fit into its queue, or cannot be delivered, is dropped and counted.
//
// Wire format: opentelemetry.io, OTLP/HTTP 1.x with protobuf bodies; attributes follow
// the OpenTelemetry semantic conventions for generative AI. No gRPC and no SDK.
package export

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"vise/engine/event"
	"vise/engine/guard"
	"vise/engine/trace"
	"vise/store"
)

// Bounds of the exporter.
const (
	queueLength = 256              // traces that wait to be sent
	busLength   = 4096             // events between two looks at the bus
	closeWait   = 5 * time.Second  // for what is queued when the exporter closes
	sendTimeout = 10 * time.Second // of one request
	attempts    = 3                // per trace, at failures that may pass
	retryAfter  = 500 * time.Millisecond
)

// Options of an exporter.
type Options struct {
	// Endpoint is the address of an OTLP/HTTP receiver, such as http://127.0.0.1:4318;
	// /v1/traces is added unless it ends so.
	Endpoint string
	// Headers are sent with every request (an API key, say).
	Headers map[string]string
	// Repairs also sends a trace for each run of the repair agent.
	Repairs bool
	Version string // of this program
	Store   *store.Store
	Bus     *event.Bus
	// Redactor masks every text once more; nil is the default one.
	Redactor *guard.Redactor
	Log      *slog.Logger
}

// Stats say what became of the traces so far.
type Stats struct {
	Sent    int `json:"sent"`
	Dropped int `json:"dropped"` // the queue was full, or closing took too long
	Failed  int `json:"failed"`  // not taken by the receiver
	// Error is the latest failure.
	Error string `json:"error,omitempty"`
}

// Exporter sends traces until it is closed. Its two goroutines are its own.
type Exporter struct {
	o      Options
	client *client
	sub    *event.Subscription
	queue  chan subject
	work   sync.WaitGroup

	collect     context.Context // ends with Close
	stopCollect context.CancelFunc
	send        context.Context // ends when Close has waited long enough
	stopSend    context.CancelFunc

	mu     sync.Mutex
	stats  Stats
	warned bool
}

// subject is a trace to be made: of a turn, or of a run of a repair when episode is set.
type subject struct {
	session string
	turn    int
	episode string
	attempt int
}

// Start begins to export. It asks nothing of the receiver yet: one that is not there
// shows with the first trace. See Probe.
func Start(o Options) (*Exporter, error) {
	c, err := newClient(o.Endpoint, o.Headers)
	if err != nil {
		return nil, fmt.Errorf("export traces: %w", err)
	}
	if o.Redactor == nil {
		o.Redactor = guard.DefaultRedactor()
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	x := &Exporter{o: o, client: c, sub: o.Bus.Subscribe(busLength), queue: make(chan subject, queueLength)}
	x.collect, x.stopCollect = context.WithCancel(context.Background())
	x.send, x.stopSend = context.WithCancel(context.Background())
	x.work.Go(x.collectAll)
	x.work.Go(x.sendAll)
	return x, nil
}

// Stats returns the counts so far.
func (x *Exporter) Stats() Stats {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.stats
}

// Close sends what is queued, at most five seconds long, and ends. It returns the
// final counts; when something was lost they are told on the bus too.
func (x *Exporter) Close() Stats {
	x.stopCollect()
	late := time.AfterFunc(closeWait, x.stopSend)
	x.work.Wait()
	late.Stop()
	x.stopSend()
	x.client.close()
	s := x.Stats()
	if s.Dropped+s.Failed > 0 {
		x.tell(s)
		x.o.Log.Warn("traces were not exported", "sent", s.Sent, "dropped", s.Dropped, "failed", s.Failed, "err", s.Error)
	}
	return s
}

// collectAll turns events into subjects. It only looks and never waits, so that the
// bus does not have to leave events out.
func (x *Exporter) collectAll() {
	defer close(x.queue)
	defer x.sub.Close()
	for {
		batch, err := x.sub.Next(x.collect)
		if err != nil {
			batch, _ = x.sub.TryNext() // what came last
		}
		for _, e := range batch.Events {
			if s, ok := x.subject(e); ok {
				select {
				case x.queue <- s:
				default:
					x.count(func(s *Stats) { s.Dropped++ })
				}
			}
		}
		if err != nil {
			return
		}
	}
}

// subject is what an event says is complete now.
func (x *Exporter) subject(e event.Event) (subject, bool) {
	switch e.Type {
	case event.Skip:
		if e.Data["what"] != "evaluation" {
			return subject{}, false
		}
		fallthrough // a turn that is not scored is a turn all the same
	case event.TurnScored:
		if e.TurnIndex == nil {
			return subject{}, false
		}
		return subject{session: e.SessionID, turn: *e.TurnIndex}, true
	case event.RepairCompleted, event.RepairDuplicate, event.RepairAlreadyCovered, event.RepairNoProposal,
		event.RepairUnactionable, event.RepairTimedOut, event.RepairFailed:
		attempt, _ := e.Data["attempt"].(int)
		return subject{session: e.SessionID, episode: e.EpisodeID, attempt: attempt}, x.o.Repairs && attempt > 0
	}
	return subject{}, false
}

func (x *Exporter) sendAll() {
	tries := attempts // one at a time while the receiver is down
	for s := range x.queue {
		if x.send.Err() != nil {
			x.count(func(s *Stats) { s.Dropped++ })
			continue
		}
		body, err := x.build(s)
		if err == nil && body == nil {
			continue // not live, or gone
		}
		if err == nil {
			err = x.client.post(x.send, body, tries)
		}
		switch {
		case err == nil:
			tries = attempts
			x.count(func(s *Stats) { s.Sent++ })
		case x.send.Err() != nil:
			x.count(func(s *Stats) { s.Dropped++ })
		default:
			tries = 1
			x.fail(err)
		}
	}
}

// build makes the request for a subject; nil when there is nothing to send.
func (x *Exporter) build(s subject) (body []byte, err error) {
	err = x.o.Store.View(func(tx *store.Tx) error {
		if s.episode != "" {
			body, err = x.repairTrace(tx, s)
			return err
		}
		head, ok, err := tx.Session(s.session)
		if err != nil || !ok || head.Origin != trace.Live {
			return err
		}
		body, err = x.turnTrace(tx, head, s.turn)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("make the trace of session %s: %w", s.session, err)
	}
	return body, nil
}

func (x *Exporter) count(change func(*Stats)) {
	x.mu.Lock()
	defer x.mu.Unlock()
	change(&x.stats)
}

// fail counts a trace that could not be delivered; the first one is told at once.
func (x *Exporter) fail(err error) {
	x.mu.Lock()
	x.stats.Failed++
	x.stats.Error = guard.Line(err.Error(), 300)
	first, s := !x.warned, x.stats
	x.warned = true
	x.mu.Unlock()
	if first {
		x.tell(s)
		x.o.Log.Warn("traces cannot be exported; runs go on without", "endpoint", x.client.address, "err", s.Error)
	}
}

// tell publishes the counts as an ephemeral event.
func (x *Exporter) tell(s Stats) {
	x.o.Bus.Publish(event.Event{Type: event.ExportFailed, At: x.o.Store.Now(),
		Data: map[string]any{"sent": s.Sent, "dropped": s.Dropped, "failed": s.Failed, "error": s.Error}})
}

// Probe asks the receiver to take a request without any trace.
func Probe(ctx context.Context, endpoint string, headers map[string]string) error {
	c, err := newClient(endpoint, headers)
	if err != nil {
		return fmt.Errorf("export traces: %w", err)
	}
	defer c.close()
	if err := c.once(ctx, []byte{}); err != nil {
		var p *passing
		if errors.As(err, &p) {
			err = p.error
		}
		return fmt.Errorf("export traces: %w", err)
	}
	return nil
}
