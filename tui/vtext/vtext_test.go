package vtext

import (
	"fmt"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"
)

func box(w, h int, lines ...string) *Text {
	t := New(ansi.StringWidth)
	t.SetSize(w, h)
	for _, l := range lines {
		t.Append(Line{Text: l})
	}
	return t
}

func numbered(n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprintf("line %d", i)
	}
	return out
}

func trimmed(rows []string) []string {
	out := make([]string, len(rows))
	for i, r := range rows {
		out[i] = strings.TrimRight(ansi.Strip(r), " ")
	}
	return out
}

func wants(t *testing.T, x *Text, want ...string) {
	t.Helper()
	if d := cmp.Diff(want, trimmed(x.Rows())); d != "" {
		t.Errorf("rows (-want +got):\n%s", d)
	}
}

func TestFollowsOnlyAtTheEnd(t *testing.T) {
	x := box(10, 3, numbered(5)...)
	wants(t, x, "line 2", "line 3", "line 4")
	x.Append(Line{Text: "line 5"})
	wants(t, x, "line 3", "line 4", "line 5")
	x.Scroll(-2)
	wants(t, x, "line 1", "line 2", "line 3")
	x.Append(Line{Text: "line 6"}, Line{Text: "line 7"})
	wants(t, x, "line 1", "line 2", "line 3")
	if x.Unseen() != 2 || x.Following() {
		t.Errorf("unseen %d, following %t; want 2 and false", x.Unseen(), x.Following())
	}
	x.Scroll(100)
	wants(t, x, "line 5", "line 6", "line 7")
	x.Append(Line{Text: "line 8"})
	wants(t, x, "line 6", "line 7", "line 8")
	x.Home()
	wants(t, x, "line 0", "line 1", "line 2")
	x.End()
	wants(t, x, "line 6", "line 7", "line 8")
}

func TestPlaceSurvivesWrapping(t *testing.T) {
	x := box(20, 2, "first", "the second line is a long one", "third", "fourth")
	x.Home()
	x.Scroll(1)
	wants(t, x, "the second line is a", "long one")
	x.SetSize(10, 2)
	wants(t, x, "the second", "line is a")
	x.SetSize(40, 2)
	wants(t, x, "the second line is a long one", "third")
}

func TestOldLinesAreDropped(t *testing.T) {
	x := box(10, 2, numbered(4)...)
	x.max = 400
	x.Home()
	x.Scroll(1)
	x.Append(Line{Text: "new 0"}, Line{Text: "new 1"})
	if x.Len() != 5 {
		t.Errorf("%d lines are held, want 5", x.Len())
	}
	wants(t, x, "line 1", "line 2")
	x.Append(Line{Text: "new 2"}, Line{Text: "new 3"})
	wants(t, x, "line 3", "new 0") // its own line is gone: the oldest kept is shown
}

func TestReveal(t *testing.T) {
	x := box(10, 3, numbered(9)...)
	x.Home()
	x.Reveal(4)
	wants(t, x, "line 2", "line 3", "line 4")
	x.Reveal(3)
	wants(t, x, "line 2", "line 3", "line 4")
	x.Reveal(0)
	wants(t, x, "line 0", "line 1", "line 2")
	x.Reveal(8)
	if !x.Following() {
		t.Error("the last line is shown and not followed")
	}
}

// Every mutator that changes what is shown must change the version, or the screen keeps the old rows.
func TestMutatorsBumpTheVersion(t *testing.T) {
	for name, do := range map[string]func(*Text){
		"SetSize": func(x *Text) { x.SetSize(9, 3) },
		"Set":     func(x *Text) { x.Set([]Line{{Text: "other"}}) },
		"Append":  func(x *Text) { x.Append(Line{Text: "more"}) },
		"Scroll":  func(x *Text) { x.Scroll(-1) },
		"Page":    func(x *Text) { x.Page(-1) },
		"Home":    func(x *Text) { x.Home() },
		"Reveal":  func(x *Text) { x.Reveal(1) },
	} {
		x := box(10, 3, numbered(9)...)
		before, rows := x.Version(), trimmed(x.Rows())
		do(x)
		if x.Version() == before {
			t.Errorf("%s did not change the version", name)
		}
		if cmp.Equal(rows, trimmed(x.Rows())) && name != "SetSize" {
			t.Errorf("%s did not change the rows", name)
		}
	}
}

func TestRowsFillTheBox(t *testing.T) {
	for w := range 12 {
		for h := range 5 {
			x := box(w, h, "退款请求被拒绝", "a long line that wraps", "", "tab\there")
			x.Append(Line{Text: "\x1b[31mready\x1b[m", Ready: true})
			rows := x.Rows()
			if len(rows) != h {
				t.Fatalf("%dx%d: %d rows", w, h, len(rows))
			}
			for i, r := range rows {
				if n := ansi.StringWidth(r); n != w && w > 1 {
					t.Errorf("%dx%d: row %d is %d cells: %q", w, h, i, n, r)
				}
			}
		}
	}
}

func BenchmarkStream(b *testing.B) {
	x := New(ansi.StringWidth)
	x.SetSize(80, 40)
	for i := range 100_000 {
		x.Append(Line{Text: fmt.Sprintf("line %d of a long transcript that has a few words in it", i)})
	}
	b.ReportAllocs()
	for b.Loop() {
		x.Append(Line{Text: "a few more words."})
		x.Rows()
	}
}
