package ruleserver

import (
	"context"
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
	return &drainConn{Connection: c, idle: make(chan struct{}, 1), closed: make(chan struct{})}, nil
}

type drainConn struct {
	mcp.Connection
	mu      sync.Mutex
	pending int           // requests not answered yet
	idle    chan struct{} // has a token after pending fell to 0
	once    sync.Once
	closed  chan struct{}
}

func (c *drainConn) Read(ctx context.Context) (jsonrpc.Message, error) {
	m, err := c.Connection.Read(ctx)
	if err != nil {
		c.drain()
		return nil, err
	}
	if r, ok := m.(*jsonrpc.Request); ok && r.ID.IsValid() {
		c.mu.Lock()
		c.pending++
		c.mu.Unlock()
	}
	return m, nil
}

func (c *drainConn) drain() {
	limit := time.NewTimer(drainTimeout)
	defer limit.Stop()
	for {
		c.mu.Lock()
		n := c.pending
		c.mu.Unlock()
		if n <= 0 {
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
	if _, ok := m.(*jsonrpc.Response); ok {
		c.mu.Lock()
		c.pending--
		n := c.pending
		c.mu.Unlock()
		if n <= 0 {
			select {
			case c.idle <- struct{}{}:
			default:
			}
		}
	}
	return err
}

func (c *drainConn) Close() error {
	c.once.Do(func() { close(c.closed) })
	return c.Connection.Close()
}
