package cassette

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// Recorder is a transport that keeps what passes through it. OnExchange is called
// once per request with the request's context, when its answer has ended, from the
// goroutine that read it.
type Recorder struct {
	Next       http.RoundTripper
	Matcher    Matcher
	OnExchange func(context.Context, Exchange)
	// Path names the request's path in the recording; nil takes the URL's.
	Path func(*http.Request) string
	Now  func() time.Time

	seq atomic.Int64
}

// kept are the headers of an answer that clients act on.
var kept = []string{"Content-Type", "Retry-After", "Retry-After-Ms", "X-Should-Retry"}

// RoundTrip implements http.RoundTripper.
func (r *Recorder) RoundTrip(req *http.Request) (*http.Response, error) {
	body, err := take(req)
	if err != nil {
		return nil, err
	}
	canonical, masked := r.Matcher.Canonical(body)
	e := Exchange{Seq: int(r.seq.Add(1)), Method: req.Method, Path: pathOf(r.Path, req), Request: canonical, Masked: masked, Started: r.Now()}
	e.Key = Key(e.Method, e.Path, canonical)
	// The bytes must be readable: the client undoes no compression that it did not ask for.
	req.Header.Del("Accept-Encoding")
	resp, err := r.Next.RoundTrip(req)
	if err != nil {
		e.Error, e.Elapsed = err.Error(), r.Now().Sub(e.Started)
		r.done(req.Context(), e)
		return nil, err
	}
	e.Status = resp.StatusCode
	e.Header = map[string]string{}
	for _, k := range kept {
		if v := resp.Header.Get(k); v != "" {
			e.Header[k] = v
		}
	}
	resp.Body = &tee{ctx: req.Context(), body: resp.Body, e: e, r: r, last: e.Started}
	return resp, nil
}

// done masks the answer and hands the exchange over.
func (r *Recorder) done(ctx context.Context, e Exchange) {
	if e.Error == "" && e.check() != nil {
		e.Error = "the answer has no body"
	}
	if r.Matcher.Mask != nil {
		body, n := e.Body, 0
		if e.Streamed() {
			body, n = maskStream(body, r.Matcher.Mask)
		} else {
			var text string
			text, n = r.Matcher.Mask(string(body))
			body = []byte(text)
		}
		if n > 0 {
			// The pieces no longer fit; the time they took does.
			var pause int64
			for _, p := range e.Parts {
				pause += p[0]
			}
			e.Body, e.Masked, e.Parts = body, e.Masked+n, [][2]int64{{pause, int64(len(body))}}
		}
		e.Error, _ = r.Matcher.Mask(e.Error)
	}
	if r.OnExchange != nil {
		r.OnExchange(ctx, e)
	}
}

// tee keeps what is read through it.
type tee struct {
	ctx  context.Context
	body io.ReadCloser
	r    *Recorder
	once sync.Once
	e    Exchange
	last time.Time
	full bool
}

func (t *tee) Read(b []byte) (int, error) {
	n, err := t.body.Read(b)
	if n > 0 && !t.full {
		if len(t.e.Body)+n > MaxBody {
			t.full = true
		} else {
			now := t.r.Now()
			t.e.Body = append(t.e.Body, b[:n]...)
			pause := now.Sub(t.last).Milliseconds()
			if k := len(t.e.Parts); pause == 0 && k > 0 || k == maxParts {
				t.e.Parts[k-1][1] += int64(n)
			} else {
				t.e.Parts = append(t.e.Parts, [2]int64{pause, int64(n)})
			}
			t.last = now
			if bytes.HasSuffix(t.e.Body, []byte("\n\n")) && t.e.whole() {
				// Before the last event is passed on: whoever reads it may ask the next
				// question at once, and this exchange came first.
				t.end(false)
			}
		}
	}
	if err != nil {
		t.end(err != io.EOF)
	}
	return n, err
}

// Close before the end cuts the answer: whoever read it had enough, or had gone.
func (t *tee) Close() error {
	t.end(true)
	return t.body.Close()
}

func (t *tee) end(cut bool) {
	t.once.Do(func() {
		// Clients hang up at the last event and do not wait for the end behind it.
		t.e.Cut = cut && !t.e.whole() || t.full
		if t.full {
			t.e.Error = fmt.Sprintf("the answer is larger than %d MB; the rest was passed on and not kept", MaxBody>>20)
		}
		t.e.Elapsed = t.r.Now().Sub(t.e.Started)
		t.r.done(t.ctx, t.e)
	})
}

// Player is a transport that answers from a tape and reaches no network.
type Player struct {
	Tape    *Tape
	Matcher Matcher
	// Pace stretches the recorded pauses: 0 leaves them out, 1 keeps them.
	Pace float64
	Path func(*http.Request) string
	// OnExchange is called with every answer handed out, when it has been read.
	OnExchange func(context.Context, Exchange)
	Now        func() time.Time
}

// RoundTrip implements http.RoundTripper. A miss is an answer of status 404 that
// says so and asks not to be retried.
func (p *Player) RoundTrip(req *http.Request) (*http.Response, error) {
	body, err := take(req)
	if err != nil {
		return nil, err
	}
	canonical, masked := p.Matcher.Canonical(body)
	path := pathOf(p.Path, req)
	resp := &http.Response{Request: req, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: http.Header{}, ContentLength: -1}
	e, miss := p.Tape.Take(req.Method, path, canonical)
	if miss != nil {
		text, _ := json.Marshal(map[string]any{"error": map[string]any{
			"message": "vise: this request is not in the recording that is played back (key " + miss.Key + ")", "type": "replay_miss", "code": "replay_miss"}})
		resp.StatusCode = http.StatusNotFound
		resp.Header.Set("Content-Type", "application/json")
		resp.Header.Set("X-Should-Retry", "false")
		resp.Body = io.NopCloser(bytes.NewReader(text))
		resp.ContentLength = int64(len(text))
		return resp, nil
	}
	resp.StatusCode = e.Status
	for k, v := range e.Header {
		resp.Header.Set(k, v)
	}
	again := *e
	again.Started, again.Masked = p.Now(), masked
	resp.Body = &playing{ctx: req.Context(), e: again, p: p}
	return resp, nil
}

// playing reads a recorded answer with its pauses.
type playing struct {
	ctx  context.Context
	p    *Player
	e    Exchange
	part int
	off  int64 // within the part
	pos  int64
	once sync.Once
}

func (b *playing) Read(buf []byte) (int, error) {
	for {
		if b.part >= len(b.e.Parts) {
			b.end()
			if b.e.Cut {
				return 0, io.ErrUnexpectedEOF
			}
			return 0, io.EOF
		}
		part := b.e.Parts[b.part]
		if b.off == 0 && b.p.Pace > 0 && part[0] > 0 {
			pause := time.NewTimer(time.Duration(float64(part[0])*b.p.Pace) * time.Millisecond)
			select {
			case <-pause.C:
			case <-b.ctx.Done():
				pause.Stop()
				return 0, context.Cause(b.ctx)
			}
		}
		n := copy(buf, b.e.Body[b.pos:b.pos+part[1]-b.off])
		b.off += int64(n)
		b.pos += int64(n)
		if b.off == part[1] {
			b.part, b.off = b.part+1, 0
		}
		if b.part >= len(b.e.Parts) {
			b.end() // before the last bytes are passed on: the next question may follow at once
		}
		if n > 0 {
			return n, nil
		}
	}
}

func (b *playing) end() {
	b.once.Do(func() {
		b.e.Elapsed = b.p.Now().Sub(b.e.Started)
		if b.p.OnExchange != nil {
			b.p.OnExchange(b.ctx, b.e)
		}
	})
}

func (b *playing) Close() error {
	b.end()
	return nil
}

// take reads a request's body and puts it back.
func take(req *http.Request) ([]byte, error) {
	if req.Body == nil {
		return nil, nil
	}
	body, err := io.ReadAll(io.LimitReader(req.Body, MaxRequest+1))
	req.Body.Close()
	if err != nil {
		return nil, fmt.Errorf("read request: %w", err)
	}
	if len(body) > MaxRequest {
		return nil, fmt.Errorf("the request is larger than %d MB", MaxRequest>>20)
	}
	req.Body = io.NopCloser(bytes.NewReader(body))
	req.ContentLength = int64(len(body))
	return body, nil
}

func pathOf(f func(*http.Request) string, req *http.Request) string {
	if f != nil {
		return f(req)
	}
	return req.URL.Path
}
