package vtext

import (
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// MaxMatches bounds how many places of a search are remembered in one text.
const MaxMatches = 10000

// Places returns the places of a query in one line, as byte ranges in order.
type Places func(line string) [][2]int

// match is a place of the search: bytes of a line, counted as t.line is.
type match struct{ line, from, to int }

// Find marks the places that a query has, with the escape sequence mark, and with here the
// one that the reader is at. It goes to the first at or after the top, else to the first
// of all, and returns how many there are. Ready lines are searched as they read, and what
// comes later is searched too. nil ends the search.
func (t *Text) Find(places Places, mark, here string) int {
	t.find, t.mark, t.here, t.at = places, mark, here, -1
	t.search()
	t.changed()
	if len(t.matches) > 0 {
		t.GoTo(t.from())
	}
	return len(t.matches)
}

// search looks through all lines anew; the present match stays that of the same number.
func (t *Text) search() {
	t.matches = nil
	if t.find != nil {
		for n := t.first; n <= t.last(); n++ {
			t.searchLine(n)
		}
	}
	t.at = min(t.at, len(t.matches)-1)
}

func (t *Text) searchLine(n int) {
	for _, r := range t.find(t.plain(n)) {
		if len(t.matches) == MaxMatches {
			return
		}
		t.matches = append(t.matches, match{n, r[0], r[1]})
	}
}

// plain is a line as it reads, and as its rows are cut from it.
func (t *Text) plain(n int) string {
	l := t.lines[n-t.first]
	if l.Ready {
		return ansi.Strip(l.Text)
	}
	return strings.ReplaceAll(l.Text, "\t", "    ")
}

// Found is how many places there are, at most MaxMatches, and At which of them, from 1, the
// reader went to last; 0 = none.
func (t *Text) Found() int { return len(t.matches) }

// At: see Found.
func (t *Text) At() int { return t.at + 1 }

// Marks are the rows of a scroll bar as high as the box at which there are matches.
func (t *Text) Marks() []int {
	if t.h == 0 {
		return nil
	}
	var out []int
	for _, m := range t.matches {
		row := (m.line - t.first) * t.h / max(len(t.lines), t.h)
		if len(out) == 0 || out[len(out)-1] != row {
			out = append(out, row)
		}
	}
	return out
}

// Next goes to the next (1) or to the previous (-1) place; false when there is none.
func (t *Text) Next(dir int) bool {
	if t.at < 0 {
		return t.GoTo(t.from())
	}
	return t.GoTo(t.at + dir)
}

// from is the first match at or behind the top of the box, else the first of all.
func (t *Text) from() int {
	t.settle()
	for i, m := range t.matches {
		if m.line >= t.line {
			return i
		}
	}
	return 0
}

// GoTo shows a match by its number from 0; false when there is none.
func (t *Text) GoTo(i int) bool {
	if i < 0 || i >= len(t.matches) {
		return false
	}
	t.at = i
	m := t.matches[i]
	row := 0
	for k, at := range t.starts(m.line) {
		if at <= m.from {
			row = k
		}
	}
	t.reveal(m.line, row)
	return true
}

// reveal shows a row of a line: where it is when it is on the screen, else a third from the top.
func (t *Text) reveal(line, row int) {
	t.changed()
	if t.h == 0 {
		return
	}
	t.settle()
	y := -t.row
	for n := t.line; n < line; n++ {
		if y += len(t.rows(n)); y >= t.h {
			break
		}
	}
	if y += row; line >= t.line && y >= 0 && y < t.h {
		return
	}
	if t.follow {
		t.seen = len(t.lines)
	}
	for n := t.h / 3; n > 0 && (row > 0 || line > t.first); n-- {
		if row--; row < 0 {
			line--
			row = len(t.rows(line)) - 1
		}
	}
	t.line, t.row, t.follow = line, row, false
	t.settle()
	endLine, endRow := t.end()
	t.follow = t.line == endLine && t.row >= endRow
}

// starts are the bytes of a line at which its rows begin.
func (t *Text) starts(n int) []int {
	rows, l := t.rows(n), t.lines[n-t.first]
	if l.Ready || len(rows) == 1 {
		return []int{0}
	}
	if t.beginsOf == &rows[0] {
		return t.begins
	}
	text, out, pos := t.plain(n), make([]int, len(rows)), 0
	for i, r := range rows {
		if i > 0 && l.Hang < t.w {
			r = strings.TrimPrefix(r, strings.Repeat(" ", l.Hang))
		}
		if at := strings.Index(text[pos:], r); at > 0 {
			pos += at
		}
		out[i] = pos
		pos += len(r)
	}
	t.begins, t.beginsOf = out, &rows[0]
	return out
}

// marks are the places of the search in one row of a line, as bytes of the row, with
// the sequence of each.
func (t *Text) marks(n, row int, text string) (out []mark) {
	if len(t.matches) == 0 {
		return nil
	}
	lo, hi := 0, len(t.matches)
	for lo < hi { // the first match of the line
		if mid := (lo + hi) / 2; t.matches[mid].line < n {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if lo == len(t.matches) || t.matches[lo].line != n {
		return nil
	}
	begin, lead := t.starts(n)[row], 0
	if l := t.lines[n-t.first]; row > 0 && !l.Ready && l.Hang < t.w {
		lead = l.Hang
	}
	for i := lo; i < len(t.matches) && t.matches[i].line == n; i++ {
		m := t.matches[i]
		from, to := m.from-begin+lead, m.to-begin+lead
		if to <= lead || !t.lines[n-t.first].Ready && from >= len(text) {
			continue
		}
		seq := t.mark
		if i == t.at {
			seq = t.here
		}
		out = append(out, mark{max(lead, from), to, seq})
	}
	return out
}

// mark is a piece of a row in a style of its own.
type mark struct {
	from, to int
	seq      string
}

const reset = "\x1b[m"

// paint puts marks into a row that may hold escape sequences; their bytes do not count.
// style is what the row is shown in where it says nothing else.
func paint(row, style string, marks []mark) string {
	var b strings.Builder
	b.WriteString(style)
	active, at, in := style, 0, -1
	var state byte
	p := ansi.GetParser()
	defer ansi.PutParser(p)
	step := func() {
		if in >= 0 && at >= marks[in].to {
			b.WriteString(reset + active)
			in = -1
		}
		for i, m := range marks {
			if in < 0 && at >= m.from && at < m.to {
				b.WriteString(reset + m.seq)
				in = i
			}
		}
	}
	for row != "" {
		seq, width, n, next := ansi.DecodeSequence(row, state, p)
		state, row = next, row[n:]
		if width == 0 && seq[0] == 0x1b {
			if strings.HasPrefix(seq, "\x1b[") && strings.HasSuffix(seq, "m") {
				if active += seq; seq == reset || seq == "\x1b[0m" {
					active = ""
				}
				if in >= 0 {
					continue // the mark lies over it
				}
			}
			b.WriteString(seq)
			continue
		}
		step()
		b.WriteString(seq)
		at += n
	}
	if in >= 0 || active != "" {
		b.WriteString(reset)
	}
	return b.String()
}

// Anchor is the reader's place, for GoAnchor.
func (t *Text) Anchor() (line, row int) {
	t.settle()
	return t.line, t.row
}

// GoAnchor goes back to a place that Anchor told.
func (t *Text) GoAnchor(line, row int) {
	t.line, t.row, t.follow = line, row, false
	t.settle()
	endLine, endRow := t.end()
	t.follow = t.line == endLine && t.row >= endRow
	t.changed()
}

// GoPlace goes to the match nearest to a byte of a line (counted from 0 as held); false
// when the line has none.
func (t *Text) GoPlace(line, at int) bool {
	best := -1
	for i, m := range t.matches {
		if m.line-t.first == line && (best < 0 || abs(m.from-at) < abs(t.matches[best].from-at)) {
			best = i
		}
	}
	return t.GoTo(best)
}

func abs(n int) int {
	if n < 0 {
		return -n
	}
	return n
}
