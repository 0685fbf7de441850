package process

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// Bounds limit one Run; both must be positive.
type Bounds struct {
	Time   time.Duration // from the start to the end of the program
	Output int           // bytes of output that are kept; more is counted and passed on
}

// Ran is what a program that was run to its end left behind.
type Ran struct {
	Output   Output
	Exit     Exit
	Elapsed  time.Duration
	TimedOut bool // Bounds.Time was up, and the group was killed
	Held     Held // what of Spec.Sandbox held
}

// OK reports that the program ended well and in time.
func (r Ran) OK() bool { return r.Exit.OK() && !r.TimedOut }

// Output is the beginning and the end of what a program wrote on both its
// outputs, in the order it wrote.
type Output struct {
	Head, Tail []byte
	Left       int64 // bytes left out between the two
}

// Text is the output with a line in place of what was left out; bytes that are
// no UTF-8 are replaced.
func (o Output) Text() string {
	s := string(o.Head)
	if o.Left > 0 {
		s += fmt.Sprintf("\n[... %d bytes left out ...]\n", o.Left)
	}
	return strings.ToValidUTF8(s+string(o.Tail), "\uFFFD")
}

// Run runs a program to its end with nothing on its standard input unless
// Spec.Stdin is set. Both outputs go through one pipe: Spec.Stdout and
// Spec.Stderr are not used. live, if not nil, gets every piece of output as it
// comes, from one goroutine; a slow live slows the program down.
//
// A program that ends badly or late is no error: see Ran. The error is that of
// Start or the cause of ctx; with the latter, what had come until then is
// returned, too. When Run returns, the program and its group are gone.
func Run(ctx context.Context, spec Spec, b Bounds, live func([]byte)) (Ran, error) {
	if b.Time <= 0 || b.Output <= 0 {
		return Ran{}, errors.New("run program: no bounds given")
	}
	if spec.Stdin == nil {
		spec.Stdin = strings.NewReader("")
	}
	out := NewEnds(b.Output)
	out.live = live
	spec.Stdout, spec.Stderr, spec.merged = out, nil, true
	begun := time.Now()
	p, err := Start(ctx, spec)
	if err != nil {
		return Ran{}, err
	}
	timer := time.NewTimer(b.Time)
	defer timer.Stop()
	r := Ran{Held: p.Held()}
	select {
	case <-p.Done():
		r.Exit = p.Stop()
	case <-timer.C:
		r.TimedOut = true
		r.Exit = p.Stop()
	case <-ctx.Done():
		r.Exit = p.Stop()
		err = fmt.Errorf("run %s: %w", p.spec.Name, context.Cause(ctx))
	}
	if err == nil && ctx.Err() != nil && !r.Exit.OK() {
		err = fmt.Errorf("run %s: %w", p.spec.Name, context.Cause(ctx)) // it was we who ended it
	}
	r.Elapsed, r.Output = time.Since(begun), out.Output()
	return r, err
}

// NewEnds keeps n bytes of a stream: half of them of its beginning, half of its end.
func NewEnds(n int) *Ends { return &Ends{half: max(n/2, 1)} }

// Ends keeps the first and the last bytes of a stream. It is safe for concurrent use.
type Ends struct {
	half int
	live func([]byte)

	mu    sync.Mutex
	head  []byte
	ring  []byte // the last bytes, from at on and then from the start
	at    int
	total int64
}

// Write never fails.
func (e *Ends) Write(b []byte) (int, error) {
	e.mu.Lock()
	rest := b
	e.total += int64(len(b))
	if room := e.half - len(e.head); room > 0 {
		n := min(room, len(rest))
		e.head, rest = append(e.head, rest[:n]...), rest[n:]
	}
	rest = rest[max(0, len(rest)-e.half):]
	if room := e.half - len(e.ring); room > 0 {
		n := min(room, len(rest))
		e.ring, rest = append(e.ring, rest[:n]...), rest[n:]
	}
	for len(rest) > 0 {
		n := copy(e.ring[e.at:], rest)
		e.at, rest = (e.at+n)%e.half, rest[n:]
	}
	e.mu.Unlock()
	if e.live != nil {
		e.live(b)
	}
	return len(b), nil
}

// Output is what is kept until now.
func (e *Ends) Output() Output {
	e.mu.Lock()
	defer e.mu.Unlock()
	tail := append(append([]byte{}, e.ring[e.at:]...), e.ring[:e.at]...)
	return Output{Head: slices.Clone(e.head), Tail: tail, Left: e.total - int64(len(e.head)+len(tail))}
}
