package process

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"vise/engine/guard"
)

// Bounds of what passes between a confined program and the world.
const (
	maxRelayed   = 256              // connections at once; more wait to be accepted
	relayConnect = 30 * time.Second // to reach a service or host
	maxRefusals  = 50               // refused hosts told in the log
)

// relays are the listeners and connections that serve one confined program. All
// end with close.
type relays struct {
	log    io.Writer
	ctx    context.Context
	cancel context.CancelFunc
	slots  chan struct{}
	all    sync.WaitGroup

	mu      sync.Mutex
	closed  bool
	open    map[io.Closer]bool
	refused map[string]bool
}

func newRelays() *relays {
	r := &relays{log: io.Discard, slots: make(chan struct{}, maxRelayed), open: map[io.Closer]bool{}, refused: map[string]bool{}}
	r.ctx, r.cancel = context.WithCancel(context.Background())
	return r
}

// close ends everything and waits for it.
func (r *relays) close() {
	r.cancel()
	r.mu.Lock()
	r.closed = true
	for c := range r.open {
		c.Close()
	}
	r.mu.Unlock()
	r.all.Wait()
}

// keep remembers what close has to close; false when it is too late and c is closed.
func (r *relays) keep(c io.Closer) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		c.Close()
		return false
	}
	r.open[c] = true
	return true
}

func (r *relays) drop(c io.Closer) {
	r.mu.Lock()
	delete(r.open, c)
	r.mu.Unlock()
	c.Close()
}

// forward passes every connection on to address.
func (r *relays) forward(l net.Listener, address string) {
	if !r.keep(l) {
		return
	}
	r.all.Go(func() {
		defer r.drop(l)
		for {
			select {
			case r.slots <- struct{}{}:
			case <-r.ctx.Done():
				return
			}
			c, err := l.Accept()
			if err != nil {
				<-r.slots
				if r.ctx.Err() != nil || !transient(err) {
					return
				}
				continue
			}
			r.all.Go(func() {
				defer func() { <-r.slots }()
				r.pass(c, nil, address)
			})
		}
	})
}

// transient waits a moment after an error that does not end the listener.
func transient(err error) bool {
	if errors.Is(err, net.ErrClosed) {
		return false
	}
	time.Sleep(10 * time.Millisecond)
	return true
}

// pass connects to address and copies in both directions until both have ended.
// greet is written to c first, once the connection stands.
func (r *relays) pass(c net.Conn, greet []byte, address string) {
	if !r.keep(c) {
		return
	}
	defer r.drop(c)
	out, err := (&net.Dialer{Timeout: relayConnect}).DialContext(r.ctx, "tcp", address)
	if err != nil {
		if greet != nil {
			fmt.Fprintf(c, "HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
		}
		return
	}
	if !r.keep(out) {
		return
	}
	defer r.drop(out)
	if _, err := c.Write(greet); err != nil {
		return
	}
	var back sync.WaitGroup
	back.Go(func() { copyHalf(c, out) })
	copyHalf(out, c)
	back.Wait()
}

// copyHalf copies one direction and passes its end on; after an error the other
// direction ends, too.
func copyHalf(to, from net.Conn) {
	_, err := io.Copy(to, from)
	if half, ok := to.(interface{ CloseWrite() error }); ok && err == nil {
		half.CloseWrite()
		return
	}
	to.Close()
	from.Close()
}

// proxy serves HTTP's CONNECT and plain requests to the listed hosts.
func (r *relays) proxy(l net.Listener, hosts guard.Hosts) {
	if !r.keep(l) {
		return
	}
	plain := &http.Transport{DialContext: (&net.Dialer{Timeout: relayConnect}).DialContext, DisableCompression: true,
		IdleConnTimeout: time.Minute, MaxConnsPerHost: 64}
	h := &proxy{relays: r, hosts: hosts, plain: plain}
	s := &http.Server{Handler: h, ReadHeaderTimeout: relayConnect, MaxHeaderBytes: 256 << 10,
		BaseContext: func(net.Listener) context.Context { return r.ctx }}
	if !r.keep(s) {
		r.drop(l)
		return
	}
	r.all.Go(func() {
		s.Serve(l)
		r.drop(s)
		r.drop(l)
		plain.CloseIdleConnections()
	})
}

// refuse tells the log of a host that may not be reached, once per host.
func (r *relays) refuse(address string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.refused[address] || len(r.refused) >= maxRefusals {
		return
	}
	r.refused[address] = true
	fmt.Fprintf(r.log, "[sandbox] a connection to %s was refused: it is not among the allowed hosts\n", guard.Line(address, 200))
}

// proxy is the handler of the proxy.
type proxy struct {
	relays *relays
	hosts  guard.Hosts
	plain  *http.Transport
}

// ServeHTTP passes a request on, or a tunnel.
func (p *proxy) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	select {
	case p.relays.slots <- struct{}{}:
		defer func() { <-p.relays.slots }()
	case <-req.Context().Done():
		return
	}
	host, port := req.URL.Hostname(), req.URL.Port()
	if req.Method == http.MethodConnect {
		host, port, _ = net.SplitHostPort(req.Host)
	} else if port == "" {
		port = "80"
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil || host == "" || req.Method != http.MethodConnect && req.URL.Scheme != "http" {
		http.Error(w, "vise sandbox: this is a proxy: CONNECT host:port, or a request with a whole http URL", http.StatusBadRequest)
		return
	}
	address := net.JoinHostPort(host, port)
	if !p.hosts.Allow(host, uint16(n)) {
		p.relays.refuse(address)
		http.Error(w, "vise sandbox: "+guard.Line(address, 200)+" is not among the allowed hosts", http.StatusForbidden)
		return
	}
	if req.Method != http.MethodConnect {
		p.request(w, req)
		return
	}
	c, rw, err := http.NewResponseController(w).Hijack()
	if err != nil {
		http.Error(w, "vise sandbox: no tunnel on this connection", http.StatusHTTPVersionNotSupported)
		return
	}
	c.SetDeadline(time.Time{})
	if n := rw.Reader.Buffered(); n > 0 {
		// Bytes that came right behind the request belong into the tunnel.
		head, _ := rw.Reader.Peek(n)
		c = &prefixed{Conn: c, head: append([]byte(nil), head...)}
	}
	p.relays.pass(c, []byte("HTTP/1.1 200 Connection established\r\n\r\n"), address)
}

// request passes a plain request on.
func (p *proxy) request(w http.ResponseWriter, req *http.Request) {
	out := req.Clone(req.Context())
	out.RequestURI = ""
	for _, name := range []string{"Connection", "Proxy-Connection", "Proxy-Authorization", "Keep-Alive", "Te", "Trailer", "Upgrade"} {
		out.Header.Del(name)
	}
	resp, err := p.plain.RoundTrip(out)
	if err != nil {
		http.Error(w, "vise sandbox: "+guard.Line(err.Error(), 200), http.StatusBadGateway)
		return
	}
	defer resp.Body.Close()
	resp.Header.Del("Connection")
	for name, values := range resp.Header {
		w.Header()[name] = values
	}
	w.WriteHeader(resp.StatusCode)
	flush := http.NewResponseController(w)
	buf := make([]byte, 32<<10)
	for {
		n, err := resp.Body.Read(buf)
		if n > 0 {
			if _, err := w.Write(buf[:n]); err != nil {
				return
			}
			flush.Flush() // a model streams its answer
		}
		if err != nil {
			return
		}
	}
}

// prefixed is a connection whose first bytes were read already.
type prefixed struct {
	net.Conn
	head []byte
}

func (p *prefixed) Read(b []byte) (int, error) {
	if len(p.head) > 0 {
		n := copy(b, p.head)
		p.head = p.head[n:]
		return n, nil
	}
	return p.Conn.Read(b)
}

// CloseWrite passes the end of one direction on.
func (p *prefixed) CloseWrite() error {
	if half, ok := p.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return p.Conn.Close()
}
