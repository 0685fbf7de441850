package tui

import (
	"fmt"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"vise/engine/trace"
)

// TestB55LargeMarkdown is named after a row of testdata/publicbugs.txt: an answer of 3 MB,
// with deep lists, one line of 20,000 columns and a table of 5,000 rows, is opened, resized
// twenty times and paged through. No key waits for a render: those are commands. The
// times are told, not judged; BenchmarkLargeMarkdown measures them.
func TestB55LargeMarkdown(t *testing.T) {
	b := largeMarkdown(t)
	var longest time.Duration
	frame := func(what string, m tea.Msg) {
		t.Helper()
		begin := time.Now()
		_, cmd := b.app.Update(m)
		rows := b.frame()
		longest = max(longest, time.Since(begin))
		for i, row := range rows {
			if n := ansi.StringWidth(row); n > b.app.w {
				t.Fatalf("%s: row %d has %d cells of %d", what, i, n, b.app.w)
			}
		}
		b.run(cmd)
	}
	for i := range 20 {
		frame("resize", tea.WindowSizeMsg{Width: 80 + 6*i, Height: 24 + i})
	}
	before := b.screen()
	for range 5 {
		for _, k := range []tea.KeyPressMsg{{Code: tea.KeyPgDown}, {Code: tea.KeyPgDown}, {Code: tea.KeyDown}, {Code: tea.KeyPgUp}} {
			frame(k.String(), k)
		}
	}
	if after := b.screen(); !strings.Contains(after, "3 Trace") || after == before {
		t.Errorf("the text was not paged through:\n%s", after)
	}
	t.Logf("the longest frame took %s", longest)
}

func BenchmarkLargeMarkdown(b *testing.B) {
	app := largeMarkdown(b)
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		i++
		app.app.Update(tea.WindowSizeMsg{Width: 100 + i%40, Height: 40})
		app.frame()
	}
}

func largeMarkdown(tb testing.TB) *bench {
	tb.Helper()
	var text strings.Builder
	for i := range 2000 {
		fmt.Fprintf(&text, "%s- item %d of a **nested** list\n", strings.Repeat("  ", i%8), i)
	}
	text.WriteString("\n" + strings.Repeat("column ", 20_000/7) + "\n\n| a | b | c |\n|---|---|---|\n")
	for i := range 5000 {
		fmt.Fprintf(&text, "| row %d | `code` | %s |\n", i, strings.Repeat("x", 20))
	}
	for text.Len() < 3<<20 {
		text.WriteString("\nA paragraph with *words* that goes on and on and on, as answers do.\n")
	}
	d := newDesk(tb, false)
	d.turns[0].Spans = append(d.turns[0].Spans, trace.Span{ID: "large", Kind: trace.LLM, Output: text.String()})
	if err := d.live(tb.Context(), "s-0001"); err != nil {
		tb.Fatal(err)
	}
	b := newBench(tb, d, 140, 40)
	b.press("D", "2", "home", "3", "end", "enter")
	return b
}
