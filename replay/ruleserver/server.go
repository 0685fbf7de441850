// Package ruleserver offers the four read-only rule tools to agents over the Model
// Context Protocol: on loopback HTTP for the runs of a replay, on standard input
// and output for any agent, and as a bridge between the two.
//
// Each run has a token of its own, and behind the token a toolset of its own: what
// it may see and the ledger of what it was shown. A tool that is not one of the four
// has no handler on any server here, so there is nothing to write with.
package ruleserver

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"vise/engine/rule"
	"vise/engine/rule/tools"
)

// Bounds of the HTTP server.
const (
	maxBody     = 1 << 20 // bytes of one request
	maxRequests = 64      // at once; more are told to come back
	defaultTTL  = 24 * time.Hour
	path        = "/mcp"
)

// Options of a server.
type Options struct {
	// Source is where every call reads the rules, fresh each time.
	Source rule.Source
	// Silent leaves out the MCP instructions that tell an agent of its tools.
	Silent bool
	// OnSurface, if set, learns of rules handed to a run for the first time. It is
	// called from the request that did it and must not block.
	OnSurface func(run Run, ids []string)
	// Now is the clock tokens expire by; nil = time.Now.
	Now func() time.Time
}

// Run names the run a token is for and what it may see.
type Run struct {
	RunID  string
	CaseID string
	Tools  tools.Options
	// Source is where this run's calls read the rules; nil = where the server's do. A
	// replay brings the rules it is to see.
	Source rule.Source
	// TTL is how long the token is good for; 0 = a day. A run revokes it earlier.
	TTL time.Duration
}

// Grant is what a run gets: the token for its agent and the toolset behind it, whose
// ledger belongs to this run and case alone.
type Grant struct {
	Token   string
	Toolset *tools.Toolset
	// Offered tells whether the agent has come to the server with this token: it knows
	// of the tools then.
	Offered func() bool
}

// Server is the loopback server. Its goroutines end with Close or with the context
// that Start was given.
type Server struct {
	opts Options
	host string // 127.0.0.1:port
	http *http.Server
	stop func() bool
	done chan error

	mu     sync.RWMutex
	grants map[[sha256.Size]byte]*granted
}

// granted is a token's entry. Only the digest of the token is kept.
type granted struct {
	server *mcp.Server
	until  time.Time
	came   atomic.Bool
}

// Start listens on a free port of 127.0.0.1 and serves until Close, or until the
// context ends.
func Start(ctx context.Context, o Options) (*Server, error) {
	if o.Source == nil {
		return nil, errors.New("start rule server: no source of rules is given")
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp4", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("start rule server: listen on loopback: %w", err)
	}
	s := &Server{opts: o, host: l.Addr().String(), done: make(chan error, 1), grants: map[[sha256.Size]byte]*granted{}}
	s.http = &http.Server{
		Handler:           s.handler(),
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       30 * time.Second,
		WriteTimeout:      time.Minute,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
		ErrorLog:          discardLog(),
	}
	go func() { s.done <- s.http.Serve(l) }()
	s.stop = context.AfterFunc(ctx, func() { s.http.Close() })
	return s, nil
}

// URL is the address of the MCP endpoint.
func (s *Server) URL() string { return "http://" + s.host + path }

// Close stops the server. Requests under way may finish until the context ends;
// then they are cut. Close may be called more than once.
func (s *Server) Close(ctx context.Context) error {
	s.stop()
	err := s.http.Shutdown(ctx)
	if err != nil {
		s.http.Close()
	}
	serve := <-s.done
	s.done <- serve
	if serve != nil && !errors.Is(serve, http.ErrServerClosed) {
		return fmt.Errorf("close rule server: it had stopped serving: %w", serve)
	}
	if err != nil {
		return fmt.Errorf("close rule server: cut requests under way: %w", err)
	}
	return nil
}

// Grant makes a token for a run, with a view and a ledger of its own.
func (s *Server) Grant(r Run) Grant {
	source := r.Source
	if source == nil {
		source = s.opts.Source
	}
	g := Grant{Token: rand.Text(), Toolset: tools.New(source, r.Tools)}
	if s.opts.OnSurface != nil {
		g.Toolset.OnSurface(func(ids []string) { s.opts.OnSurface(r, ids) })
	}
	if r.TTL <= 0 {
		r.TTL = defaultTTL
	}
	now := s.opts.Now()
	e := &granted{server: newServer(g.Toolset, s.opts.Silent), until: now.Add(r.TTL)}
	g.Offered = e.came.Load
	s.mu.Lock()
	defer s.mu.Unlock()
	for key, old := range s.grants { // a run that never revoked leaves nothing behind
		if !now.Before(old.until) {
			delete(s.grants, key)
		}
	}
	s.grants[sha256.Sum256([]byte(g.Token))] = e
	return g
}

// Revoke ends a token at once. The toolset and its ledger stay with whoever holds them.
func (s *Server) Revoke(token string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.grants, sha256.Sum256([]byte(token)))
}

// lookup finds a token's server. Looking its digest up tells nothing about other
// tokens by the time it takes.
func (s *Server) lookup(token string) *mcp.Server {
	s.mu.RLock()
	defer s.mu.RUnlock()
	e := s.grants[sha256.Sum256([]byte(token))]
	if e == nil || !s.opts.Now().Before(e.until) {
		return nil
	}
	e.came.Store(true)
	return e.server
}

// view carries a request's server from the token check to the MCP handler.
type view struct{}

// handler checks where a request comes from, then who sends it, then serves MCP.
func (s *Server) handler() http.Handler {
	inner := mcp.NewStreamableHTTPHandler(func(r *http.Request) *mcp.Server {
		server, _ := r.Context().Value(view{}).(*mcp.Server)
		return server
	}, &mcp.StreamableHTTPOptions{Stateless: true, JSONResponse: true, MaxRequestBodyBytes: maxBody, PropagateRequestCancellation: true})
	slots := make(chan struct{}, maxRequests)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// A web page must not reach us through the browser of the person who works
		// here, be it by a name that resolves to loopback or from another origin.
		if !s.local(r.Host) || !s.localOrigin(r.Header) {
			http.Error(w, "this server answers programs on this machine only", http.StatusForbidden)
			return
		}
		token, bearer := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		server := s.lookup(token)
		if !bearer || server == nil {
			w.Header().Set("WWW-Authenticate", `Bearer realm="vise"`)
			http.Error(w, "the token is unknown, expired or revoked", http.StatusUnauthorized)
			return
		}
		if r.URL.Path != path {
			http.NotFound(w, r)
			return
		}
		select {
		case slots <- struct{}{}:
			defer func() { <-slots }()
		default:
			w.Header().Set("Retry-After", "1")
			http.Error(w, "too many requests at once", http.StatusServiceUnavailable)
			return
		}
		inner.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), view{}, server)))
	})
}

// local reports whether a Host header names this server.
func (s *Server) local(host string) bool {
	_, port, _ := net.SplitHostPort(s.host)
	return host == s.host || host == "localhost:"+port
}

func (s *Server) localOrigin(h http.Header) bool {
	if site := h.Get("Sec-Fetch-Site"); site != "" && site != "same-origin" && site != "none" {
		return false
	}
	origin := h.Get("Origin")
	rest, ok := strings.CutPrefix(origin, "http://")
	return origin == "" || ok && s.local(rest)
}
