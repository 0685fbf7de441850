package exec

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strconv"
	"time"

	"vise/engine/trace"
	"vise/replay/driver"
)

// pollEvery is how soon a line in the trace file is seen.
const pollEvery = 50 * time.Millisecond

// follower reads a turn's trace file while the command runs.
type follower struct {
	cfg  driver.Config
	turn int
	// file was opened before the command began: what stands under its name later, a
	// pipe or a link to somebody's key, is not read. The command is confined, we are not.
	file *os.File
	// began is called when the command says that execution began, and with its first span.
	began func()

	stop chan struct{}
	done chan struct{}

	// Of the reading goroutine; of finish after done.
	off   int64
	left  int // bytes still read
	rest  []byte
	spans []trace.Span
	at    map[string]int
	stray int
}

func newFollower(file *os.File, cfg driver.Config, turn int, began func()) *follower {
	f := &follower{cfg: cfg, turn: turn, file: file, began: began, stop: make(chan struct{}), done: make(chan struct{}), left: cfg.MaxTurn, at: map[string]int{}}
	go func() {
		defer close(f.done)
		tick := time.NewTicker(pollEvery)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				f.poll()
			case <-f.stop:
				f.poll()
				return
			}
		}
	}()
	return f
}

// finish reads what is left and returns the spans, in the order they began, and
// how many lines were none.
func (f *follower) finish() ([]trace.Span, int) {
	close(f.stop)
	<-f.done
	if len(bytes.TrimSpace(f.rest)) > 0 {
		f.line(f.rest) // without its line feed, but complete if it is JSON
	}
	return f.spans, f.stray
}

func (f *follower) close() {
	_ = f.file.Close()
	_ = os.Remove(f.file.Name())
}

// poll reads the complete lines that have come.
func (f *follower) poll() {
	piece, err := io.ReadAll(io.NewSectionReader(f.file, f.off, int64(f.left)))
	if err != nil || len(piece) == 0 {
		return
	}
	f.off += int64(len(piece))
	if f.left -= len(piece); f.left == 0 {
		fmt.Fprintf(f.cfg.Log, "vise: more than %d bytes of trace in turn %d; the rest is not kept\n", f.cfg.MaxTurn, f.turn)
	}
	f.rest = append(f.rest, piece...)
	for {
		i := bytes.IndexByte(f.rest, '\n')
		if i < 0 {
			return
		}
		f.line(f.rest[:i])
		f.rest = f.rest[i+1:]
	}
}

func (f *follower) line(raw []byte) {
	if raw = bytes.TrimSpace(raw); len(raw) == 0 {
		return
	}
	var l struct {
		Type string `json:"type"`
		trace.Span
	}
	err := json.Unmarshal(raw, &l)
	if err == nil && l.Type == "execution_started" {
		f.began()
		return
	}
	if err == nil && l.Type != "span" {
		err = fmt.Errorf("type %q is neither span nor execution_started", l.Type)
	}
	switch l.Kind {
	case trace.LLM, trace.TOOL, trace.AGENT, trace.CHAIN:
	default:
		if err == nil {
			err = fmt.Errorf("kind %q is none of LLM, TOOL, AGENT, CHAIN", l.Kind)
		}
	}
	if err != nil {
		if f.stray++; f.stray <= 20 {
			fmt.Fprintf(f.cfg.Log, "vise: a line of the trace of turn %d is not understood: %v: %.200s\n", f.turn, err, raw)
		}
		return
	}
	f.began()
	s := l.Span
	now := f.cfg.Now()
	if s.ID == "" {
		s.ID = f.cfg.SessionID + "." + strconv.Itoa(f.turn) + "-s" + strconv.Itoa(len(f.spans))
	}
	if s.Start.IsZero() {
		s.Start = now
	}
	if s.End.IsZero() && !s.Pending {
		s.End = now
	}
	if at, ok := f.at[s.ID]; ok {
		f.spans[at] = s
	} else {
		if len(f.spans) >= f.cfg.MaxSpans {
			f.stray++
			return
		}
		f.at[s.ID] = len(f.spans)
		f.spans = append(f.spans, s)
	}
	f.cfg.OnSpan(f.turn, s)
}
