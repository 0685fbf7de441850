package loopback

import (
	"net"
	"sync"
)

// maxConnections is how many connections a server holds at once; more wait until one of
// them ends. An agent and its tools need a dozen.
const maxConnections = 512

// bounded is a listener that hands out a bounded number of connections at a time.
type bounded struct {
	net.Listener
	places chan struct{}
	once   sync.Once
	closed chan struct{}
}

func newBounded(l net.Listener) *bounded {
	return &bounded{Listener: l, places: make(chan struct{}, maxConnections), closed: make(chan struct{})}
}

// Accept waits for a place, then for a connection.
func (b *bounded) Accept() (net.Conn, error) {
	select {
	case b.places <- struct{}{}:
	case <-b.closed:
		return nil, net.ErrClosed
	}
	c, err := b.Listener.Accept()
	if err != nil {
		<-b.places
		return nil, err
	}
	return &placed{Conn: c, leave: func() { <-b.places }}, nil
}

// Close ends the waiting for a place, too.
func (b *bounded) Close() error {
	b.once.Do(func() { close(b.closed) })
	return b.Listener.Close()
}

// placed is a connection that gives its place back when it is closed.
type placed struct {
	net.Conn
	once  sync.Once
	leave func()
}

// Close may be called more than once.
func (p *placed) Close() error {
	p.once.Do(p.leave)
	return p.Conn.Close()
}

// CloseWrite ends our side alone: the server does that before it drops what a client
// still sends, so that the client can read why.
func (p *placed) CloseWrite() error {
	if c, ok := p.Conn.(interface{ CloseWrite() error }); ok {
		return c.CloseWrite()
	}
	return nil
}
