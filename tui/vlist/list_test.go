package vlist_test

import (
	"slices"
	"strconv"
	"testing"

	"pgregory.net/rapid"

	"vise/tui/vlist"
)

func numbers(from, to int) []int {
	var out []int
	for i := from; i < to; i++ {
		out = append(out, i)
	}
	return out
}

func list(h int, items []int) *vlist.List[int] {
	l := vlist.New(strconv.Itoa)
	l.SetHeight(h)
	l.Set(items, false, false)
	return l
}

// The cursor stays with its item when the window is read again.
func TestSetKeepsTheItem(t *testing.T) {
	l := list(5, numbers(10, 30))
	l.SelectKey("20")
	_, before := l.Visible()
	l.Set(numbers(0, 30), false, false)
	if l.Key() != "20" {
		t.Fatalf("cursor on %s, want 20", l.Key())
	}
	if _, first := l.Visible(); l.Index()-first != 10-before {
		t.Errorf("the row of the cursor moved on the screen")
	}
	l.Set(numbers(0, 5), false, false)
	if l.Key() != "4" {
		t.Errorf("its item gone, the cursor is on %s, want the last", l.Key())
	}
}

func TestFollow(t *testing.T) {
	l := vlist.NewFollowing(strconv.Itoa)
	l.SetHeight(3)
	l.Append(numbers(0, 10), false)
	if l.Key() != "9" {
		t.Fatalf("a log begins at its end, cursor on %s", l.Key())
	}
	l.Move(-2)
	l.Append([]int{10, 11}, false)
	if l.Key() != "7" || l.Fresh() != 2 {
		t.Errorf("reading: cursor on %s with %d new, want 7 with 2", l.Key(), l.Fresh())
	}
	l.End()
	l.Append([]int{12}, false)
	if l.Key() != "12" || l.Fresh() != 0 {
		t.Errorf("at the end: cursor on %s with %d new", l.Key(), l.Fresh())
	}
}

// The window is bounded: what is far from the cursor is let go and can be asked for again.
func TestWindow(t *testing.T) {
	l := list(10, numbers(0, 200))
	l.Set(numbers(0, 200), false, true)
	for next := 200; next < 6000; next += 200 {
		l.End()
		if l.Wants() != vlist.After {
			t.Fatalf("at the end of the window it wants %v", l.Wants())
		}
		l.Append(numbers(next, next+200), true)
	}
	if l.Len() > 2200 {
		t.Errorf("%d items are held", l.Len())
	}
	if before, _ := l.More(); !before {
		t.Error("what was let go must be asked for again")
	}
	key := l.Key()
	l.Home()
	if l.Wants() != vlist.Before {
		t.Error("at the beginning of the window it wants nothing")
	}
	first := l.Items()[0]
	l.Prepend(numbers(first-200, first), true)
	if l.Items()[0] != first-200 || l.Key() != strconv.Itoa(first) || key == l.Key() {
		t.Errorf("after a page before: first %d, cursor %s", l.Items()[0], l.Key())
	}
}

// Whatever is done, the cursor is visible and within the window.
func TestInvariants(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := vlist.New(strconv.Itoa)
		if rapid.Bool().Draw(t, "follow") {
			l = vlist.NewFollowing(strconv.Itoa)
		}
		next := 0
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			n := rapid.IntRange(-30, 30).Draw(t, "n")
			switch rapid.IntRange(0, 8).Draw(t, "op") {
			case 0:
				l.SetHeight(n)
			case 1:
				l.Set(numbers(0, max(0, n)), n%2 == 0, n%3 == 0)
				next = 1000
			case 2:
				l.Append(numbers(next, next+max(0, n)), false)
				next += max(0, n)
			case 3:
				l.Move(n)
			case 4:
				l.Page(n)
			case 5:
				l.Scroll(n)
			case 6:
				l.Click(n)
			case 7:
				l.End()
			case 8:
				l.Prepend(numbers(-next-1000, -next-1000+max(0, n)), false)
				next += 1000
			}
			items, first := l.Visible()
			if l.Len() > 0 && len(items) > 0 && (l.Index() < first || l.Index() >= first+len(items)) {
				t.Fatalf("cursor %d is not within %d..%d", l.Index(), first, first+len(items))
			}
			if at, length := l.Thumb(); length < 0 || at < 0 {
				t.Fatalf("thumb %d, %d", at, length)
			}
			l.Wants()
		}
	})
}

// Moving costs the same however long the list is.
func BenchmarkMove(b *testing.B) {
	b.ReportAllocs()
	l := list(58, numbers(0, 2000))
	for i := 0; b.Loop(); i++ {
		if !l.Move(1) {
			l.Home()
		}
		l.Visible()
	}
}

// TestSeekAndFind: the nearest match in a direction; a selection that does not match
// gives way to one that does.
func TestSeekAndFind(t *testing.T) {
	l := vlist.New(func(s string) string { return s })
	l.SetHeight(3)
	l.Set([]string{"a1", "b1", "a2", "b2", "a3"}, false, false)
	has := func(c string) func(string) bool { return func(s string) bool { return s[:1] == c } }
	l.Select(1)
	if !l.Seek(true, has("a")) || l.Key() != "a2" || !l.Seek(true, has("a")) || l.Key() != "a3" || l.Seek(true, has("a")) {
		t.Errorf("forward: at %s", l.Key())
	}
	if !l.Seek(false, has("b")) || l.Key() != "b2" {
		t.Errorf("back: at %s", l.Key())
	}
	if n, moved := l.Find(has("a")); n != 3 || !moved || l.Key() != "a3" {
		t.Errorf("find: %d, moved %v, at %s", n, moved, l.Key())
	}
	if n, moved := l.Find(has("a")); n != 3 || moved {
		t.Errorf("found again: %d, moved %v", n, moved)
	}
	if n, moved := l.Find(has("z")); n != 0 || moved {
		t.Errorf("nothing: %d, moved %v", n, moved)
	}
}

// Marks stand where the matches are: on their rows while all is visible, else in proportion.
func TestMarks(t *testing.T) {
	l := vlist.New(strconv.Itoa)
	l.SetHeight(10)
	items := func(n int) (out []int) {
		for i := range n {
			out = append(out, i)
		}
		return out
	}
	fives := func(v int) bool { return v%10 == 5 }
	l.Set(items(8), false, false)
	if got := l.Marks(fives); !slices.Equal(got, []int{5}) {
		t.Errorf("all visible: %v", got)
	}
	l.Set(items(100), false, false)
	if got := l.Marks(fives); !slices.Equal(got, []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}) {
		t.Errorf("a long list: %v", got)
	}
	l.Set(items(100), true, false)
	if got := l.Marks(fives); !slices.Equal(got, []int{5, 6, 7, 8, 9}) {
		t.Errorf("with as much before: %v", got)
	}
}

// A reader who stays at the top of a log holds no more than the window, and is told that
// there is more.
func TestAppendIsBoundedAtTheTop(t *testing.T) {
	l := vlist.NewFollowing(strconv.Itoa)
	l.SetHeight(10)
	n := 0
	for range 100 {
		var page []int
		for range 1000 {
			page = append(page, n)
			n++
		}
		l.Append(page, false)
		l.Home()
	}
	first, _ := l.Visible()
	if _, after := l.More(); l.Len() > 2000 || !after || l.Index() != 0 || first[0] != 0 {
		t.Errorf("%d of %d items are held, more behind: %v, the reader at %d", l.Len(), n, after, l.Index())
	}
}
