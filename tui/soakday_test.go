package tui

import (
	"context"
	"fmt"
	"io"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"

	"vise/engine"
	"vise/engine/config"
	"vise/engine/event"
	"vise/engine/score"
	"vise/engine/trace"
	"vise/store"
)

// A working day before the open workbench, pressed together: the real program on a real
// terminal, over a store on disk that grows as it would. One journal event a second, each
// with a frame of its own, and every ten minutes a run of the agent: a session, ten scored
// turns of twenty spans, and 1,700 events of its progress, of a repair and of its text as
// it streams. Somebody presses keys all the while.
//
// VISE_SOAK_HOURS says how many hours; 8 are 28,800 single events and 48 runs, and take
// some minutes. Without it twelve minutes are fed. Memory and the cost of an event must
// stay what they were after the first tenth.
func TestDayAtTheScreen(t *testing.T) {
	hours, full := 0.2, false
	if h, err := strconv.ParseFloat(os.Getenv("VISE_SOAK_HOURS"), 64); err == nil {
		hours, full = h, true
	}
	bus := event.NewBus()
	st, err := store.Open(t.Context(), store.Options{Dir: t.TempDir(), Bus: bus})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	h, err := engine.Open(t.Context(), engine.Options{Config: config.Default(), Store: st, Bus: bus})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	ours, theirs, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer ours.Close()
	defer theirs.Close()
	if err := pty.Setsize(ours, &pty.Winsize{Cols: 160, Rows: 48}); err != nil {
		t.Fatal(err)
	}
	go func() { _, _ = io.Copy(io.Discard, ours) }() // it ends with the terminal
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	ended := make(chan error, 1)
	go func() {
		ended <- Run(ctx, Config{Project: "day", Harness: h, Store: st, Bus: bus, In: theirs, Out: theirs, ReportDir: t.TempDir(), Err: io.Discard,
			Env: []string{"TERM=xterm-256color", "LANG=C.UTF-8", "COLORTERM=truecolor"}, Theme: "dark", feedEvery: time.Millisecond})
	}()

	d := &day{t: t, st: st, bus: bus}
	seconds := int(hours * 3600)
	keys := []string{"j", "k", "3", "j", "\x1b[B", "R", "E", "9", "\x1b[F", "D", "1", "\x1b[H", "z", "z", "?", "\x1b", "2", "G"}
	var tenths []usage
	base := measure(d.events)
	for s := range seconds {
		d.second(s)
		if s%600 == 300 {
			d.run(s)
		}
		if s%20 == 0 {
			if _, err := io.WriteString(ours, keys[s/20%len(keys)]); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(2 * time.Millisecond) // a frame for each
		select {
		case err := <-ended:
			t.Fatalf("the workbench ended: %v", err)
		default:
		}
		if (s+1)%max(1, seconds/10) == 0 && len(tenths) < 10 {
			now := measure(d.events)
			tenths = append(tenths, now.since(base))
			base = now
		}
	}
	stop()
	if err := <-ended; err != nil && ctx.Err() == nil {
		t.Fatal(err)
	}
	theirs.Close()
	for i, u := range tenths {
		t.Logf("tenth %2d: %7d events, RSS %3d MB, heap %5.1f MB, %4d goroutines, CPU %.2f s, %.0f ms per 1,000 events", i+1, u.events, u.rss>>20, float64(u.heap)/(1<<20), u.goroutines, u.cpu.Seconds(),
			float64(u.cpu.Milliseconds())*1000/float64(max(1, u.events)))
	}
	first, last := tenths[1], tenths[len(tenths)-1]
	if last.heap > first.heap+first.heap/2+(8<<20) {
		t.Errorf("the heap grew from %d to %d KB", first.heap>>10, last.heap>>10)
	}
	if last.goroutines > first.goroutines+8 {
		t.Errorf("the goroutines grew from %d to %d", first.goroutines, last.goroutines)
	}
	if full { // the machine's own noise is larger than a short day
		if last.rss > first.rss+first.rss/4+(16<<20) {
			t.Errorf("the memory grew from %d to %d MB", first.rss>>20, last.rss>>20)
		}
		if a, b := first.cpu/time.Duration(max(1, first.events)), last.cpu/time.Duration(max(1, last.events)); b > 2*a {
			t.Errorf("an event cost %v and then %v", a, b)
		}
	}
}

// day feeds a store with what happens in one.
type day struct {
	t      *testing.T
	st     *store.Store
	bus    *event.Bus
	events int
	runs   int
}

func (d *day) update(n int, fn func(*store.Tx) error) {
	d.t.Helper()
	if err := d.st.Update(d.t.Context(), fn); err != nil {
		d.t.Fatal(err)
	}
	d.events += n
}

// second is one event that a journal gets.
func (d *day) second(s int) {
	kinds := []event.Type{event.RepairToolCall, event.RepairModelTurn, event.TurnReplayed, event.ValidationReplayCase}
	d.update(1, func(tx *store.Tx) error {
		return tx.Emit(event.Event{Type: kinds[s%len(kinds)], SessionID: d.session(), TurnIndex: event.Turn(s % 10), EpisodeID: fmt.Sprintf("e-%04d", d.runs), RuleID: "r-1", CaseID: "c-1",
			Data: map[string]any{"tool": "harness_trace_inspect", "ok": true, "turn": s % 6, "steps": 3, "calls": 2}})
	})
}

func (d *day) session() string { return fmt.Sprintf("run-%05d", d.runs) }

// run is a run of the agent with a repair.
func (d *day) run(s int) {
	d.runs++
	id := d.session()
	start := noon.Add(time.Duration(s) * time.Second)
	d.update(1, func(tx *store.Tx) error {
		if err := tx.PutSession(trace.Session{ID: id, Origin: trace.Live, Title: "a day's run", Started: start}); err != nil {
			return err
		}
		return tx.Emit(event.Event{Type: event.AgentStarted, SessionID: id, Data: map[string]any{"turns": 10}})
	})
	for i := range 10 {
		turn := trace.Turn{SessionID: id, Index: i, TraceID: fmt.Sprintf("%s.%d", id, i), Input: "Please refund order A-1004."}
		for j := range 20 {
			span := trace.Span{ID: fmt.Sprintf("s%d", j), Kind: trace.TOOL, Name: "issue_refund", Input: `{"order_id":"A-1004"}`, Output: strings.Repeat("result ", 40), Start: start, End: start.Add(time.Second)}
			turn.Spans = append(turn.Spans, span)
			for range 5 {
				d.bus.Publish(event.Event{Type: event.SpanProgress, At: start, SessionID: id, TurnIndex: event.Turn(i), Data: map[string]any{"span": span}})
				d.events++
			}
			time.Sleep(time.Millisecond)
		}
		staged, err := d.st.StageTurn(d.t.Context(), turn)
		if err != nil {
			d.t.Fatal(err)
		}
		half := 0.4
		d.update(1, func(tx *store.Tx) error {
			if err := tx.PutTurn(staged); err != nil {
				return err
			}
			if err := tx.PutReport(score.Report{SessionID: id, TurnIndex: i, Scores: []score.Score{{Metric: score.TaskCompletion, Value: &half, Threshold: 0.5, Tier: 1}}}); err != nil {
				return err
			}
			return tx.Emit(event.Event{Type: event.TurnReplayed, SessionID: id, TurnIndex: event.Turn(i), Data: map[string]any{"steps": 3, "calls": 20}})
		})
	}
	for k := range 700 {
		d.bus.Publish(event.Event{Type: event.RepairDelta, At: start, EpisodeID: fmt.Sprintf("e-%04d", d.runs), Data: map[string]any{"attempt": 1, "turn": 1 + k/120, "text": "a word of the answer "}})
		d.events++
		if k%20 == 0 {
			time.Sleep(time.Millisecond)
		}
	}
	d.update(1, func(tx *store.Tx) error { return tx.Emit(event.Event{Type: event.AgentExited, SessionID: id}) })
}

// usage is what the process holds and has used; of two the difference.
type usage struct {
	events     int
	rss, heap  uint64
	goroutines int
	cpu        time.Duration
}

func measure(events int) usage {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	u := usage{events: events, heap: m.HeapAlloc, goroutines: runtime.NumGoroutine()}
	var r syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &r) == nil {
		u.cpu = time.Duration(r.Utime.Nano() + r.Stime.Nano())
	}
	if raw, err := os.ReadFile("/proc/self/statm"); err == nil {
		if f := strings.Fields(string(raw)); len(f) > 1 {
			pages, _ := strconv.ParseUint(f[1], 10, 64)
			u.rss = pages * uint64(os.Getpagesize())
		}
	}
	return u
}

func (u usage) since(v usage) usage {
	u.events -= v.events
	u.cpu -= v.cpu
	return u
}
