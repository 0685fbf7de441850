// Package vlist is a list that holds a window of its items and shows a part of
// the window: cost depends on what is visible, never on how long the list is.
//
// The list keeps the cursor on an item, not on a number: when the window is
// replaced by a newer reading the cursor stays with its item. Items beyond the
// window are asked for by Wants. Nothing here draws; a pane renders Visible.
package vlist

import "slices"

// Want says which neighbour of the window should be loaded.
type Want int

// Nothing, the items before the first, or those after the last.
const (
	None Want = iota
	Before
	After
)

// cap bounds the window: what is furthest from the cursor is let go.
const capacity = 2000

// List is a window over a list. The zero value is not usable: New.
type List[T any] struct {
	key           func(T) string
	items         []T
	before, after bool // there is more beyond the ends of the window
	h             int
	top           int // index of the first visible item
	cursor        int
	follow        bool // stay at the end while the cursor is there
	fresh         int  // items that came at the end while the reader was elsewhere
	version       uint64
}

// New returns an empty list of height 0. Keys are unique within a list.
func New[T any](key func(T) string) *List[T] { return &List[T]{key: key} }

// NewFollowing is New for a log: the cursor stays at the end as long as it is there.
func NewFollowing[T any](key func(T) string) *List[T] { return &List[T]{key: key, follow: true} }

func (l *List[T]) bump() { l.version++ }

// Version changes whenever what is visible may have changed.
func (l *List[T]) Version() uint64 { return l.version }

// Len is the number of items in the window.
func (l *List[T]) Len() int { return len(l.items) }

// Items are those of the window; they must not be changed.
func (l *List[T]) Items() []T { return l.items }

// More tells whether there is more beyond the window.
func (l *List[T]) More() (before, after bool) { return l.before, l.after }

// Index is the cursor's place in the window, -1 when the list is empty.
func (l *List[T]) Index() int {
	if len(l.items) == 0 {
		return -1
	}
	return l.cursor
}

// Selected is the item under the cursor.
func (l *List[T]) Selected() (T, bool) {
	if len(l.items) == 0 {
		var zero T
		return zero, false
	}
	return l.items[l.cursor], true
}

// Key is the key of the item under the cursor, "" when the list is empty.
func (l *List[T]) Key() string {
	v, ok := l.Selected()
	if !ok {
		return ""
	}
	return l.key(v)
}

// SetHeight sets the number of visible rows.
func (l *List[T]) SetHeight(h int) {
	h = max(0, h)
	if h == l.h {
		return
	}
	l.h = h
	l.settle()
}

// Set replaces the window. The cursor stays on its item; when that is gone, on its
// place; at the end of a following list, at the end.
func (l *List[T]) Set(items []T, before, after bool) {
	atEnd := l.AtEnd()
	key, offset := l.Key(), l.cursor-l.top
	l.items, l.before, l.after = items, before, after
	switch i := l.find(key); {
	case l.follow && atEnd:
		l.cursor, l.fresh = max(0, len(items)-1), 0
	case key != "" && i >= 0:
		l.cursor = i
	default:
		l.cursor = max(0, min(l.cursor, len(items)-1))
	}
	l.top = l.cursor - offset
	l.settle()
}

func (l *List[T]) find(key string) int {
	return slices.IndexFunc(l.items, func(v T) bool { return l.key(v) == key })
}

// Append adds items after the window; more says that there are further ones.
func (l *List[T]) Append(items []T, more bool) {
	atEnd := l.AtEnd()
	l.items, l.after = append(l.items, items...), more
	if over := len(l.items) - capacity; over > 0 {
		front := min(over, l.top)
		l.items, l.before = slices.Clone(l.items[front:]), l.before || front > 0
		l.top, l.cursor = l.top-front, l.cursor-front
		if len(l.items) > capacity && l.h <= capacity { // the reader is at the top: what came last is read when he comes there
			l.items, l.after = slices.Clone(l.items[:capacity]), true
		}
	}
	switch {
	case l.follow && atEnd:
		l.cursor = max(0, len(l.items)-1)
	case l.follow:
		l.fresh += len(items)
	}
	l.settle()
}

// Prepend adds items before the window; more says that there are further ones.
func (l *List[T]) Prepend(items []T, more bool) {
	empty := len(l.items) == 0
	l.items, l.before = slices.Concat(items, l.items), more
	if !empty {
		l.cursor, l.top = l.cursor+len(items), l.top+len(items)
	}
	if over := len(l.items) - capacity; over > 0 {
		over = min(over, len(l.items)-(l.top+l.h))
		if over > 0 {
			l.items, l.after = l.items[:len(l.items)-over], true
		}
	}
	l.settle()
}

// Update replaces the item of that key in place; false when it is not in the window.
func (l *List[T]) Update(v T) bool {
	i := l.find(l.key(v))
	if i < 0 {
		return false
	}
	l.items[i] = v
	l.bump()
	return true
}

// settle keeps cursor and top within the window and the cursor visible.
func (l *List[T]) settle() {
	n := len(l.items)
	l.cursor = max(0, min(l.cursor, n-1))
	if l.cursor < l.top {
		l.top = l.cursor
	}
	if l.h > 0 && l.cursor >= l.top+l.h {
		l.top = l.cursor - l.h + 1
	}
	l.top = max(0, min(l.top, n-l.h))
	if l.AtEnd() {
		l.fresh = 0
	}
	l.bump()
}

// AtEnd reports whether the cursor is on the last item of the whole list.
func (l *List[T]) AtEnd() bool {
	return len(l.items) == 0 || l.cursor == len(l.items)-1 && !l.after
}

// Fresh is the number of items that came at the end while the reader was elsewhere.
func (l *List[T]) Fresh() int { return l.fresh }

// Select puts the cursor on a place of the window; false when it is there already.
func (l *List[T]) Select(i int) bool {
	i = max(0, min(i, len(l.items)-1))
	if i == l.cursor || len(l.items) == 0 {
		return false
	}
	l.cursor = i
	l.settle()
	return true
}

// SelectKey puts the cursor on an item; false when it is not in the window.
func (l *List[T]) SelectKey(key string) bool {
	i := l.find(key)
	if i < 0 {
		return false
	}
	l.Select(i)
	return true
}

// Move moves the cursor by n items; false when it could not.
func (l *List[T]) Move(n int) bool { return l.Select(l.cursor + n) }

// Page moves by n screens less one row.
func (l *List[T]) Page(n int) bool { return l.Move(n * max(1, l.h-1)) }

// Home goes to the first item of the window, End to the last.
func (l *List[T]) Home() bool { return l.Select(0) }

// End goes to the last item of the window.
func (l *List[T]) End() bool { return l.Select(len(l.items) - 1) }

// Scroll moves the view by n rows; the cursor comes along only at its edges.
func (l *List[T]) Scroll(n int) bool {
	top := max(0, min(l.top+n, len(l.items)-l.h))
	if top == l.top {
		return false
	}
	l.top = top
	if l.h > 0 {
		l.cursor = max(l.top, min(l.cursor, l.top+l.h-1))
	}
	l.settle()
	return true
}

// Click selects the item in a visible row; false when there is none.
func (l *List[T]) Click(row int) bool {
	i := l.top + row
	if row < 0 || row >= l.h || i >= len(l.items) {
		return false
	}
	l.Select(i)
	return true
}

// Visible are the items on the screen, and the place of the first in the window.
func (l *List[T]) Visible() (items []T, first int) {
	end := min(len(l.items), l.top+l.h)
	if l.top >= end {
		return nil, l.top
	}
	return l.items[l.top:end], l.top
}

// Wants says which neighbour of the window to load: the view is within a screen
// of an end that is not the list's end.
func (l *List[T]) Wants() Want {
	margin := max(l.h, 8)
	switch {
	case l.after && l.top+l.h+margin >= len(l.items):
		return After
	case l.before && l.top < margin:
		return Before
	}
	return None
}

// First and Last are the keys at the ends of the window, for the store's cursors.
func (l *List[T]) First() string {
	if len(l.items) == 0 {
		return ""
	}
	return l.key(l.items[0])
}

// Last is the key of the last item of the window.
func (l *List[T]) Last() string {
	if len(l.items) == 0 {
		return ""
	}
	return l.key(l.items[len(l.items)-1])
}

// Marks are the rows of a scroll bar of h rows at which there are items that match. As
// in Thumb, unknown parts beyond the window count as one window each.
func (l *List[T]) Marks(match func(T) bool) []int {
	total, before := len(l.items), 0
	if l.before {
		before = len(l.items)
	}
	total += before
	if l.after {
		total += len(l.items)
	}
	var out []int
	for i, v := range l.items {
		row := i - l.top
		if total > l.h {
			row = (before + i) * l.h / total
		}
		if row >= 0 && row < l.h && (len(out) == 0 || out[len(out)-1] != row) && match(v) {
			out = append(out, row)
		}
	}
	return out
}

// Thumb is where the handle of a scroll bar of h rows begins and how long it is;
// its length is 0 when everything is visible. Unknown parts beyond the window
// count as one window each.
func (l *List[T]) Thumb() (at, length int) {
	total, top := len(l.items), l.top
	if l.before {
		total, top = total+len(l.items), top+len(l.items)
	}
	if l.after {
		total += len(l.items)
	}
	if l.h <= 0 || total <= l.h {
		return 0, 0
	}
	length = max(1, l.h*l.h/total)
	return min(l.h-length, top*(l.h-length)/max(1, total-l.h)), length
}
