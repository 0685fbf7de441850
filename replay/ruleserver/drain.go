package ruleserver

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// drainTimeout bounds how long the end of a client's messages waits for the answers
// to those it sent.
const drainTimeout = 30 * time.Second

// draining is a transport for clients that write their requests, close their side
// and then read: a shell pipe does. The protocol's connection drops what is not
// answered when the input ends, so the end is kept from it until all is answered.
type draining struct{ mcp.Transport }

func (d draining) Connect(ctx context.Context) (mcp.Connection, error) {
	c, err := d.Transport.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &drainConn{Connection: c, pending: map[any]bool{}, idle: make(chan struct{}, 1), closed: make(chan struct{})}, nil
}

type drainConn struct {
	mcp.Connection
	mu      sync.Mutex
	pending map[any]bool  // ids of requests not answered yet
	idle    chan struct{} // has a token after nothing was pending any more
	once    sync.Once
	closed  chan struct{}
}

func (c *drainConn) Read(ctx context.Context) (jsonrpc.Message, error) {
	m, err := c.Connection.Read(ctx)
	if err != nil {
		c.drain()
		return nil, err
	}
	if r, ok := m.(*jsonrpc.Request); ok {
		switch {
		case r.ID.IsValid():
			c.mu.Lock()
			c.pending[r.ID.Raw()] = true
			c.mu.Unlock()
		case r.Method == "notifications/cancelled":
			// What was cancelled gets no answer.
			var p struct {
				ID any `json:"requestId"`
			}
			if json.Unmarshal(r.Params, &p) == nil {
				if id, err := jsonrpc.MakeID(p.ID); err == nil {
					c.answered(id)
				}
			}
		}
	}
	return m, nil
}

func (c *drainConn) drain() {
	limit := time.NewTimer(drainTimeout)
	defer limit.Stop()
	for {
		c.mu.Lock()
		n := len(c.pending)
		c.mu.Unlock()
		if n == 0 {
			return
		}
		select {
		case <-c.idle:
		case <-c.closed:
			return
		case <-limit.C:
			return
		}
	}
}

func (c *drainConn) Write(ctx context.Context, m jsonrpc.Message) error {
	err := c.Connection.Write(ctx, m)
	if r, ok := m.(*jsonrpc.Response); ok {
		c.answered(r.ID)
	}
	return err
}

// answered: nothing more is to come for the request.
func (c *drainConn) answered(id jsonrpc.ID) {
	c.mu.Lock()
	delete(c.pending, id.Raw())
	n := len(c.pending)
	c.mu.Unlock()
	if n == 0 {
		select {
		case c.idle <- struct{}{}:
		default:
		}
	}
}

func (c *drainConn) Close() error {
	c.once.Do(func() { close(c.closed) })
	return c.Connection.Close()
}
