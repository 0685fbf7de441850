package store

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	badger "github.com/dgraph-io/badger/v4"
)

const (
	maxClients  = 64               // connections at a time
	idleLimit   = 60 * time.Second // between two questions
	answerLimit = 10 * time.Second // for the client to take an answer
	maxWait     = 20 * time.Second // per wait question
	// maxSocketPath is the shortest limit of the systems we run on (macOS), less the end mark.
	maxSocketPath = 103
)

// server answers other processes out of the owner's database. It only reads, and passes
// on what they ask the owner to do (see OnRequest).
type server struct {
	s      *Store
	l      *net.UnixListener
	path   string
	tmp    string // folder to remove when the socket lies in it
	ctx    context.Context
	cancel context.CancelFunc
	mu     sync.Mutex
	conns  map[net.Conn]bool
	wg     sync.WaitGroup
}

// listen opens the socket. A file left by an earlier owner is stale for sure, since
// we hold the ownership.
func listen(s *Store) (*server, error) {
	srv := &server{s: s, path: filepath.Join(s.o.Dir, "socket"), conns: map[net.Conn]bool{}}
	if abs, err := filepath.Abs(srv.path); err == nil {
		srv.path = abs // the owner file is read from other working folders
	}
	_ = os.Remove(srv.path)
	if len(srv.path) > maxSocketPath {
		tmp, err := os.MkdirTemp("", "vise-")
		if err != nil {
			return nil, fmt.Errorf("open store: folder for the socket: %w", err)
		}
		srv.tmp, srv.path = tmp, filepath.Join(tmp, "socket")
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: srv.path, Net: "unix"})
	if err == nil {
		if err = os.Chmod(srv.path, 0o600); err != nil {
			_ = l.Close()
		}
	}
	if err != nil {
		if srv.tmp != "" {
			_ = os.RemoveAll(srv.tmp)
		}
		return nil, fmt.Errorf("open store: socket %s: %w", srv.path, err)
	}
	srv.l = l
	srv.ctx, srv.cancel = context.WithCancel(context.Background())
	srv.wg.Go(srv.accept)
	return srv, nil
}

func (v *server) accept() {
	for {
		c, err := v.l.Accept()
		if err != nil {
			if v.ctx.Err() != nil || errors.Is(err, net.ErrClosed) {
				return
			}
			// Out of descriptors, say: try again, but not at full speed.
			if sleep(v.ctx, 50*time.Millisecond) != nil {
				return
			}
			continue
		}
		v.mu.Lock()
		closing, full := v.ctx.Err() != nil, len(v.conns) >= maxClients
		if !closing && !full {
			v.conns[c] = true
		}
		v.mu.Unlock()
		if closing {
			_ = c.Close()
			return
		}
		if full {
			_ = c.SetDeadline(time.Now().Add(time.Second))
			_ = writeFrame(c, ansError, []byte("the owner has too many readers: try again"))
			_ = c.Close()
			continue
		}
		v.wg.Go(func() { v.serve(c) })
	}
}

// close ends every connection and waits for its goroutine.
func (v *server) close() {
	v.cancel()
	_ = v.l.Close() // removes the socket file
	v.mu.Lock()
	for c := range v.conns {
		_ = c.Close()
	}
	v.mu.Unlock()
	v.wg.Wait()
	if v.tmp != "" {
		_ = os.RemoveAll(v.tmp)
	}
}

func (v *server) serve(c net.Conn) {
	p := &peer{v: v}
	defer func() {
		p.end()
		_ = c.Close()
		v.mu.Lock()
		delete(v.conns, c)
		v.mu.Unlock()
	}()
	for {
		_ = c.SetReadDeadline(time.Now().Add(idleLimit))
		op, body, err := readFrame(c, maxQuestion)
		if err != nil {
			return
		}
		ans, reply, err := p.answer(op, body)
		if err == errHangUp {
			return
		}
		if err != nil {
			ans, reply = ansError, []byte(err.Error())
		}
		_ = c.SetWriteDeadline(time.Now().Add(answerLimit))
		if writeFrame(c, ans, reply) != nil || err != nil {
			return
		}
	}
}

// errHangUp ends a connection without an answer: to the client the owner is gone,
// and it looks for the next one.
var errHangUp = errors.New("the owner is closing the store")

// peer is one connection's state: its snapshot, if it has begun one.
type peer struct {
	v   *server
	txn *badger.Txn
}

func (p *peer) end() {
	if p.txn != nil {
		p.txn.Discard()
		p.txn = nil
	}
}

func (p *peer) answer(op byte, body []byte) (ans byte, reply []byte, err error) {
	switch op {
	case opBegin:
		if len(body) != 1 || body[0] != protocolVersion {
			return 0, nil, fmt.Errorf("the owner of the store speaks protocol %d: use the same vise as its owner", protocolVersion)
		}
		p.end()
		p.txn = p.v.s.db.NewTransaction(false)
		return ansOK, u32(nil, schemaVersion), nil
	case opEnd:
		p.end()
		return ansOK, nil, nil
	case opAsk:
		reply, err := p.v.s.answer(p.v.ctx, body)
		return ansValue, reply, err
	case opWait:
		if len(body) != 12 {
			return 0, nil, errShort
		}
		after := binary.BigEndian.Uint64(body)
		d := min(time.Duration(binary.BigEndian.Uint32(body[8:]))*time.Millisecond, maxWait)
		ctx, cancel := context.WithTimeout(p.v.ctx, d)
		defer cancel()
		_ = p.v.s.tail.wait(ctx, after) // the answer tells whether there is more
		if p.v.ctx.Err() != nil {
			return 0, nil, errHangUp
		}
		return ansSeq, u64(nil, p.v.s.tail.last()), nil
	}
	if p.txn == nil {
		return 0, nil, errors.New("no snapshot begun")
	}
	snap := localSnapshot{p.txn}
	switch op {
	case opGet:
		value, found, err := snap.get(body)
		if err != nil {
			return 0, nil, err
		}
		if !found {
			return ansNone, nil, nil
		}
		return ansValue, value, nil
	case opScan:
		s, limit, err := decodeScan(body)
		if err != nil {
			return 0, nil, err
		}
		reply, err = batch(snap, s, limit)
		return ansPairs, reply, err
	}
	return 0, nil, fmt.Errorf("unknown operation %q", rune(op))
}

// batch answers a scan as far as one answer goes; its first byte tells whether there may be more.
func batch(snap snapshot, s scan, limit int) ([]byte, error) {
	reply := []byte{0}
	n := 0
	err := snap.scan(s, func(k, v []byte) (bool, error) {
		reply = lengthed(lengthed(reply, k), v)
		n++
		if n >= limit || len(reply) >= batchSize {
			reply[0] = 1
			return false, nil
		}
		return true, nil
	})
	return reply, err
}
