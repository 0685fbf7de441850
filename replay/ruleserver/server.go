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
	"errors"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"vise/engine/rule"
	"vise/engine/rule/tools"
	"vise/replay/loopback"
)

// Bounds of the HTTP server.
const (
	maxBody    = 1 << 20 // bytes of one request
	defaultTTL = 24 * time.Hour
	path       = "/mcp"
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
	// OnRead, if set, is told of every call that hands out the texts of rules. It is called
	// from the request and must not wait.
	OnRead func(ids []string)
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
	*loopback.Server
	opts   Options
	grants loopback.Tokens[*granted]
}

// granted is what stands behind a token.
type granted struct {
	server *mcp.Server
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
	s := &Server{opts: o}
	var err error
	s.Server, err = loopback.Start(ctx, "rule server", s.handler(), 30*time.Second, time.Minute)
	if err != nil {
		return nil, err
	}
	return s, nil
}

// URL is the address of the MCP endpoint.
func (s *Server) URL() string { return s.Server.URL(path) }

// Grant makes a token for a run, with a view and a ledger of its own.
func (s *Server) Grant(r Run) Grant {
	source := r.Source
	if source == nil {
		source = s.opts.Source
	}
	g := Grant{Toolset: tools.New(source, r.Tools)}
	if s.opts.OnSurface != nil {
		g.Toolset.OnSurface(func(ids []string) { s.opts.OnSurface(r, ids) })
	}
	if r.OnRead != nil {
		g.Toolset.OnRead(r.OnRead)
	}
	if r.TTL <= 0 {
		r.TTL = defaultTTL
	}
	now := s.opts.Now()
	e := &granted{server: newServer(g.Toolset, s.opts.Silent)}
	g.Offered = e.came.Load
	g.Token = s.grants.Grant(e, now, now.Add(r.TTL))
	return g
}

// Revoke ends a token at once. The toolset and its ledger stay with whoever holds them.
func (s *Server) Revoke(token string) { s.grants.Revoke(token) }

// view carries a request's server from the token check to the MCP handler.
type view struct{}

// handler checks where a request comes from, then who sends it, then serves MCP.
func (s *Server) handler() http.Handler {
	inner := mcp.NewStreamableHTTPHandler(func(r *http.Request) *mcp.Server {
		server, _ := r.Context().Value(view{}).(*mcp.Server)
		return server
	}, &mcp.StreamableHTTPOptions{Stateless: true, JSONResponse: true, MaxRequestBodyBytes: maxBody, PropagateRequestCancellation: true})
	return s.grants.Admit(s.opts.Now, func(w http.ResponseWriter, r *http.Request, run *granted) {
		run.came.Store(true)
		if r.URL.Path != path {
			http.NotFound(w, r)
			return
		}
		inner.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), view{}, run.server)))
	})
}
