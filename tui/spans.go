package tui

import (
	"time"

	"vise/engine/trace"
)

// spanRow is a span in the tree of a trace.
type spanRow struct {
	*trace.Span
	depth int
	last  bool // the last child of its parent
	open  bool // it has children and shows them
	kids  int
}

// tree orders spans as a tree: children under their parent, in the order they
// happened; folded holds the ids of spans whose children are hidden. Spans whose
// parent is unknown, or whose ancestors form a ring, are roots.
func tree(spans []trace.Span, folded map[string]bool) []spanRow {
	at := make(map[string]int, len(spans))
	for i := range spans {
		at[spans[i].ID] = i
	}
	kids := make(map[int][]int)
	var roots []int
	for i := range spans {
		parent, ok := at[spans[i].Parent]
		if !ok || spans[i].Parent == "" || ring(spans, at, i) {
			roots = append(roots, i)
			continue
		}
		kids[parent] = append(kids[parent], i)
	}
	out := make([]spanRow, 0, len(spans))
	var add func(list []int, depth int)
	add = func(list []int, depth int) {
		for n, i := range list {
			open := !folded[spans[i].ID]
			out = append(out, spanRow{Span: &spans[i], depth: depth, last: n == len(list)-1, kids: len(kids[i]), open: open})
			if open {
				add(kids[i], depth+1)
			}
		}
	}
	add(roots, 0)
	return out
}

// ring reports whether following parents from i comes back to i, or never ends.
func ring(spans []trace.Span, at map[string]int, i int) bool {
	j := i
	for range len(spans) {
		next, ok := at[spans[j].Parent]
		if !ok || spans[j].Parent == "" {
			return false
		}
		if next == i {
			return true
		}
		j = next
	}
	return true
}

// pair is a row of two runs side by side; one side may be missing.
type pair struct {
	a, b *trace.Span // the run before, the run now
	same bool
}

// alignLimit bounds the table of an alignment; longer runs are aligned by place.
const alignLimit = 600

// align lays two runs side by side so that equal steps stand beside each other:
// the longest common subsequence by kind and name.
func align(a, b []trace.Span) []pair {
	if len(a) > alignLimit || len(b) > alignLimit {
		out := make([]pair, max(len(a), len(b)))
		for i := range out {
			if i < len(a) {
				out[i].a = &a[i]
			}
			if i < len(b) {
				out[i].b = &b[i]
			}
			out[i].same = sameStep(out[i].a, out[i].b)
		}
		return out
	}
	alike := func(i, j int) bool { return a[i].Kind == b[j].Kind && a[i].Name == b[j].Name }
	n := make([][]int, len(a)+1)
	for i := range n {
		n[i] = make([]int, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if alike(i, j) {
				n[i][j] = n[i+1][j+1] + 1
			} else {
				n[i][j] = max(n[i+1][j], n[i][j+1])
			}
		}
	}
	var out []pair
	i, j := 0, 0
	for i < len(a) || j < len(b) {
		switch {
		case i < len(a) && j < len(b) && alike(i, j):
			out = append(out, pair{&a[i], &b[j], sameStep(&a[i], &b[j])})
			i, j = i+1, j+1
		case j == len(b) || i < len(a) && n[i+1][j] > n[i][j+1]:
			out = append(out, pair{a: &a[i]})
			i++
		default:
			out = append(out, pair{b: &b[j]})
			j++
		}
	}
	return out
}

// sameStep reports whether two steps did the same with the same result.
func sameStep(a, b *trace.Span) bool {
	return a != nil && b != nil && a.Kind == b.Kind && a.Name == b.Name && a.Input == b.Input && a.Error == b.Error &&
		(a.Kind != trace.TOOL || a.Output == b.Output)
}

// extent is the time the spans cover, for duration bars.
func extent(spans []trace.Span) (start time.Time, length time.Duration) {
	var end time.Time
	for _, s := range spans {
		if !s.Start.IsZero() && (start.IsZero() || s.Start.Before(start)) {
			start = s.Start
		}
		if s.End.After(end) {
			end = s.End
		}
	}
	if start.IsZero() || !end.After(start) {
		return start, 0
	}
	return start, end.Sub(start)
}
