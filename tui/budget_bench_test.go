package tui

import (
	"context"
	"io"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/creack/pty"

	"vise/engine/event"
	"vise/engine/trace"
)

// wire is the workbench on a terminal of 200x60 over 20,000 sessions, seen from the
// other end of the line: keys go in, bytes come out.
type wire struct {
	b     testing.TB
	d     *desk
	ours  *os.File
	mu    sync.Mutex
	out   strings.Builder
	last  time.Time // of the last byte
	grown uint64    // memory that the workbench takes beside the store
}

func newWire(b *testing.B) *wire {
	w := &wire{b: b, d: crowd(b, 20_000, 50, 100)}
	ours, theirs, err := pty.Open()
	if err != nil {
		b.Fatal(err)
	}
	w.ours = ours
	if err := pty.Setsize(ours, &pty.Winsize{Cols: 200, Rows: 60}); err != nil {
		b.Fatal(err)
	}
	go func() { // it ends with the terminal
		buf := make([]byte, 64<<10)
		for {
			n, err := ours.Read(buf)
			w.mu.Lock()
			w.out.Write(buf[:n])
			w.last = time.Now()
			w.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	debug.FreeOSMemory() // what making the sessions has left
	before := measure(0).rss
	ctx, stop := context.WithCancel(b.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = Run(ctx, Config{Project: "p", Harness: w.d.harness, Store: w.d.store, Bus: w.d.bus, In: theirs, Out: theirs, Err: io.Discard, ReportDir: b.TempDir(), Theme: "dark",
			Env: []string{"TERM=xterm-256color", "COLORTERM=truecolor", "LANG=C.UTF-8"}})
	}()
	b.Cleanup(func() { stop(); <-ended; theirs.Close(); ours.Close() })
	w.until("refund-000003")
	w.quiet()
	w.grown = max(measure(0).rss, before) - before
	return w
}

func (w *wire) press(keys string) {
	w.mu.Lock()
	w.out.Reset()
	w.mu.Unlock()
	if _, err := io.WriteString(w.ours, keys); err != nil {
		w.b.Fatal(err)
	}
}

// until waits for a text that is drawn.
func (w *wire) until(text string) {
	for end := time.Now().Add(time.Minute); ; time.Sleep(200 * time.Microsecond) {
		w.mu.Lock()
		found := strings.Contains(w.out.String(), text)
		w.mu.Unlock()
		if found {
			return
		}
		if time.Now().After(end) {
			w.b.Fatalf("%q was not drawn", text)
		}
	}
}

// quiet waits until nothing has come for a while and returns how many bytes came since
// the last key.
func (w *wire) quiet() int {
	for {
		time.Sleep(20 * time.Millisecond)
		w.mu.Lock()
		n, rest := w.out.Len(), time.Since(w.last)
		w.mu.Unlock()
		if rest > 120*time.Millisecond {
			return n
		}
	}
}

// stream publishes what 1,000 events a second are while an agent runs and a repair
// streams, until the returned function is called.
func (w *wire) stream() (stop func()) {
	ctx, cancel := context.WithCancel(w.b.Context())
	var done sync.WaitGroup
	done.Go(func() {
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for n := 0; ; n++ {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			for range 5 {
				turn := n % 10
				w.d.bus.Publish(event.Event{Type: event.SpanProgress, At: noon, SessionID: "refund-000000", TurnIndex: &turn, Data: map[string]any{"span": trace.Span{ID: "live", Kind: trace.TOOL, Name: "search"}}})
				w.d.bus.Publish(event.Event{Type: event.RepairDelta, At: noon, EpisodeID: "e-1", Data: map[string]any{"attempt": 1, "turn": 1, "text": "word "}})
			}
		}
	})
	return func() { cancel(); done.Wait() }
}

// BenchmarkKey is the way from a key to the bytes that show it, at rest and while 1,000
// events a second come: at most 17 ms in 95 of 100 (p95-ms).
func BenchmarkKey(b *testing.B) {
	for _, load := range []string{"rest", "events"} {
		b.Run(load, func(b *testing.B) {
			w := newWire(b)
			if load == "events" {
				defer w.stream()()
			}
			var took []time.Duration
			for b.Loop() {
				began := time.Now()
				w.press(":")
				w.until("type to search")
				took = append(took, time.Since(began))
				w.press("\x1b")
				time.Sleep(100 * time.Millisecond)
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "median-ms")
			b.ReportMetric(float64(took[len(took)*95/100].Microseconds())/1000, "p95-ms")
		})
	}
}

// BenchmarkBytes is what is sent: for a move of the cursor at most 1 KB, for the whole
// screen at most 25 KB, and nothing while nothing changes. ui-MB is what the workbench
// takes beside the store, at most 45.
func BenchmarkBytes(b *testing.B) {
	w := newWire(b)
	move, paint, idle, n := 0, 0, 0, 0
	for b.Loop() {
		n++
		w.press("5") // a pane whose rows do not follow the session
		w.quiet()
		w.press("\x0c")
		paint += w.quiet()
		w.press("1")
		w.quiet()
		w.press("jj") // from a session that has turns to those that have none, like the next
		w.quiet()
		w.press("j")
		move += w.quiet()
		time.Sleep(time.Second) // what was asked for has come
		w.press("")
		time.Sleep(time.Second)
		w.mu.Lock()
		idle += w.out.Len()
		w.mu.Unlock()
	}
	b.ReportMetric(float64(move)/float64(n), "move-bytes")
	b.ReportMetric(float64(paint)/float64(n), "paint-bytes")
	b.ReportMetric(float64(idle)/float64(n), "idle-bytes")
	b.ReportMetric(float64(w.grown)/(1<<20), "ui-MB")
}

// BenchmarkCore is the share of a core while 1,000 events a second come (at most 20 %) and
// while nothing does (at most 1.5 %).
func BenchmarkCore(b *testing.B) {
	for _, load := range []string{"idle", "events"} {
		b.Run(load, func(b *testing.B) {
			w := newWire(b)
			if load == "events" {
				defer w.stream()()
			}
			time.Sleep(300 * time.Millisecond)
			before, began := measure(0).cpu, time.Now()
			for b.Loop() {
				time.Sleep(time.Second)
			}
			b.ReportMetric(100*(measure(0).cpu-before).Seconds()/time.Since(began).Seconds(), "core-%")
		})
	}
}
