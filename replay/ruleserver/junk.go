package ruleserver

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// JSON-RPC 2.0 error codes of lines that are no requests.
const (
	codeParse   = -32700
	codeInvalid = -32600
)

// messages is a client's input without the lines that are no messages: each of these
// is answered with an error and passed over, since the protocol library would end
// the connection at the first of them.
type messages struct {
	io.Reader
	close func() error
}

// Close ends the reading of the input.
func (m messages) Close() error { return m.close() }

// shared lets two writers answer on one stream, a whole line at a time.
type shared struct {
	mu sync.Mutex
	w  io.Writer
}

func (s *shared) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.w.Write(b)
}

// withoutJunk returns the input with only well-formed messages left in it. The
// goroutine that filters ends with the input: a reader that cannot be closed, and whose
// Read waits, keeps it (standard input of a process that ends, ours, does not).
func withoutJunk(in io.ReadCloser, out io.Writer) messages {
	pr, pw := io.Pipe()
	go func() { pw.CloseWithError(filter(in, pw, out)) }()
	return messages{pr, func() error { return errors.Join(pr.Close(), in.Close()) }}
}

func filter(in io.Reader, keep io.Writer, out io.Writer) error {
	r := bufio.NewReaderSize(in, 64<<10)
	for {
		line, err := readLine(r)
		if b := bytes.TrimSpace(line); len(b) > 0 {
			if code, text := judge(b, len(line)); code != 0 {
				if _, werr := fmt.Fprintf(out, `{"jsonrpc":"2.0","id":null,"error":{"code":%d,"message":%q}}`+"\n", code, text); werr != nil {
					return werr
				}
			} else if _, werr := keep.Write(append(b, '\n')); werr != nil {
				return werr
			}
		}
		if err != nil {
			return err
		}
	}
}

// readLine reads one line; of one that is too long only the beginning is kept.
func readLine(r *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		if len(line) <= maxBody {
			line = append(line, part...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}

// judge says what is wrong with a line, 0 when it is a message.
func judge(b []byte, size int) (code int, text string) {
	if size > maxBody {
		return codeInvalid, fmt.Sprintf("the message is longer than %d bytes", maxBody)
	}
	if !json.Valid(b) {
		return codeParse, "the line is not JSON"
	}
	if b[0] == '{' {
		// The library's own reading decides: what it refuses ends its connection.
		switch m, err := jsonrpc.DecodeMessage(b); m := m.(type) {
		case *jsonrpc.Request:
			if err == nil && m.Method != "" {
				return 0, ""
			}
		case *jsonrpc.Response:
			if err == nil && m.ID.IsValid() {
				return 0, ""
			}
		}
	}
	return codeInvalid, "the line is not a JSON-RPC 2.0 message"
}
