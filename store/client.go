package store

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"time"
)

const (
	dialLimit     = 2 * time.Second
	questionLimit = 30 * time.Second
)

// errGone tells that the owner does not answer (any more).
var errGone = errors.New("the owner of the store is gone")

// remoteSnapshot is a snapshot in the owner's process.
type remoteSnapshot struct{ c net.Conn }

// dial connects to the owner named in the owner file.
func dial(ctx context.Context, dir string) (*remoteSnapshot, error) {
	o, err := readOwner(dir)
	if err != nil || o.Socket == "" {
		return nil, errGone
	}
	d := net.Dialer{Timeout: dialLimit}
	c, err := d.DialContext(ctx, "unix", o.Socket)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errGone, err)
	}
	return &remoteSnapshot{c}, nil
}

func (r *remoteSnapshot) ask(limit time.Duration, op byte, body []byte) (ans byte, reply []byte, err error) {
	_ = r.c.SetDeadline(time.Now().Add(limit))
	if err := writeFrame(r.c, op, body); err != nil {
		return 0, nil, fmt.Errorf("%w: %w", errGone, err)
	}
	ans, reply, err = readFrame(r.c, maxAnswer)
	if err != nil {
		return 0, nil, fmt.Errorf("%w: %w", errGone, err)
	}
	if ans == ansError {
		return 0, nil, fmt.Errorf("the owner of the store answers: %s", reply)
	}
	return ans, reply, nil
}

func (r *remoteSnapshot) begin(dir string) error {
	ans, reply, err := r.ask(questionLimit, opBegin, []byte{protocolVersion})
	if err != nil {
		return err
	}
	if ans != ansOK || len(reply) != 4 {
		return errShort
	}
	if schema := binary.BigEndian.Uint32(reply); schema > schemaVersion {
		return &SchemaError{Dir: dir, Found: schema, Known: schemaVersion}
	}
	return nil
}

func (r *remoteSnapshot) get(key []byte) ([]byte, bool, error) {
	ans, reply, err := r.ask(questionLimit, opGet, key)
	switch {
	case err != nil:
		return nil, false, fmt.Errorf("read %s: %w", keyText(key), err)
	case ans == ansNone:
		return nil, false, nil
	case ans != ansValue:
		return nil, false, fmt.Errorf("read %s: unexpected answer %q", keyText(key), rune(ans))
	}
	return reply, true, nil
}

func (r *remoteSnapshot) scan(s scan, fn func(key, value []byte) (bool, error)) error {
	// The first batch is small: many scans stop after a few entries.
	for limit := 32; ; limit = batchPairs {
		ans, reply, err := r.ask(questionLimit, opScan, encodeScan(s, limit))
		if err != nil {
			return fmt.Errorf("scan: %w", err)
		}
		if ans != ansPairs || len(reply) == 0 {
			return fmt.Errorf("scan: unexpected answer %q", rune(ans))
		}
		more, pairs := reply[0] == 1, reply[1:]
		for len(pairs) > 0 {
			var k, v []byte
			if k, pairs, err = takeText(pairs); err == nil {
				v, pairs, err = takeText(pairs)
			}
			if err != nil {
				return fmt.Errorf("scan: %w", err)
			}
			s.after = k
			if s.keys {
				v = nil
			}
			goOn, err := fn(k, v)
			if err != nil || !goOn {
				return err
			}
		}
		if !more {
			return nil
		}
	}
}

// viewRemote runs fn over a snapshot of the owner. When the owner is gone and mayOpen
// is set, the store is opened for the length of this one call, so that a long-lived reader neither
// fails nor keeps the ownership from a writer.
func (s *Store) viewRemote(fn func(*Tx) error, mayOpen bool) error {
	deadline := time.Now().Add(readPatience)
	for {
		r, err := dial(context.Background(), s.o.Dir)
		if err == nil {
			if err = r.begin(s.o.Dir); err == nil {
				defer r.c.Close()
				return fn(&Tx{s: s, snap: r})
			}
			_ = r.c.Close()
		}
		if !errors.Is(err, errGone) {
			return fmt.Errorf("read store %s: %w", s.o.Dir, err)
		}
		if !mayOpen {
			return err
		}
		own, oerr := openOwned(s.o, true)
		if oerr == nil {
			err := own.View(fn)
			return errors.Join(err, own.Close())
		}
		var barred *UnwritableError
		if errors.As(oerr, &barred) {
			own, oerr = openReadOnly(s.o, barred)
			if oerr == nil {
				return errors.Join(own.View(fn), own.Close())
			}
		}
		var busy *BusyError
		if !errors.As(oerr, &busy) {
			return oerr
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%w: %w", err, oerr)
		}
		// An owner that is just starting or closing: shortly there is one, or none.
		time.Sleep(25 * time.Millisecond)
	}
}
