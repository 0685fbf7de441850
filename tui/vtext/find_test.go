package vtext

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// A search goes from match to match, marks the scroll bar, and goes on while lines come,
// are dropped, and the box changes its size.
func TestFind(t *testing.T) {
	x := New(func(s string) int { return len(s) })
	x.SetSize(20, 10)
	var lines []Line
	for i := range 100 {
		lines = append(lines, Line{Text: fmt.Sprintf("line %d", i)})
	}
	x.Set(lines)
	x.Home()
	fives := func(s string) [][2]int {
		if strings.HasSuffix(s, "5") {
			return [][2]int{{len(s) - 1, len(s)}}
		}
		return nil
	}
	if n := x.Find(fives, "<", "["); n != 10 || x.At() != 1 || x.Found() != 10 {
		t.Fatalf("%d found, at %d", n, x.At())
	}
	if got := x.Marks(); !slices.Equal(got, []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}) {
		t.Errorf("marks %v", got)
	}
	for i := 2; i <= 10; i++ {
		if !x.Next(1) || x.At() != i || !slices.Contains(x.Rows(), fmt.Sprintf("line %d\x1b[m[5\x1b[m%s", i-1, strings.Repeat(" ", 13))) {
			t.Fatalf("match %d: at %d, rows %q", i, x.At(), x.Rows())
		}
	}
	if x.Next(1) || !x.Next(-1) || x.At() != 9 {
		t.Errorf("at the end: %d", x.At())
	}
	x.Append(Line{Text: "new 5"})
	if x.SetSize(6, 4); x.Found() != 11 || x.At() != 9 || len(x.Marks()) != 4 {
		t.Errorf("after new lines and another size: %d found, at %d, marks %v", x.Found(), x.At(), x.Marks())
	}
	if x.Find(nil, "", ""); x.Found() != 0 || x.Marks() != nil || x.Next(1) {
		t.Error("the search has not ended")
	}
	// From the middle the first match is the next one, not the first of all.
	x.To(50)
	if x.Find(fives, "", ""); x.At() != 6 {
		t.Errorf("from line 50 it went to match %d", x.At())
	}
}

// Lines that are dropped at the beginning take their places with them, and new ones count once.
func TestFindWhileLinesAreDropped(t *testing.T) {
	x := New(func(s string) int { return len(s) })
	x.SetSize(20, 4)
	x.max = 4 * (len("a needle") + 64)
	x.Find(each("needle"), "", "")
	for i := range 20 {
		x.Append(Line{Text: "a needle"})
		if n := x.Found(); n != min(i+1, 4) || n != x.Len() {
			t.Fatalf("after %d lines %d places in %d lines", i+1, n, x.Len())
		}
	}
}
