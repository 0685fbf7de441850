package store

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Handler does what another process asks of the owner, within a second or so. The
// socket is the user's own, but a program that the user runs may reach it: a handler
// must do nothing that such a program may not do.
type Handler func(ctx context.Context, request []byte) (reply []byte, err error)

// OnRequest sets what answers requests of other processes; nil = nothing does.
func (s *Store) OnRequest(h Handler) { s.handler.Store(&h) }

// errNoHandler is the answer of an owner that runs nothing that could be asked.
var errNoHandler = errors.New("it takes no requests now")

func (s *Store) answer(ctx context.Context, request []byte) ([]byte, error) {
	h := s.handler.Load()
	if h == nil || *h == nil {
		return nil, errNoHandler
	}
	return (*h)(ctx, request)
}

// Request asks the owner of the store in dir to do something. An error tells that there
// is none, or what it answers.
func Request(ctx context.Context, dir string, request []byte) ([]byte, error) {
	r, err := dial(ctx, dir)
	if err != nil {
		return nil, fmt.Errorf("ask the owner of the store: %w", err)
	}
	defer r.c.Close()
	ans, reply, err := r.ask(requestLimit, opAsk, request)
	if err == nil && ans != ansValue {
		err = errShort
	}
	if err != nil {
		return nil, fmt.Errorf("ask the owner of the store: %w", err)
	}
	return reply, nil
}

// requestLimit is how long the owner may take: it may stand still for a while.
const requestLimit = 60 * time.Second
