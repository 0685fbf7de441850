package process

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"strings"
	"sync"
	"time"
	"unicode/utf8"
)

type pipe struct{ r, w *os.File }

// pipeSet opens pipes and closes them all when one failed.
type pipeSet struct {
	all []pipe
	err error
}

func (s *pipeSet) open() pipe {
	r, w, err := os.Pipe()
	if err != nil {
		s.err = errors.Join(s.err, err)
		return pipe{}
	}
	p := pipe{r, w}
	s.all = append(s.all, p)
	return p
}

func (s *pipeSet) close() {
	for _, p := range s.all {
		p.r.Close()
		p.w.Close()
	}
}

// pipeReader is the reading end of a pipe that knows whether it has ended and
// how long its reader has been waiting for something.
type pipeReader struct {
	f     *os.File
	inode uint64
	once  sync.Once
	ended chan struct{}
	mu    sync.Mutex
	busy  bool      // the reader works on what it got; the pipe is not silent
	since time.Time // when the reader last came to wait
}

func newPipeReader(f *os.File) *pipeReader {
	return &pipeReader{f: f, inode: inodeOf(f), ended: make(chan struct{}), since: time.Now()}
}

// Read reads from the pipe. A pipe that was closed under the reader ends like any other.
func (p *pipeReader) Read(b []byte) (int, error) {
	p.waits(true)
	n, err := p.f.Read(b)
	p.waits(false)
	if err != nil {
		p.once.Do(func() { close(p.ended) })
		if errors.Is(err, fs.ErrClosed) {
			err = io.EOF
		}
	}
	return n, err
}

func (p *pipeReader) waits(yes bool) {
	p.mu.Lock()
	p.busy, p.since = !yes, time.Now()
	p.mu.Unlock()
}

// silent reports whether the pipe has given nothing for quiet. A reader that
// is still at work on what it got is given longer to come back for more.
func (p *pipeReader) silent(quiet, patience time.Duration) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.busy {
		quiet = patience
	}
	return time.Since(p.since) >= quiet
}

// settle waits for the end of the pipe while it still gives something: it
// returns false once it was silent for quiet, or talked for too long.
func (p *pipeReader) settle(quiet, patience time.Duration) bool {
	begun := time.Now()
	tick := time.NewTicker(max(quiet/10, time.Millisecond))
	defer tick.Stop()
	for {
		select {
		case <-p.ended:
			return true
		case <-tick.C:
			since := time.Since(begun)
			if since >= quiet && p.silent(quiet, patience) || since >= drainFactor*quiet {
				return false
			}
		}
	}
}

func (p *pipeReader) Close() error { return p.f.Close() }

// boundedLog passes a bounded number of bytes on and keeps the tail of all of them.
type boundedLog struct {
	mu   sync.Mutex
	to   io.Writer
	left int64
	cut  bool
	tail []byte
}

// Write never fails: a log that cannot be written must not stop the program.
func (l *boundedLog) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tail = append(l.tail, b[max(0, len(b)-tailSize):]...)
	if over := len(l.tail) - tailSize; over > 0 {
		l.tail = append(l.tail[:0], l.tail[over:]...)
	}
	if l.to == nil || l.cut {
		return len(b), nil
	}
	part := b[:min(int64(len(b)), l.left)]
	l.left -= int64(len(part))
	l.to.Write(part)
	if len(part) < len(b) {
		l.cut = true
		io.WriteString(l.to, "\n[log cut here: limit reached]\n")
	}
	return len(b), nil
}

func (l *boundedLog) tailText() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.ToValidUTF8(string(l.tail), "\uFFFD")
}

// bounded cuts s to at most n bytes at a character boundary.
func bounded(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}
