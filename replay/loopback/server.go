// Package loopback is what our HTTP servers for agents have in common: they listen on
// a free port of 127.0.0.1, answer programs of this machine only, and know each run
// by a token of its own.
package loopback

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"strings"
	"time"
)

// Server is one HTTP server. Its goroutines end with Close or with the context that
// Start was given.
type Server struct {
	name string
	host string // 127.0.0.1:port
	http *http.Server
	stop func() bool
	done chan error
}

// Start serves h until Close, or until the context ends. name is what errors call it;
// read and write bound a request and its answer, 0 does not.
func Start(ctx context.Context, name string, h http.Handler, read, write time.Duration) (*Server, error) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp4", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("start %s: listen on loopback: %w", name, err)
	}
	s := &Server{name: name, host: l.Addr().String(), done: make(chan error, 1)}
	s.http = &http.Server{
		Handler:           s.local(h),
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       read,
		WriteTimeout:      write,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
		ErrorLog:          log.New(io.Discard, "", 0),
	}
	go func() { s.done <- s.http.Serve(newBounded(l)) }()
	s.stop = context.AfterFunc(ctx, func() { s.http.Close() })
	return s, nil
}

// Host is the server's address, "127.0.0.1:port"; URL is its address with a path.
func (s *Server) Host() string           { return s.host }
func (s *Server) URL(path string) string { return "http://" + s.host + path }

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
		return fmt.Errorf("close %s: it had stopped serving: %w", s.name, serve)
	}
	if err != nil {
		return fmt.Errorf("close %s: cut requests under way: %w", s.name, err)
	}
	return nil
}

// local refuses what a web page could send through the browser of the person who
// works here, be it by a name that resolves to loopback or from another origin.
func (s *Server) local(next http.Handler) http.Handler {
	_, port, _ := net.SplitHostPort(s.host)
	ours := func(host string) bool { return host == s.host || host == "localhost:"+port }
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		site := r.Header.Get("Sec-Fetch-Site")
		origin := r.Header.Get("Origin")
		rest, plain := strings.CutPrefix(origin, "http://")
		if !ours(r.Host) || site != "" && site != "same-origin" && site != "none" || origin != "" && !(plain && ours(rest)) {
			http.Error(w, "this server answers programs on this machine only", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}
