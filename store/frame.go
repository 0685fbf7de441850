package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// The protocol between the owner and those who read through it. A frame is its
// length (u32 big-endian, without itself), an operation byte and a body. The client
// asks, the server answers with one frame:
//
//	B version u8                                     begin: a snapshot      → o schema u32
//	G key                                            get                    → v value | n
//	S flags u8, limit u32, prefix, from, after       scan, one batch        → p more u8, (key, value)...
//	W after u64, milliseconds u32                    wait at the journal    → w last seq u64
//	E                                                end: the next B begins anew → o
//	A request                                        asks the owner to do something → v reply
//
// Texts inside a body are preceded by their length (u32). Any question may be
// answered by x and a message, after which the server hangs up. A connection is used
// for one question at a time.
const (
	opBegin = 'B'
	opGet   = 'G'
	opScan  = 'S'
	opWait  = 'W'
	opEnd   = 'E'
	opAsk   = 'A'

	ansOK    = 'o'
	ansValue = 'v'
	ansNone  = 'n'
	ansPairs = 'p'
	ansSeq   = 'w'
	ansError = 'x'
)

const protocolVersion = 1

const (
	maxQuestion = 64 << 10 // bytes of a question: keys only
	maxAnswer   = 4 << 20  // bytes of an answer
	batchPairs  = 512      // entries per answer to a scan
	batchSize   = 1 << 20  // bytes after which a batch ends; a value is at most about 256 KB
)

const (
	scanReverse = 1 << iota
	scanKeys
	scanFrom
	scanAfter
)

func writeFrame(w io.Writer, op byte, body []byte) error {
	frame := append(u32(make([]byte, 0, len(body)+5), uint32(len(body)+1)), op)
	_, err := w.Write(append(frame, body...))
	return err
}

func readFrame(r io.Reader, limit int) (op byte, body []byte, err error) {
	var head [5]byte
	if _, err := io.ReadFull(r, head[:4]); err != nil {
		return 0, nil, err
	}
	n := binary.BigEndian.Uint32(head[:4])
	if n == 0 || int64(n) > int64(limit) {
		return 0, nil, fmt.Errorf("frame of %d bytes: 1 to %d allowed", n, limit)
	}
	if _, err := io.ReadFull(r, head[4:]); err != nil {
		return 0, nil, err
	}
	body = make([]byte, n-1)
	_, err = io.ReadFull(r, body)
	return head[4], body, err
}

func lengthed(b, text []byte) []byte { return append(u32(b, uint32(len(text))), text...) }

var errShort = errors.New("frame is cut short")

// takeText reads one text from the front of b.
func takeText(b []byte) (text, rest []byte, err error) {
	if len(b) < 4 {
		return nil, nil, errShort
	}
	n := binary.BigEndian.Uint32(b)
	b = b[4:]
	if int64(n) > int64(len(b)) {
		return nil, nil, errShort
	}
	return b[:n:n], b[n:], nil
}

func encodeScan(s scan, limit int) []byte {
	var flags byte
	if s.reverse {
		flags |= scanReverse
	}
	if s.keys {
		flags |= scanKeys
	}
	if s.from != nil {
		flags |= scanFrom
	}
	if s.after != nil {
		flags |= scanAfter
	}
	b := u32([]byte{flags}, uint32(limit))
	return lengthed(lengthed(lengthed(b, s.prefix), s.from), s.after)
}

func decodeScan(b []byte) (s scan, limit int, err error) {
	if len(b) < 5 {
		return s, 0, errShort
	}
	flags := b[0]
	limit = int(min(binary.BigEndian.Uint32(b[1:]), batchPairs))
	b = b[5:]
	if s.prefix, b, err = takeText(b); err != nil {
		return s, 0, err
	}
	if s.from, b, err = takeText(b); err != nil {
		return s, 0, err
	}
	if s.after, b, err = takeText(b); err != nil {
		return s, 0, err
	}
	if len(b) != 0 {
		return s, 0, errors.New("frame has bytes left over")
	}
	s.reverse, s.keys = flags&scanReverse != 0, flags&scanKeys != 0
	if flags&scanFrom == 0 {
		s.from = nil
	}
	if flags&scanAfter == 0 {
		s.after = nil
	}
	return s, limit, nil
}
