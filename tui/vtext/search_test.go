package vtext

import (
	"fmt"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"pgregory.net/rapid"
)

// each finds every place of a word.
func each(word string) Places {
	return func(line string) (out [][2]int) {
		for at := 0; ; {
			i := strings.Index(line[at:], word)
			if i < 0 {
				return out
			}
			out = append(out, [2]int{at + i, at + i + len(word)})
			at += i + len(word)
		}
	}
}

// shown are the marked pieces on the screen, the present one in brackets.
func shown(t *Text) (out []string) {
	for _, r := range t.Rows() {
		for {
			_, rest, ok := strings.Cut(r, "\x1b[")
			if !ok {
				break
			}
			seq, rest, _ := strings.Cut(rest, "m")
			text, _, _ := strings.Cut(rest, "\x1b")
			switch seq {
			case "4":
				out = append(out, text)
			case "7":
				out = append(out, "["+text+"]")
			}
			r = rest
		}
	}
	return out
}

func TestSearch(t *testing.T) {
	x := New(ansi.StringWidth)
	x.SetSize(20, 4)
	var lines []Line
	for i := range 50 {
		lines = append(lines, Line{Text: fmt.Sprintf("line %d of the text", i), Style: "\x1b[31m"})
	}
	lines[30] = Line{Text: strings.Repeat("a word and ", 40) + "needle at the end", Hang: 3}
	lines[40] = Line{Text: "ready \x1b[1mnee\x1b[mdle\x1b[32m!\x1b[m", Ready: true}
	x.Set(lines)
	x.Home()
	if n := x.Find(each("needle"), "\x1b[4m", "\x1b[7m"); n != 2 || x.At() != 1 {
		t.Fatalf("match %d of %d, want 1 of 2", x.At(), n)
	}
	for _, want := range []struct {
		dir   int
		moved bool
		shown string
	}{{1, true, "[needle]"}, {1, false, "[needle]"}, {-1, true, "[needle]"}, {-1, false, "[needle]"}} {
		if moved := x.Next(want.dir); moved != want.moved {
			t.Errorf("Next(%d) is %v", want.dir, moved)
		}
		if got := strings.Join(shown(x), " "); got != want.shown {
			t.Errorf("the screen marks %q, want %q: %q", got, want.shown, x.Rows())
		}
	}
	for _, r := range x.Rows() {
		if w := ansi.StringWidth(r); w != 20 {
			t.Errorf("a row is %d wide: %q", w, r)
		}
	}
	x.Append(Line{Text: "one more needle"})
	if n := x.Found(); n != 3 {
		t.Errorf("%d matches after one more came", n)
	}
	x.Find(nil, "", "")
	if got := shown(x); len(got) > 0 || len(x.matches) > 0 {
		t.Errorf("after the search %q is marked", got)
	}
}

// Whatever the text and the width, going to a match brings it onto the screen, marked
// where it is: all cells of the match that are in the row, and no others.
func TestSearchShowsTheMatch(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := New(ansi.StringWidth)
		x.SetSize(rapid.IntRange(4, 40).Draw(t, "w"), rapid.IntRange(1, 9).Draw(t, "h"))
		var lines []Line
		for range rapid.IntRange(1, 9).Draw(t, "lines") {
			l := Line{Hang: rapid.IntRange(0, 5).Draw(t, "hang"), Ready: rapid.Bool().Draw(t, "ready")}
			for range rapid.IntRange(0, 20).Draw(t, "words") {
				l.Text += rapid.SampledFrom([]string{"x", " ", "漢字", "é", "longer", "xx", "\t"}).Draw(t, "word")
				if l.Ready {
					l.Text = strings.ReplaceAll(l.Text, "\t", " ")
				}
			}
			lines = append(lines, l)
		}
		x.Set(lines)
		n := x.Find(each("x"), "\x1b[4m", "\x1b[7m")
		for i := range n {
			if !x.GoTo(i) {
				t.Fatal("a match cannot be gone to")
			}
			screen := x.Rows()
			wide := false // a ready line is cut, its match may be off the screen
			for _, l := range lines {
				wide = wide || l.Ready && ansi.StringWidth(l.Text) > x.w
			}
			if got := strings.Count(strings.Join(shown(x), ""), "[x]"); got != 1 && !wide {
				t.Fatalf("match %d is marked %d times: %q", i, got, screen)
			}
			for _, m := range shown(x) {
				if strings.Trim(m, "[]") != "x" {
					t.Fatalf("%q is marked", m)
				}
			}
		}
	})
}
