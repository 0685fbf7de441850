package tui

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"testing"

	"vise/engine/event"
	"vise/engine/trace"
)

// A day at the screen in a moment: events of runs, repairs and validations, frames
// between them. Neither what is held nor what an event costs may grow. VISE_SOAK sets
// the number of batches; eight hours of a busy feed (30 batches a second) are 864,000.
func TestSoak(t *testing.T) {
	batches := 4000
	if n, err := strconv.Atoi(os.Getenv("VISE_SOAK")); err == nil {
		batches = n
	}
	b := newBench(t, worked(t), 120, 40)
	b.app.ctx.Scope.Session, b.app.ctx.Scope.Turn = "s-live", 0
	b.send(nil)
	seq := uint64(1 << 20)
	feed := func(n int) {
		var events []event.Event
		for i := range 4 {
			seq++
			turn := n % 50
			events = append(events,
				event.Event{Type: event.SpanProgress, SessionID: "s-live", TurnIndex: &turn, At: noon, Data: map[string]any{"span": trace.Span{ID: fmt.Sprint("sp", n%20, i), Kind: trace.TOOL, Name: "search", Input: "{}"}}},
				event.Event{Type: event.RepairToolCall, Seq: seq, At: noon, EpisodeID: "e-1", Data: map[string]any{"tool": "harness_trace_inspect", "turn": 1}})
		}
		_, _ = b.app.Update(feedMsg{events: events}) // what it asks the store for is not what is measured
		b.app.View()
		if n%500 == 0 {
			b.press([]string{"D", "R", "E", "9", "end", "1"}[n/500%6])
		}
	}
	heap := func() uint64 {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	n := 0
	run := func(k int) {
		for range k {
			n++
			feed(n)
		}
	}
	run(batches / 2) // lists and caches fill up
	before := heap()
	early := testing.AllocsPerRun(50, func() { run(1) })
	run(batches / 2)
	late := testing.AllocsPerRun(50, func() { run(1) })
	if after := heap(); after > before+before/4+(2<<20) {
		t.Errorf("the heap grew from %d to %d KB over %d batches", before>>10, after>>10, batches/2)
	}
	if late > 2*early+100 {
		t.Errorf("a batch cost %.0f allocations and then %.0f", early, late)
	}
}
