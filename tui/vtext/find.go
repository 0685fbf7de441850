package vtext

import (
	"slices"

	"github.com/charmbracelet/x/ansi"
)

// search is what is looked for in a text. It goes on with every change of the text, so
// that what comes later is found too.
type search struct {
	match func(plain string) bool
	mark  func(row string) string // shows the places in a row
	at    int                     // number of the line that the reader is at; -1 = none
	hits  []int                   // numbers of the lines that match, in order
	done  uint64                  // content of the text that hits are of
}

// Find looks for the lines that match says yes to (of their text without styles) and goes
// to the first at or after the top, else to the first of all. mark shows the places in a
// row that is drawn; the row must keep its cells. A nil match ends the search.
func (t *Text) Find(match func(plain string) bool, mark func(row string) string) int {
	t.find = nil
	t.changed()
	if match == nil {
		return 0
	}
	top := t.first + t.Top()
	t.find = &search{match: match, mark: mark, at: -1, done: t.content - 1}
	hits := t.hits()
	if len(hits) == 0 {
		return 0
	}
	i, _ := slices.BinarySearch(hits, top)
	t.goHit(hits[i%len(hits)])
	return len(hits)
}

// Next goes to the next (1) or the previous (-1) line that matches; false when there is none.
func (t *Text) Next(dir int) bool {
	hits := t.hits()
	if len(hits) == 0 {
		return false
	}
	from := t.find.at
	if from < 0 {
		from = t.first + t.Top()
	}
	i, on := slices.BinarySearch(hits, from)
	switch {
	case dir < 0:
		i--
	case on:
		i++
	}
	if i < 0 || i >= len(hits) {
		return false
	}
	t.goHit(hits[i])
	return true
}

func (t *Text) goHit(n int) {
	t.find.at = n
	t.Reveal(n - t.first)
}

// Found is how many lines match, and At which of them, from 1, the reader went to last;
// 0 = none.
func (t *Text) Found() int { return len(t.hits()) }

// At: see Found.
func (t *Text) At() int {
	hits := t.hits()
	if t.find == nil {
		return 0
	}
	if i, ok := slices.BinarySearch(hits, t.find.at); ok {
		return i + 1
	}
	return 0
}

// Marks are the rows of a scroll bar as high as the box at which there are matches.
func (t *Text) Marks() []int {
	hits := t.hits()
	if len(hits) == 0 || t.h == 0 {
		return nil
	}
	var out []int
	for _, n := range hits {
		row := (n - t.first) * t.h / max(len(t.lines), t.h)
		if len(out) == 0 || out[len(out)-1] != row {
			out = append(out, row)
		}
	}
	return out
}

// hits are the lines that match, looked for again when the text has changed.
func (t *Text) hits() []int {
	f := t.find
	if f == nil {
		return nil
	}
	if f.done == t.content {
		return f.hits
	}
	f.hits, f.done = f.hits[:0], t.content
	for i, l := range t.lines {
		text := l.Text
		if l.Ready {
			text = ansi.Strip(text)
		}
		if f.match(text) {
			f.hits = append(f.hits, t.first+i)
		}
	}
	return f.hits
}

// marked shows the places of a match in a row.
func (t *Text) marked(n int, row string) string {
	if t.find == nil || t.find.mark == nil {
		return row
	}
	if _, hit := slices.BinarySearch(t.hits(), n); !hit {
		return row
	}
	return t.find.mark(row)
}
