package patch

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"
	"unicode/utf8"

	"vise/engine/event"
	"vise/engine/guard"
	"vise/engine/patch/drive"
	"vise/engine/trace"
)

// capture keeps the output of an agent: a bounded file of everything, masked, the
// end of standard output for its answer, as it is, and what comes, masked, for
// whoever watches. Lines are masked as a whole: a write may end within a secret.
type capture struct {
	red     *guard.Redactor
	streams []*guard.Stream

	mu   sync.Mutex // of what both streams share
	file *os.File
	left int
	live func([]byte)
	end  []byte

	meter drive.Meter
	used  func(trace.Usage) // told whenever the agent tells of its use; nil for nobody
}

func newCapture(name string, red *guard.Redactor, live func([]byte)) (*capture, error) {
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, err
	}
	return &capture{red: red, file: f, left: maxLog, live: live}, nil
}

// stream is a writer of one stream; keep is how much of its end is kept.
func (c *capture) stream(keep int) streamWriter {
	s := guard.NewStream(maskedOutput{c}, c.red)
	c.streams = append(c.streams, s)
	return streamWriter{c, keep, s}
}

type streamWriter struct {
	c      *capture
	keep   int
	masked *guard.Stream
}

// Write never fails: output that cannot be kept must not stop the agent.
func (w streamWriter) Write(b []byte) (int, error) {
	if c := w.c; w.keep > 0 {
		c.mu.Lock()
		c.end = append(c.end, b...)
		if over := len(c.end) - 2*w.keep; over > 0 {
			c.end = append(c.end[:0], c.end[len(c.end)-w.keep:]...)
		}
		_, _ = c.meter.Write(b)
		if u := c.meter.Usage(); u != nil && c.used != nil {
			c.used(*u)
		}
		c.mu.Unlock()
	}
	return w.masked.Write(b)
}

// maskedOutput is where masked lines of both streams go.
type maskedOutput struct{ c *capture }

// Write never fails.
func (m maskedOutput) Write(b []byte) (int, error) {
	c := m.c
	c.mu.Lock()
	defer c.mu.Unlock()
	if n := min(len(b), c.left); n > 0 {
		c.left -= n
		_, _ = c.file.Write(b[:n])
	}
	c.live(b)
	return len(b), nil
}

func (c *capture) kept() []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.end[max(0, len(c.end)-maxStdout):]
}

// flush passes on last lines without an end.
func (c *capture) flush() {
	for _, s := range c.streams {
		_ = s.Close() // maskedOutput does not fail
	}
}

func (c *capture) close() { c.file.Close() }

// maxPiece is the longest text of one event, in bytes.
const maxPiece = 8 << 10

// progress tells whoever watches what a program writes. text is masked.
func (b *Bench) progress(id, phase string, text []byte) {
	if b.o.Bus == nil {
		return
	}
	for len(text) > 0 {
		n := min(len(text), maxPiece)
		for n < len(text) && n > maxPiece-utf8.UTFMax && !utf8.RuneStart(text[n]) {
			n--
		}
		b.o.Bus.Publish(event.Event{At: b.now(), Type: event.PatchProgress, RunID: id, Data: map[string]any{"phase": phase, "text": string(text[:n])}})
		text = text[n:]
	}
}

// watched is a writer of the output of one phase of a proof; Close passes on the
// last line.
func (b *Bench) watched(id, phase string) *guard.Stream {
	return guard.NewStream(progressWriter{b, id, phase}, b.o.Redactor)
}

type progressWriter struct {
	b         *Bench
	id, phase string
}

// Write never fails.
func (w progressWriter) Write(p []byte) (int, error) {
	w.b.progress(w.id, w.phase, p)
	return len(p), nil
}

// What the agents' logs may take, the newest first, as those of replays: a log is
// for finding out why a run failed, and the patch is kept beside it.
const (
	maxLogs     = 500
	maxLogBytes = 256 << 20
)

// pruneLogs removes the oldest logs beyond the bounds. One that cannot be removed
// stays: it is no reason not to run an agent.
func (b *Bench) pruneLogs() {
	names, err := filepath.Glob(filepath.Join(b.o.Dir, "patch", "runs", "*", "agent.log"))
	if err != nil {
		return
	}
	type log struct {
		name string
		at   time.Time
		size int64
	}
	var logs []log
	for _, name := range names {
		if info, err := os.Lstat(name); err == nil {
			logs = append(logs, log{name, info.ModTime(), info.Size()})
		}
	}
	slices.SortFunc(logs, func(a, b log) int { return cmp.Or(b.at.Compare(a.at), cmp.Compare(b.name, a.name)) })
	left := int64(maxLogBytes)
	for i, l := range logs {
		if left -= l.size; i >= maxLogs-1 || left < 0 {
			_ = os.Remove(l.name)
		}
	}
}
