// Package llmproxy stands between an agent and its model: an OpenAI-compatible
// endpoint on the loopback that passes every byte on as it comes and keeps what
// went through, or answers from such a recording.
//
// Each run has a token of its own, which the agent takes for its API key; the real
// key is added here and never reaches the agent. What was said becomes the spans of
// the turn (Tracer), so that an agent without any instrumentation is seen too.
package llmproxy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"vise/engine/guard"
	"vise/engine/model"
	"vise/engine/model/cassette"
	"vise/replay/loopback"
)

// Bounds of the HTTP server.
const (
	maxRequests = 64 // at once; more are told to come back
	base        = "/v1"
)

// Upstream is the endpoint that requests are passed on to.
type Upstream struct {
	// BaseURL up to, not including, "/chat/completions".
	BaseURL string
	// Key returns the API key that is sent in place of the run's token; nil sends none.
	Key func() (string, error)
	// Price of a model; nil, or a nil result, when it is unknown.
	Price func(model string) *model.Price
	// OutputField names the field of a chat request that bounds the answer of a model; nil
	// takes "max_tokens". It is added to requests that name no limit where a budget is set.
	OutputField func(model string) string
}

// Run is what one run of the agent may do with its model.
type Run struct {
	// Upstream is asked; it is not needed with a Tape.
	Upstream Upstream
	// Tape answers instead of the upstream: nothing leaves the machine.
	Tape *cassette.Tape
	// Matcher knows the run's places and masks credentials.
	Matcher cassette.Matcher
	// OnExchange is called once per request, when its answer has ended, one at a time.
	OnExchange func(cassette.Exchange)
	// OnQuestion, if set, is told of each question before it goes out and returns who is
	// told of its end: once, of the exchange, or, with none, why it was not sent. OnExchange
	// hears then of other requests alone.
	OnQuestion func(Question) (ended func(*cassette.Exchange, error))
	// OnRefused is called when a request is not sent on: the budget is spent, there is
	// no key, the provider cannot be reached.
	OnRefused func(error)
	// Ledger counts and bounds what is asked; nil counts nothing.
	Ledger *model.Ledger
}

// Server is the loopback server. Its goroutines end with Close or with the context
// that Start was given.
type Server struct {
	*loopback.Server
	next http.RoundTripper
	now  func() time.Time
	runs loopback.Tokens[*granted]
}

// granted is one run behind its token.
type granted struct {
	run   Run
	proxy *httputil.ReverseProxy
	one   sync.Mutex // OnExchange, one at a time

	mu   sync.Mutex
	open int           // requests under way
	idle chan struct{} // closed when open falls to 0; nil while it is 0
}

// Options of a server.
type Options struct {
	// Transport reaches the upstreams; nil takes one that follows the environment's proxy settings.
	Transport http.RoundTripper
	// Now is the clock of the recordings; nil takes time.Now.
	Now func() time.Time
}

// Start listens on a free port of 127.0.0.1 and serves until Close, or until the
// context ends.
func Start(ctx context.Context, o Options) (*Server, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Transport == nil {
		t := http.DefaultTransport.(*http.Transport).Clone()
		t.ResponseHeaderTimeout = 10 * time.Minute // a model may think
		o.Transport = t
	}
	s := &Server{next: o.Transport, now: o.Now}
	var err error
	// A model may think for long: nothing bounds an answer but the run itself.
	s.Server, err = loopback.Start(ctx, "model proxy", s, 0, 0)
	if err != nil {
		return nil, err
	}
	return s, nil
}

// URL is the base that agents are given as their provider's, up to and including "/v1".
func (s *Server) URL() string { return s.Server.URL(base) }

// Grant makes a token for a run. The error names what is wrong with the upstream's address.
func (s *Server) Grant(r Run) (token string, err error) {
	g := &granted{run: r}
	exchange := func(ctx context.Context, e cassette.Exchange) {
		settle(ctx, e)
		e.Limit = limitOf(ctx)
		if ended, ok := ctx.Value(asked{}).(func(*cassette.Exchange, error)); ok {
			ended(&e, nil)
			return
		}
		g.one.Lock()
		defer g.one.Unlock()
		if r.OnExchange != nil {
			r.OnExchange(e)
		}
	}
	var to *url.URL
	var via http.RoundTripper
	name := func(req *http.Request) string {
		return strings.TrimPrefix(req.URL.Path, strings.TrimRight(to.Path, "/"))
	}
	if r.Tape != nil {
		to = &url.URL{Scheme: "http", Host: "recording.invalid", Path: base}
		via = &cassette.Player{Tape: r.Tape, Matcher: r.Matcher, OnExchange: exchange, Now: s.now, Path: name}
	} else {
		if to, err = url.Parse(strings.TrimRight(r.Upstream.BaseURL, "/")); err != nil || to.Host == "" || to.Scheme != "http" && to.Scheme != "https" {
			return "", fmt.Errorf("model proxy: the provider's base_url %q is not an http address", r.Upstream.BaseURL)
		}
		via = &spending{next: &cassette.Recorder{Next: limiter{s.next, r.Upstream.OutputField}, Matcher: r.Matcher, OnExchange: exchange, Now: s.now, Path: name}, run: &g.run}
	}
	g.proxy = &httputil.ReverseProxy{
		Transport:     via,
		FlushInterval: -1,
		ErrorLog:      log.New(io.Discard, "", 0),
		Rewrite: func(p *httputil.ProxyRequest) {
			p.Out.URL.Scheme, p.Out.URL.Host, p.Out.Host = to.Scheme, to.Host, to.Host
			// As it was written too: a model's name may hold an escaped slash.
			p.Out.URL.Path = strings.TrimRight(to.Path, "/") + strings.TrimPrefix(p.In.URL.Path, base)
			p.Out.URL.RawPath = strings.TrimRight(to.EscapedPath(), "/") + strings.TrimPrefix(p.In.URL.EscapedPath(), base)
			for _, h := range []string{"Authorization", "X-Api-Key", "Api-Key", "Cookie", "Accept-Encoding", "Forwarded", "X-Forwarded-For", Header} {
				p.Out.Header.Del(h)
			}
		},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			if r.OnRefused != nil {
				r.OnRefused(err)
			}
			status := http.StatusBadGateway
			if errors.Is(err, model.ErrBudget) {
				status = http.StatusPaymentRequired
			}
			text, _ := guard.DefaultRedactor().Text(err.Error())
			refuse(w, status, text)
		},
	}
	return s.runs.Grant(g, s.now(), time.Time{}), nil
}

// Wait returns when the run has no request under way, with every exchange told: a
// client hangs up at the last word, before we know that it was the last. The error
// is the context's.
func (s *Server) Wait(ctx context.Context, token string) error {
	g, ok := s.runs.Lookup(token, s.now())
	if !ok {
		return nil
	}
	g.mu.Lock()
	idle := g.idle
	g.mu.Unlock()
	if idle == nil {
		return nil
	}
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait for the agent's model calls: %w", context.Cause(ctx))
	}
}

// Revoke ends a token at once.
func (s *Server) Revoke(token string) { s.runs.Revoke(token) }

// begin counts a request in, unless there are too many; end counts it out.
func (g *granted) begin() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.open >= maxRequests {
		return false
	}
	if g.open++; g.idle == nil {
		g.idle = make(chan struct{})
	}
	return true
}

func (g *granted) end() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.open--; g.open == 0 {
		close(g.idle)
		g.idle = nil
	}
}

// ServeHTTP checks who sends a request, then passes it on.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	token := loopback.Bearer(r.Header)
	for _, other := range []string{"X-Api-Key", "Api-Key"} {
		if token == "" {
			token = r.Header.Get(other)
		}
	}
	g, known := s.runs.Lookup(token, s.now())
	switch {
	case !known:
		refuse(w, http.StatusUnauthorized, "the token is unknown or revoked: use the OPENAI_API_KEY that this run was given")
	case !strings.HasPrefix(r.URL.Path, base+"/") || climbs(r.URL.Path):
		refuse(w, http.StatusNotFound, "there is nothing at "+r.URL.Path+"; the base of the API is "+base)
	case !g.begin():
		w.Header().Set("Retry-After", "1")
		refuse(w, http.StatusTooManyRequests, fmt.Sprintf("more than %d requests at once", maxRequests))
	default:
		defer g.end()
		if g.run.OnQuestion != nil {
			r = r.WithContext(context.WithValue(r.Context(), came{}, origin{r.Header.Clone(), r.RemoteAddr}))
		}
		g.proxy.ServeHTTP(w, r)
	}
}

// climbs: a path with ".." would leave the provider's API, with its key.
func climbs(path string) bool {
	return slices.Contains(strings.FieldsFunc(path, func(r rune) bool { return r == '/' || r == '\\' }), "..")
}

// refuse answers as providers do, and asks clients not to try again.
func refuse(w http.ResponseWriter, status int, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Should-Retry", "false")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]any{"error": map[string]any{"message": "vise: " + message, "type": "proxy_error"}})
}
