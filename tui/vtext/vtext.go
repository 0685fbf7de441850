// Package vtext shows long, growing text in a box: wrapped on demand, so that a
// frame costs what is visible and never what is stored.
//
// The reader's place is an anchor on a line, not a number of rows: it does not move
// when text arrives, when the box changes its size or when old lines are dropped.
// The view follows the end only while it is at the end.
package vtext

import (
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// MaxBytes bounds the text held; the oldest lines go first.
const MaxBytes = 4 << 20

// Line is one logical line. Its text must be safe for a terminal.
type Line struct {
	Text string
	// Style is the SGR sequence the whole line is shown in; "" is none.
	Style string
	// Hang is by how many cells wrapped rows are indented.
	Hang int
	// Ready lines hold their own sequences and fit: they are cut, not wrapped.
	Ready bool
}

// Text is a box of lines. The zero value is not usable: see New.
type Text struct {
	width   func(string) int
	w, h    int
	lines   []Line
	first   int // number of lines[0]; grows when the oldest are dropped
	bytes   int
	max     int
	line    int // the anchor: number of the line at the top …
	row     int // … and which of its rows
	follow  bool
	seen    int // number of lines when the end was left
	version uint64

	// The search: see Find.
	find       Places
	mark, here string
	matches    []match
	at         int   // the present one, -1 before there is one
	begins     []int // of the rows of a line, as starts returns them
	beginsOf   *string

	wrapped map[int][]string
	cached  []string
	fresh   bool
}

// New returns an empty box at its end. width measures text in cells.
func New(width func(string) int) *Text {
	return &Text{width: width, max: MaxBytes, follow: true, wrapped: map[int][]string{}}
}

func (t *Text) changed() {
	t.version++
	t.fresh = false
}

// Version changes with what Rows returns.
func (t *Text) Version() uint64 { return t.version }

// SetSize sets the size of the box in cells.
func (t *Text) SetSize(w, h int) {
	w, h = max(0, w), max(0, h)
	if w == t.w && h == t.h {
		return
	}
	if w != t.w {
		clear(t.wrapped)
		t.row = 0
	}
	t.w, t.h = w, h
	t.changed()
}

// Set replaces the lines. The place stays: at the end if it was there, else at the
// line of the same number.
func (t *Text) Set(lines []Line) {
	t.lines, t.first, t.bytes = lines, 0, 0
	for _, l := range lines {
		t.bytes += len(l.Text) + 64
	}
	clear(t.wrapped)
	t.trim()
	t.search()
	if t.line > t.last() {
		t.line, t.row = max(t.first, t.last()), 0
	}
	if t.seen > len(t.lines) {
		t.seen = len(t.lines)
	}
	t.changed()
}

// Append adds lines at the end.
func (t *Text) Append(lines ...Line) {
	for _, l := range lines {
		t.bytes += len(l.Text) + 64
	}
	t.lines = append(t.lines, lines...)
	if t.find != nil {
		for n := t.last() - len(lines) + 1; n <= t.last(); n++ {
			t.searchLine(n)
		}
	}
	t.trim()
	t.changed()
}

func (t *Text) trim() {
	n := 0
	for t.bytes > t.max && n < len(t.lines)-1 {
		t.bytes -= len(t.lines[n].Text) + 64
		delete(t.wrapped, t.first+n)
		t.lines[n] = Line{}
		n++
	}
	if n == 0 {
		return
	}
	t.lines = t.lines[n:] // append copies them into a new array once this one is used up
	t.first += n
	t.seen = max(0, t.seen-n)
	if t.find != nil {
		t.search()
	}
	if t.line < t.first {
		t.line, t.row = t.first, 0
	}
}

func (t *Text) last() int { return t.first + len(t.lines) - 1 }

// rows wraps one line; what was wrapped is kept while it is near the screen.
func (t *Text) rows(n int) []string {
	if r, ok := t.wrapped[n]; ok {
		return r
	}
	l := t.lines[n-t.first]
	var r []string
	if l.Ready {
		r = []string{l.Text}
	} else {
		r = Wrap(strings.ReplaceAll(l.Text, "\t", "    "), t.w, l.Hang, t.width)
	}
	if len(t.wrapped) > 4*t.h+64 {
		clear(t.wrapped)
	}
	t.wrapped[n] = r
	return r
}

// end is the anchor that shows the last rows.
func (t *Text) end() (line, row int) {
	left := t.h
	for n := t.last(); n >= t.first; n-- {
		k := len(t.rows(n))
		if k >= left {
			return n, k - left
		}
		left -= k
	}
	return t.first, 0
}

func (t *Text) settle() {
	if len(t.lines) == 0 {
		t.line, t.row = t.first, 0
		return
	}
	line, row := t.end()
	if t.follow || t.line > line || t.line == line && t.row > row {
		t.line, t.row = line, row
	}
	if t.line < t.first {
		t.line, t.row = t.first, 0
	}
	t.row = min(t.row, len(t.rows(t.line))-1)
}

// Rows returns exactly h rows of exactly w cells. Do not change them.
func (t *Text) Rows() []string {
	if t.fresh {
		return t.cached
	}
	t.settle()
	out := make([]string, 0, t.h)
	skip := t.row
	for n := t.line; n <= t.last() && len(out) < t.h; n++ {
		rows := t.rows(n)
		for i := min(skip, len(rows)); i < len(rows) && len(out) < t.h; i++ {
			out = append(out, t.cell(t.lines[n-t.first], rows[i], t.marks(n, i, rows[i])))
		}
		skip = 0
	}
	blank := strings.Repeat(" ", t.w)
	for len(out) < t.h {
		out = append(out, blank)
	}
	t.cached, t.fresh = out, true
	return out
}

func (t *Text) cell(l Line, row string, marks []mark) string {
	if l.Ready {
		w := t.width(row)
		if w > t.w {
			row = ansi.TruncateWc(row, t.w, "") + "\x1b[m"
			w = t.width(row)
		}
		if len(marks) > 0 {
			row = paint(row, "", marks)
		}
		return row + strings.Repeat(" ", max(0, t.w-w))
	}
	pad := strings.Repeat(" ", max(0, t.w-t.width(row)))
	if len(marks) > 0 {
		return paint(row, l.Style, marks) + pad
	}
	if l.Style == "" {
		return row + pad
	}
	return l.Style + row + "\x1b[m" + pad
}

// Scroll moves by n rows, down for n > 0. Reaching the end follows it again.
func (t *Text) Scroll(n int) {
	if len(t.lines) == 0 || n == 0 {
		return
	}
	t.settle()
	was := [2]int{t.line, t.row}
	wasFollow := t.follow
	for ; n < 0; n++ {
		switch {
		case t.row > 0:
			t.row--
		case t.line > t.first:
			t.line--
			t.row = len(t.rows(t.line)) - 1
		default:
			n = -1
		}
	}
	line, row := t.end()
	for ; n > 0; n-- {
		if t.line > line || t.line == line && t.row >= row {
			break
		}
		if t.row+1 < len(t.rows(t.line)) {
			t.row++
		} else {
			t.line++
			t.row = 0
		}
	}
	t.follow = t.line > line || t.line == line && t.row >= row
	if !t.follow && wasFollow {
		t.seen = len(t.lines)
	}
	if was != [2]int{t.line, t.row} || wasFollow != t.follow {
		t.changed()
	}
}

// Page moves by n boxes, with one row kept.
func (t *Text) Page(n int) { t.Scroll(n * max(1, t.h-1)) }

// Home goes to the first line.
func (t *Text) Home() {
	if t.follow {
		t.seen = len(t.lines)
	}
	t.line, t.row, t.follow = t.first, 0, false
	t.changed()
	if line, row := t.endOrFirst(); line == t.first && row == 0 {
		t.follow = true // all of it fits
	}
}

func (t *Text) endOrFirst() (int, int) {
	if len(t.lines) == 0 {
		return t.first, 0
	}
	return t.end()
}

// End goes to the end and follows it.
func (t *Text) End() {
	t.follow = true
	t.changed()
}

// Reveal moves as little as needed for a line (counted from 0 as held) to be on the screen.
func (t *Text) Reveal(n int) {
	if n < 0 || n >= len(t.lines) || t.h == 0 {
		return
	}
	t.settle()
	n += t.first
	if n < t.line || n == t.line && t.row > 0 {
		t.line, t.row = n, 0
	} else {
		used := -t.row
		for i := t.line; i <= n; i++ {
			used += len(t.rows(i))
			if used > t.h && i > n {
				break
			}
		}
		if used > t.h {
			// The line's last row becomes the box's last, or its first the box's first.
			left := t.h - len(t.rows(n))
			t.line, t.row = n, 0
			for left > 0 && t.line > t.first {
				k := len(t.rows(t.line - 1))
				t.line--
				if k > left {
					t.row = k - left
				}
				left -= k
			}
		}
	}
	line, row := t.end()
	at := t.line > line || t.line == line && t.row >= row
	if t.follow && !at {
		t.seen = len(t.lines)
	}
	t.follow = at
	t.changed()
}

// To brings a line (counted from 0 as held) to the top, as near as the text allows.
func (t *Text) To(n int) {
	if len(t.lines) == 0 {
		return
	}
	t.line, t.row = t.first+max(0, min(n, len(t.lines)-1)), 0
	t.follow, t.seen = false, len(t.lines)
	t.changed()
}

// Following reports whether the view is at the end and stays there.
func (t *Text) Following() bool { return t.follow }

// Unseen is how many lines came since the end was left: "↓ 12 new".
func (t *Text) Unseen() int {
	if t.follow {
		return 0
	}
	return max(0, len(t.lines)-t.seen)
}

// Len is the number of lines held.
func (t *Text) Len() int { return len(t.lines) }

// Top is the line (counted from 0 as held) at the top of the box.
func (t *Text) Top() int {
	t.settle()
	return t.line - t.first
}

// String is the text without styles, for copying.
func (t *Text) String() string {
	var b strings.Builder
	for i, l := range t.lines {
		if i > 0 {
			b.WriteByte('\n')
		}
		if l.Ready {
			b.WriteString(strings.TrimRight(ansi.Strip(l.Text), " "))
		} else {
			b.WriteString(l.Text)
		}
	}
	return b.String()
}
