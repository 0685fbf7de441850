package tui

import (
	"fmt"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"vise/engine/trace"
	"vise/store"
)

// large is a session of one turn: a short call, one with 20,000 lines, one whose single line
// is 2 MB long.
func large(t *testing.T) *bench {
	d := newDesk(t, false)
	var lines strings.Builder
	for i := range 20000 {
		fmt.Fprintf(&lines, "line %d of the log\n", i)
	}
	long := strings.Repeat("some words, ", 1<<17) + "a needle" + strings.Repeat(", more words", 1<<15)
	head := trace.Session{ID: "s-large", Origin: trace.Recorded, Started: noon}
	staged, err := d.store.StageTurn(t.Context(), trace.Turn{SessionID: head.ID, TraceID: "s-large.0", Input: "read it", Spans: []trace.Span{
		{ID: "a", Kind: trace.TOOL, Name: "small", Input: `{"path":"a needle","b":1}`, Output: "nothing"},
		{ID: "b", Kind: trace.TOOL, Name: "lines", Output: lines.String()},
		{ID: "c", Kind: trace.TOOL, Name: "long", Output: long},
	}})
	if err != nil {
		t.Fatal(err)
	}
	if err := d.store.Bulk(t.Context(), func(tx *store.Tx) error {
		if err := tx.PutSession(head); err != nil {
			return err
		}
		return tx.PutTurn(staged)
	}); err != nil {
		t.Fatal(err)
	}
	b := newBench(t, d, 120, 40)
	b.app.ctx.Scope.Session, b.app.ctx.Scope.Turn = head.ID, 0
	b.send(nil)
	b.run(b.app.apply(Change{Reload: true}))
	b.press("3", "home")
	return b
}

// A search goes to each place within a value, however far inside it stands, counts the
// places, and shows them.
func TestSearchInAValue(t *testing.T) {
	b := large(t)
	p := b.app.panes[PaneTrace].(*tracePane)
	search := func(query string) {
		t.Helper()
		b.press("/")
		cmds := p.Search(b.app.ctx, query)
		_ = cmds
		b.run(p.SearchFar(b.app.ctx, 0))
		b.app.search.input.SetValue(query)
		b.app.search.typing = false
	}
	sees := func(found string, texts ...string) {
		t.Helper()
		if got := b.app.found(); got != found {
			t.Errorf("found %q, want %q", got, found)
		}
		screen := ansi.Strip(strings.Join(b.frame(), "\n"))
		for _, x := range texts {
			if !strings.Contains(screen, x) {
				t.Errorf("no %q on the screen:\n%s", x, screen)
			}
		}
	}
	search("needle")
	sees("1 of 2 matches", `"path": "a needle"`)
	b.press("n")
	sees("2 of 2 matches", "words, a needle, more words")
	b.press("n")
	sees("2 of 2 matches")
	b.press("N")
	sees("1 of 2 matches", `"path": "a needle"`)
	b.press("esc")

	search("line 1234")
	sees("1 of 11 matches", "line 1234 of the log")
	b.press("n", "n")
	sees("3 of 11 matches", "line 12341 of the log")
	b.press("enter", "enter")
	if p.inside {
		t.Error("a second enter does not close the span")
	}
	b.press("esc")
	if p.Matches() != 0 || p.hits.spans != nil {
		t.Error("the search has not ended")
	}
}

// What is typed into a search does not wait for large values: they are looked through in a
// command, and one for an older query is given up.
func TestSearchOfLargeValuesIsACommand(t *testing.T) {
	b := large(t)
	p := b.app.panes[PaneTrace].(*tracePane)
	p.Search(b.app.ctx, "n")
	first := p.SearchFar(b.app.ctx, 0)
	if first == nil || p.Matches() != 0 || p.Found() != "looking through the texts" {
		t.Fatalf("the search was done at once: %s", p.Found())
	}
	p.Search(b.app.ctx, "needle")
	b.run(p.SearchFar(b.app.ctx, 0))
	b.run(first)
	if p.Matches() != 2 {
		t.Errorf("%d matches, want 2", p.Matches())
	}
}

// With a search in force a frame costs what is on the screen, not what the values hold.
func BenchmarkTraceFrameWithSearch(b *testing.B) {
	d := crowd(b, 1, 1, 200)
	x := newBench(b, d, 120, 40)
	x.app.ctx.Scope.Session, x.app.ctx.Scope.Turn = "refund-000000", 0
	x.send(nil)
	x.press("3", "/", "a")
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		x.app.Update(press([]string{"down", "up"}[i%2]))
		x.app.View()
	}
}
