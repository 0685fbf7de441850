package sample

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"

	acp "github.com/coder/acp-go-sdk"
)

// Fault is a way to misbehave in one turn, for tests of those who drive agents.
type Fault string

// The faults.
const (
	Hang     Fault = "hang"      // never answers, but obeys a cancel
	Deaf     Fault = "deaf"      // never answers, ignores cancels, the end of its input and the polite signal
	Flood    Fault = "flood"     // 5,000 updates, then goes on as usual
	LongLine Fault = "long-line" // one message of 12 MB, then goes on as usual
	HugeLine Fault = "huge-line" // one message of 40 MB
	Noise    Fault = "noise"     // text on standard output that is no message, then goes on as usual
	Exit     Fault = "exit"      // ends with status 3 in mid turn
	Leave    Fault = "leave"     // answers, and ends between two turns
	Detach   Fault = "detach"    // leaves a detached grandchild that holds standard output, then ends
)

// Faults lists them all.
var Faults = []Fault{Hang, Deaf, Flood, LongLine, HugeLine, Noise, Exit, Leave, Detach}

// floodSize is the number of updates of Flood.
const floodSize = 5000

func (f Fault) known() bool { return f == "" || slices.Contains(Faults, f) }

// leave ends the program with the answer: once it has been written.
func (a *agent) leave() {
	a.out.mu.Lock()
	defer a.out.mu.Unlock()
	a.out.wrote = func(b []byte) {
		if bytes.Contains(b, []byte(`"stopReason"`)) {
			a.o.Exit(0)
		}
	}
}

func (t *playing) misbehave(ctx context.Context) error {
	switch t.a.o.Fault {
	case Hang:
		t.say(ctx, "Still thinking.")
		<-ctx.Done()
	case Deaf:
		t.say(ctx, "Not listening.")
		ignoreSignals()
		select {}
	case Flood:
		for range floodSize {
			t.update(ctx, acp.UpdateAgentMessageText("x"))
		}
	case LongLine:
		t.longLine("y", 12<<20)
	case HugeLine:
		t.longLine("z", 40<<20)
	case Noise:
		fmt.Fprintln(t.a.out, "DEBUG refund desk warmed up")
		fmt.Fprintln(t.a.out, `{"level":"info","msg":"this is JSON but no message"}`)
	case Exit:
		t.say(ctx, "Leaving.")
		t.a.o.Exit(3)
	case Detach:
		t.say(ctx, "Leaving someone behind.")
		if err := leaveGrandchild(); err != nil {
			return err
		}
		t.a.o.Exit(0)
	}
	return t.err
}

// longLine writes one message of n bytes and some by hand: encoding it properly
// costs more than anything a test wants to measure.
func (t *playing) longLine(letter string, n int) {
	fmt.Fprintf(t.a.out, `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":%q,"update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"%s"}}}}`+"\n",
		t.c.id, strings.Repeat(letter, n))
}
