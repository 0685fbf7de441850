package replay

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"vise/engine/episode"
	"vise/engine/event"
	"vise/engine/model/cassette"
	"vise/engine/trace"
	"vise/replay/llmproxy"
)

// desk is a host that keeps what it is given.
type desk struct {
	mu      sync.Mutex
	log     []string // in order
	turns   []trace.Turn
	heads   map[string]trace.Session
	failing int // settles whose repair fails
}

func (d *desk) say(format string, args ...any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.log = append(d.log, fmt.Sprintf(format, args...))
}

// settled counts the settles so far.
func (d *desk) settled() (n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, s := range d.log {
		if strings.HasPrefix(s, "settle ") {
			n++
		}
	}
	return n
}

func (d *desk) Hidden(context.Context, trace.Session) ([]string, error) { return nil, nil }
func (d *desk) Publish(event.Event)                                     {}
func (d *desk) Await(_ context.Context, id string) (bool, error) {
	d.say("scored %s", id)
	return true, nil
}
func (d *desk) BeginSession(_ context.Context, s trace.Session, _ event.Event) error {
	d.say("begin %s %q", s.ID, s.Title)
	return nil
}
func (d *desk) EndSession(_ context.Context, s trace.Session, e event.Event) error {
	d.say("end %s: %v, %v turns", s.ID, e.Data["exit"], e.Data["turns"])
	d.mu.Lock()
	defer d.mu.Unlock()
	d.heads[s.ID] = s
	return nil
}
func (d *desk) EndTurn(_ context.Context, t trace.Turn) error {
	d.say("turn %s %q: %d spans, %s", t.TraceID, t.Input, len(t.Spans), t.StopReason)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.turns = append(d.turns, t)
	return nil
}
func (d *desk) KeepCalls(_ context.Context, id string, turn int, calls []cassette.Exchange) error {
	d.say("calls %s.%d: %d", id, turn, len(calls))
	return nil
}
func (d *desk) Settle(_ context.Context, id string) (episode.Settlement, error) {
	d.say("settle %s", id)
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.failing > 0 {
		d.failing--
		return episode.Settlement{Evaluated: true, Repair: &episode.Result{Status: episode.TimedOut}}, nil
	}
	return episode.Settlement{Evaluated: true}, nil
}

// listening runs a listener in a bubble of its own time.
func listening(t *testing.T, o ListenerOptions, do func(l *Listener, d *desk)) (d *desk, cut bool) {
	synctest.Test(t, func(t *testing.T) {
		d = &desk{heads: map[string]trace.Session{}}
		ids := 0
		o.TurnGap, o.Longest, o.SessionGap, o.Again, o.Now = 3*time.Second, time.Minute, 10*time.Minute, time.Minute, time.Now
		o.NewID = func(prefix string) string { ids++; return fmt.Sprintf("%s%d", prefix, ids) }
		if o.OnError == nil {
			o.OnError = func(err error) { t.Error(err) }
		}
		l := NewListener(d, o)
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan bool)
		go func() { ended <- l.Run(ctx) }()
		do(l, d)
		synctest.Wait()
		stop()
		cut = <-ended
	})
	return d, cut
}

// talk is a conversation as an agent holds it.
type talk struct {
	header   http.Header
	conn     string
	messages []any
}

func (c *talk) user(text string) *talk {
	c.messages = append(c.messages, map[string]any{"role": "user", "content": text})
	return c
}

// step asks the model, which answers with a text or, with "call:ID", a call; the result of
// the call is in the next question. A failed one says nothing.
func (c *talk) step(t testing.TB, l *Listener, answer string) {
	t.Helper()
	end := c.open(t, l)
	time.Sleep(time.Second)
	end(answer)
}

func (c *talk) open(t testing.TB, l *Listener) (end func(answer string)) {
	t.Helper()
	body, err := json.Marshal(map[string]any{"model": "m", "messages": c.messages})
	if err != nil {
		t.Fatal(err)
	}
	q, ok := llmproxy.ReadQuestion(c.header, "/chat/completions", body)
	if !ok {
		t.Fatalf("no question: %s", body)
	}
	q.Conn = c.conn
	begun := time.Now()
	ended := l.Question(q)
	return func(answer string) {
		e := &cassette.Exchange{Method: "POST", Path: "/chat/completions", Request: body, Status: 200, Header: map[string]string{"Content-Type": "application/json"}, Started: begun, Elapsed: time.Since(begun)}
		message := map[string]any{"role": "assistant", "content": answer}
		id, called := strings.CutPrefix(answer, "call:")
		switch {
		case answer == "fail":
			e.Status, e.Body = 500, []byte(`{"error":{"message":"broken"}}`)
			ended(e, nil)
			return
		case answer == "cut":
			e.Cut, e.Body = true, []byte(`{"choi`)
			ended(e, nil)
			return
		case called:
			message = map[string]any{"role": "assistant", "tool_calls": []any{map[string]any{"id": id, "type": "function", "function": map[string]any{"name": "look", "arguments": "{}"}}}}
		}
		e.Body, _ = json.Marshal(map[string]any{"model": "m", "choices": []any{map[string]any{"message": message, "finish_reason": "stop"}}})
		c.messages = append(c.messages, message)
		if called {
			c.messages = append(c.messages, map[string]any{"role": "tool", "tool_call_id": id, "content": "seen"})
		}
		ended(e, nil)
	}
}

func wants(t *testing.T, d *desk, want ...string) {
	t.Helper()
	if !slices.Equal(d.log, want) {
		t.Errorf("the host was told\n  %s\nwant\n  %s", strings.Join(d.log, "\n  "), strings.Join(want, "\n  "))
	}
}
