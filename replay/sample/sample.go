// Package sample is a small scripted agent over a toy refund desk. It is no
// model and pretends to be none: its name in the protocol is
// "vise-sample-agent". The demo, the tapes and many tests drive it.
//
// It speaks the Agent Client Protocol and has three tools on an order book
// kept in memory: look_up_order, issue_refund and notify_customer. Its script
// is this. It handles the first two inputs of a session well. From the third
// on it forgets that issue_refund needs a reason_code: the call fails, it
// repeats it unchanged, fails again and gives up. Before every refund it
// searches the harness rules for "issue_refund"; if a rule found that way names
// reason_code, it passes the argument and succeeds. A rule that does not name
// it is read and changes nothing, whatever its rationale says.
//
// Four more inputs are for tests of clients: "read file NAME", "write file NAME: TEXT"
// and "run: COMMAND" make it ask the client for just that, "call TOOL: {ARGUMENTS}" calls
// a tool of a tool server.
package sample

import (
	"context"
	"fmt"
	"hash/fnv"
	"io"
	"log/slog"
	"os"
	"sync"
	"time"

	acp "github.com/coder/acp-go-sdk"
)

// Name is what the agent calls itself in the protocol.
const Name = "vise-sample-agent"

// Version of the script; recordings of different versions may differ.
const Version = "1.0.0"

// remembers is the number of inputs of a session after which the agent forgets.
const remembers = 2

// Options of the agent.
type Options struct {
	// Noise is the probability, in [0,1], that a turn goes wrong whatever the
	// rules say. Which turns do follows from Seed alone.
	Noise float64
	// Seed is the seed of the run, VISE_RUN_SEED in the agent's environment.
	Seed string
	// Fault makes the turn FaultTurn (0 = the first) misbehave, for tests.
	Fault     Fault
	FaultTurn int
	// EnvDelay is what the environment takes to come up, in the first turn of a
	// session; the agent then says when it is up.
	EnvDelay time.Duration
	// Keep is a folder in which sessions are stored: the agent then announces that it can
	// load them. Modes makes it offer two modes.
	Keep  string
	Modes bool
	// Exit ends the program in Fault "exit", "leave" and "detach"; nil means os.Exit.
	Exit func(code int)
	// Environ is what bridges to tool servers inherit; nil means os.Environ().
	Environ []string
}

// Run serves one client on in and out until in ends or ctx does. Messages about
// trouble go to stderr. An error means wrong options: everything that happens
// later is the client's to see.
func Run(ctx context.Context, in io.Reader, out, stderr io.Writer, o Options) error {
	if o.Noise < 0 || o.Noise > 1 || o.Noise != o.Noise {
		return fmt.Errorf("start sample agent: noise is %v; give a probability from 0 to 1", o.Noise)
	}
	if !o.Fault.known() {
		return fmt.Errorf("start sample agent: unknown fault %q; known are %v", o.Fault, Faults)
	}
	if o.Exit == nil {
		o.Exit = os.Exit
	}
	if o.Environ == nil {
		o.Environ = os.Environ()
	}
	stdout := &lockedWriter{w: out}
	log := slog.New(slog.NewTextHandler(stderr, nil))
	a := &agent{o: o, out: stdout, log: log, sessions: map[acp.SessionId]*conversation{}}
	// The connection reads its own end of a pipe, so that it ends with ctx
	// also while in does not.
	pr, pw := io.Pipe()
	go func() { // ends with in, which is the end of the program at the latest
		_, err := io.Copy(pw, in)
		pw.CloseWithError(err)
	}()
	ready := make(chan struct{})
	a.ready = ready
	conn := acp.NewAgentSideConnection(a, stdout, pr)
	conn.SetLogger(log)
	a.conn = conn
	close(ready)
	select {
	case <-conn.Done():
	case <-ctx.Done():
		pr.Close()
		<-conn.Done()
	}
	a.close()
	return nil
}

// chance draws a number in [0,1) that depends on the seed and the place only.
func chance(seed string, session, turn int, what string) float64 {
	h := fnv.New64a()
	fmt.Fprintf(h, "%s\x00%d\x00%d\x00%s", seed, session, turn, what)
	x := h.Sum64()
	// FNV leaves the high bits of short, similar inputs alike; mix them.
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	x *= 0xc4ceb9fe1a85ec53
	x ^= x >> 33
	return float64(x>>11) / (1 << 53)
}

// lockedWriter keeps stray lines out of the middle of messages.
type lockedWriter struct {
	mu    sync.Mutex
	w     io.Writer
	wrote func([]byte) // called after each write, if set
}

func (l *lockedWriter) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n, err := l.w.Write(b)
	if l.wrote != nil {
		l.wrote(b)
	}
	return n, err
}
