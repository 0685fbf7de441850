package guard

import (
	"bytes"
	"io"
	"sync"
)

// maxHeldLine is how much of a line without an end is held back before it is
// masked as it is, in bytes.
const maxHeldLine = maxKeyBlock

// Stream masks credentials in what is written to it piece by piece, such as the
// output of a process: pieces end anywhere, also in the middle of a secret, so
// only whole lines are passed on, and a private key block only as a whole. A line
// of more than 64 KB is passed on in parts, cut where no secret is.
// Held is what is held back as it came, unmasked: the line that has not ended, or a
// private key whose end has not come.
func (s *Stream) Held() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return string(s.held)
}

// Close passes on what is left; it does not close the writer behind. A Stream is
// safe for concurrent use.
type Stream struct {
	to io.Writer
	by *Redactor

	mu   sync.Mutex
	held []byte
	err  error // of the writer behind, told to every later Write
}

// NewStream masks by r what goes to w.
func NewStream(w io.Writer, r *Redactor) *Stream { return &Stream{to: w, by: r} }

// Write implements io.Writer. It takes all of p unless the writer behind failed.
func (s *Stream) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := len(p)
	for len(p) > 0 && s.err == nil {
		// In bounded steps, so that one huge write is not held twice.
		k := min(len(p), maxHeldLine)
		s.held = append(s.held, p[:k]...)
		p = p[k:]
		s.pass(false)
	}
	if s.err != nil {
		return 0, s.err
	}
	return n, nil
}

// Close passes on what is held and returns the first error of the writer behind.
func (s *Stream) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pass(true)
	return s.err
}

// pass masks and hands on what can be judged as a whole.
func (s *Stream) pass(all bool) {
	n := len(s.held)
	if !all {
		n = bytes.LastIndexByte(s.held, '\n') + 1
		if n > 0 {
			n = beforeOpenKey(s.held, n)
		}
		if n == 0 && len(s.held) >= maxHeldLine {
			n = s.part()
		}
	}
	if n == 0 || s.err != nil {
		return
	}
	text, _ := s.by.Text(string(s.held[:n]))
	if _, err := io.WriteString(s.to, text); err != nil {
		s.err = err
	}
	s.held = append(s.held[:0], s.held[n:]...)
}

// Bounds of the search for a place to cut a long line at: how much stays behind the
// cut, so that it shows what a secret at the cut would look like, and how many places are tried.
const (
	behindCut = 4 << 10
	maxCuts   = 16
)

// part is where a line that is too long is cut: at a blank where it has one, and where
// the two sides say masked what the whole says, so that neither a secret nor a name and
// its value fall apart.
func (s *Stream) part() int {
	whole, _ := s.by.Text(string(s.held))
	end := len(s.held) - behindCut
	for range maxCuts {
		n := bytes.LastIndexAny(s.held[:end], " \t\r\n") + 1
		if n == 0 {
			n = end
		}
		left, _ := s.by.Text(string(s.held[:n]))
		right, _ := s.by.Text(string(s.held[n:]))
		if left+right == whole {
			return n
		}
		if end = min(n-1, end-behindCut/8); end < maxHeldLine/4 {
			break
		}
	}
	return len(s.held)
}

// beforeOpenKey is n, or where a private key block begins in text[:n] whose end
// has not come yet.
func beforeOpenKey(text []byte, n int) int {
	if !bytes.Contains(text[:n], []byte("PRIVATE KEY")) {
		return n
	}
	for from := 0; ; {
		m := keyHead.FindStringIndex(string(text[from:n]))
		if m == nil {
			return n
		}
		t := keyTail.FindStringIndex(string(text[from+m[1] : n]))
		if t == nil {
			return from + m[0]
		}
		from += m[1] + t[1]
	}
}
