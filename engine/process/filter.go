package process

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"
)

// Limits bound one run of a Filter; all must be positive.
type Limits struct {
	Time   time.Duration // from the start to the end of the program
	Output int           // bytes of standard output
}

// Filtered is what a program that was run as a filter left behind.
type Filtered struct {
	Out     []byte // standard output, at most Limits.Output bytes
	Tail    string // the end of its standard error, at most 8 KB
	Exit    Exit
	Elapsed time.Duration
	Held    Held // what of Spec.Sandbox held
}

// Errors of Filter, found with errors.Is. The group has been killed then.
var (
	ErrTime   = errors.New("its time is up")
	ErrOutput = errors.New("it wrote too much")
)

// Filter runs a program with input on its standard input, closed behind it, and
// returns what it wrote. A program that ends badly is no error of Filter: see
// Exit. The error is that of Start, ErrTime, ErrOutput, or the context's cause;
// what had come until then is returned beside it. When Filter returns, the
// program and its group are gone.
func Filter(ctx context.Context, spec Spec, input []byte, limits Limits) (Filtered, error) {
	if limits.Time <= 0 || limits.Output <= 0 {
		return Filtered{}, fmt.Errorf("run %s: no limits given", specName(spec))
	}
	out := &cappedOutput{left: limits.Output, full: make(chan struct{})}
	spec.Stdin, spec.Stdout = bytes.NewReader(input), out
	begun := time.Now()
	p, err := Start(ctx, spec)
	if err != nil {
		return Filtered{}, err
	}
	timer := time.NewTimer(limits.Time)
	defer timer.Stop()
	var cut error
	select {
	case <-p.Done():
	case <-timer.C:
		cut = fmt.Errorf("%w (%s)", ErrTime, limits.Time)
	case <-out.full:
		cut = fmt.Errorf("%w (more than %d bytes)", ErrOutput, limits.Output)
	case <-ctx.Done():
		cut = context.Cause(ctx)
	}
	var exit Exit
	if cut == nil {
		exit = p.Stop() // ended already: only its exit is asked for
		select {
		case <-out.full: // with its last words
			cut = fmt.Errorf("%w (more than %d bytes)", ErrOutput, limits.Output)
		default:
			if ctx.Err() != nil && !exit.OK() {
				cut = context.Cause(ctx) // it was we who ended it
			}
		}
	} else {
		exit = p.Kill()
	}
	f := Filtered{Out: out.buf.Bytes(), Tail: p.Tail(), Exit: exit, Elapsed: time.Since(begun), Held: p.Held()}
	if cut != nil {
		return f, fmt.Errorf("run %s: %w", specName(spec), cut)
	}
	return f, nil
}

func specName(s Spec) string {
	if s.Name == "" && len(s.Command) > 0 {
		return s.Command[0]
	}
	return s.Name
}

// cappedOutput keeps a bounded number of bytes; more than that closes full and
// fails the write, which ends the copying. It is read after Done only.
type cappedOutput struct {
	buf  bytes.Buffer
	left int
	full chan struct{}
}

func (o *cappedOutput) Write(b []byte) (int, error) {
	if len(b) > o.left {
		o.buf.Write(b[:o.left])
		o.left = 0
		select {
		case <-o.full:
		default:
			close(o.full)
		}
		return 0, ErrOutput
	}
	o.left -= len(b)
	o.buf.Write(b)
	return len(b), nil
}
