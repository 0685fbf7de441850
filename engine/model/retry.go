package model

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// retrier sends a request again while nothing of an answer has come: on 408,
// 409, 429, 5xx and on network errors. A stream that has begun is never sent
// again: part of it was already shown.
type retrier struct {
	next    http.RoundTripper
	retries int
	now     func() time.Time
	jitter  func() float64
	// tried is told of every request sent.
	tried func()
}

// Do implements the client library's HTTP port.
func (r *retrier) Do(req *http.Request) (*http.Response, error) {
	ctx := req.Context()
	for n := 0; ; n++ {
		try := req
		if n > 0 {
			try = req.Clone(ctx)
			if req.GetBody != nil {
				body, err := req.GetBody()
				if err != nil {
					return nil, err
				}
				try.Body = body
			}
		}
		r.tried()
		if err := zeroTemperature(try); err != nil {
			return nil, err
		}
		resp, err := r.next.RoundTrip(try)
		if n >= r.retries || !again(ctx, resp, err) {
			return resp, err
		}
		wait := r.wait(n, resp)
		if resp != nil {
			asked := retryAfter(resp.Header, r.now())
			if end, ok := ctx.Deadline(); asked > retryMost || ok && asked > 0 && r.now().Add(asked).After(end) {
				return late(resp, asked), nil
			}
		}
		if resp != nil {
			resp.Body.Close()
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return nil, context.Cause(ctx)
		}
	}
}

// zeroTemperature writes 0 where the client library could only be given the smallest
// number above it, since it leaves a 0 out: servers divide by what they are sent. The
// match is a key of the request, never text: quotes in a text are escaped.
func zeroTemperature(req *http.Request) error {
	if req.Body == nil {
		return nil
	}
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return err
	}
	req.Body.Close()
	body = bytes.Replace(body, []byte(`"temperature":1e-45`), []byte(`"temperature":0`), 1)
	req.Body, req.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	return nil
}

// late is an answer whose provider wants the question again later than it is of use: it
// says so in its status, where the error of the question finds it.
func late(resp *http.Response, asked time.Duration) *http.Response {
	body, _ := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	resp.Body.Close()
	said := ""
	if len(bytes.TrimSpace(body)) > 0 {
		said = bodyMessage(body) + ": "
	}
	out, _ := json.Marshal(map[string]any{"error": map[string]string{"message": fmt.Sprintf("%sthe provider asks to wait %s (Retry-After)", said, asked.Round(time.Second))}})
	resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(out)), int64(len(out))
	resp.Header.Set("Content-Type", "application/json")
	return resp
}

func again(ctx context.Context, resp *http.Response, err error) bool {
	if ctx.Err() != nil {
		return false
	}
	if err != nil {
		// An answer that is not this protocol will not be one next time.
		var e *Error
		return !errors.As(err, &e)
	}
	// A provider that knows better says so.
	switch strings.ToLower(resp.Header.Get("X-Should-Retry")) {
	case "false":
		return false
	case "true":
		return resp.StatusCode >= 400
	}
	switch resp.StatusCode {
	case http.StatusRequestTimeout, http.StatusConflict, http.StatusTooManyRequests:
		return true
	}
	return resp.StatusCode >= 500
}

// wait is how long to wait after try n: what the provider asks for (who asks earlier is
// refused again, and counted), else exponential with half of it random up to the cap.
func (r *retrier) wait(n int, resp *http.Response) time.Duration {
	if resp != nil {
		if d := retryAfter(resp.Header, r.now()); d > 0 {
			return min(d, retryMost)
		}
	}
	d := min(retryBase<<min(n, 16), retryCap)
	return d/2 + time.Duration(r.jitter()*float64(d/2))
}

// retryAfter reads Retry-After-Ms and Retry-After (seconds, fractions too, or a date).
func retryAfter(h http.Header, now time.Time) time.Duration {
	if ms, err := strconv.ParseFloat(strings.TrimSpace(h.Get("Retry-After-Ms")), 64); err == nil && ms > 0 {
		return time.Duration(min(ms, 1e9) * float64(time.Millisecond))
	}
	s := strings.TrimSpace(h.Get("Retry-After"))
	if sec, err := strconv.ParseFloat(s, 64); err == nil && sec > 0 {
		return time.Duration(min(sec, 1e6) * float64(time.Second))
	}
	if t, err := http.ParseTime(s); err == nil {
		return t.Sub(now)
	}
	return 0
}

// watchdog ends a request whose stream sends nothing for too long. It sits under
// the normaliser, so that a keep-alive comment counts as a sign of life.
type watchdog struct {
	next   http.RoundTripper
	idle   time.Duration
	cancel context.CancelCauseFunc
}

// RoundTrip implements http.RoundTripper.
func (w watchdog) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := w.next.RoundTrip(req)
	if err != nil {
		return resp, err
	}
	resp.Body = &watched{ReadCloser: resp.Body, idle: w.idle, timer: time.AfterFunc(w.idle, func() { w.cancel(ErrIdle) })}
	return resp, nil
}

type watched struct {
	io.ReadCloser
	idle  time.Duration
	timer *time.Timer
	once  sync.Once
}

func (w *watched) Read(p []byte) (int, error) {
	n, err := w.ReadCloser.Read(p)
	if err != nil {
		w.timer.Stop()
	} else if n > 0 {
		w.timer.Reset(w.idle)
	}
	return n, err
}

func (w *watched) Close() error {
	w.once.Do(func() { w.timer.Stop() })
	return w.ReadCloser.Close()
}
