package cli

import (
	"context"
	"errors"
	"strings"
	"sync"

	"vise/engine/event"
	"vise/store"
)

// narrator prints committed events in journal order while a command runs, and
// between them what coding agents and the phases of a proof write: on standard error,
// or as events with --json. The store is the truth about the journal: the bus only
// wakes it, so a burst loses nothing but live output.
type narrator struct {
	a      *app
	store  *store.Store
	sub    *event.Subscription
	cancel context.CancelFunc
	done   chan struct{}

	mu   sync.Mutex
	last uint64 // sequence of the last event printed
	err  error
	// The beginning of a line that whoever (run and phase) has not ended yet.
	whose, phase, part string
	shown              int // bytes of whose live output
}

// narrate starts a narrator behind what the journal already holds.
func (a *app) narrate(ctx context.Context, bus *event.Bus, st *store.Store) (*narrator, error) {
	last, err := lastSeq(st)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	n := &narrator{a: a, store: st, sub: bus.Subscribe(1024), cancel: cancel, done: make(chan struct{}), last: last}
	go func() {
		defer close(n.done)
		for n.sub.Wait(ctx) == nil && n.flush() == nil {
		}
	}()
	return n, nil
}

// flush prints what has been committed until now.
func (n *narrator) flush() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	for {
		batch, more := n.sub.TryNext()
		if !more {
			break
		}
		for _, e := range batch.Events {
			switch {
			case e.Type == event.PatchProgress:
				n.live(e)
			case e.Type == event.AgentIdle:
				n.a.note("vise: %s", idleWords(e))
			case e.Seq > n.last:
				n.journal()
			}
		}
	}
	return n.journal()
}

// journal prints what has been committed; the narrator is locked.
func (n *narrator) journal() error {
	if n.err == nil {
		n.err = eachEvent(n.store, n.last, func(e event.Event) error {
			n.last = e.Seq
			if e.Type == event.PatchDriven || e.Type == event.PatchProved {
				n.cut()
			}
			return n.a.out.event(e)
		})
	}
	return n.err
}

// maxLiveLine is the longest line of live output that is printed, in bytes; a longer
// one is printed in parts.
const maxLiveLine = 2000

// maxLive is how much of what one agent or phase writes is printed, in bytes.
const maxLive = 256 << 10

// live prints a piece of what an agent or a phase writes.
func (n *narrator) live(e event.Event) {
	if n.a.json {
		n.err = errors.Join(n.err, n.a.out.event(e))
		return
	}
	phase, _ := e.Data["phase"].(string)
	text, _ := e.Data["text"].(string)
	if whose := e.RunID + " " + phase; whose != n.whose {
		n.cut()
		n.shown = 0
		n.whose, n.phase = whose, strings.ReplaceAll(phase, "_", " ")
	}
	if n.shown > maxLive {
		return
	}
	if n.shown += len(text); n.shown > maxLive {
		n.cut()
		n.a.note("  %s │ … it writes more than %d kB: the rest is not shown here", n.phase, maxLive>>10)
		return
	}
	n.part += text
	for {
		at := strings.IndexAny(n.part, "\r\n")
		if at < 0 && len(n.part) < maxLiveLine {
			return
		}
		if at < 0 || at > maxLiveLine {
			at = maxLiveLine
		}
		line := n.part[:at]
		n.part = strings.TrimLeft(n.part[at:], "\r\n")
		n.say(line)
	}
}

// cut prints the beginning of a line whose end does not come.
func (n *narrator) cut() {
	if n.part != "" {
		n.say(n.part)
		n.part = ""
	}
}

func (n *narrator) say(line string) {
	if line = strings.TrimRight(cell(strings.ToValidUTF8(line, "\uFFFD")), " "); line != "" {
		n.a.note("  %s │ %s", n.phase, line)
	}
}

// stop prints the rest and ends the narrator.
func (n *narrator) stop() error {
	n.cancel()
	<-n.done
	err := n.flush()
	n.sub.Close()
	n.mu.Lock()
	defer n.mu.Unlock()
	n.cut()
	return err
}
