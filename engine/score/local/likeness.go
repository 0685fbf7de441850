package local

import (
	"math"
	"slices"
)

// likeness finds the earlier text whose content words overlap most with a new
// one, by Jaccard index (shared words over all words of both).
//
// Only an index of limit or more is of interest, which allows prefix filtering:
// order the words of every text by one fixed order, rarest first; two texts that
// reach the limit then share a word among the first n-ceil(limit*n)+1 of each.
// Only texts filed under such a word are compared, so the cost follows the
// number of similar texts, not the length of the session. Words are numbered as
// they first appear and ordered newest first: late words are rare words.
type likeness struct {
	limit float64
	ids   map[string]int32
	texts [][]int32 // word ids of each text, descending
	filed map[int32][]int32
	stamp []int32 // last query that looked at the text
	query int32
}

func newLikeness(limit float64) *likeness {
	return &likeness{limit: limit, ids: map[string]int32{}, filed: map[int32][]int32{}}
}

// add files the words of a text. It is called once per text, after best.
func (l *likeness) add(words []string) {
	set := l.set(words)
	at := int32(len(l.texts))
	l.texts = append(l.texts, set)
	l.stamp = append(l.stamp, 0)
	for _, id := range set[:l.prefix(len(set))] {
		l.filed[id] = append(l.filed[id], at)
	}
}

// best returns the highest index among the earlier texts if it reaches the
// limit, else 0.
func (l *likeness) best(words []string) float64 {
	set := l.set(words)
	l.query++
	var best float64
	for _, id := range set[:l.prefix(len(set))] {
		for _, at := range l.filed[id] {
			if l.stamp[at] == l.query {
				continue
			}
			l.stamp[at] = l.query
			if j := jaccard(set, l.texts[at]); j >= l.limit {
				best = max(best, j)
			}
		}
	}
	return best
}

// prefix is how many of the n words of a text have to be looked at. The epsilon
// keeps rounding from shortening it.
func (l *likeness) prefix(n int) int {
	if n == 0 {
		return 0
	}
	return min(n, n-int(math.Ceil(l.limit*float64(n)-1e-9))+1)
}

func (l *likeness) set(words []string) []int32 {
	set := make([]int32, len(words))
	for i, w := range words {
		id, ok := l.ids[w]
		if !ok {
			id = int32(len(l.ids))
			l.ids[w] = id
		}
		set[i] = id
	}
	slices.SortFunc(set, func(a, b int32) int { return int(b) - int(a) })
	return slices.Compact(set)
}

// jaccard compares two descending sets.
func jaccard(a, b []int32) float64 {
	shared, i, j := 0, 0, 0
	for i < len(a) && j < len(b) {
		switch {
		case a[i] == b[j]:
			shared++
			i++
			j++
		case a[i] > b[j]:
			i++
		default:
			j++
		}
	}
	all := len(a) + len(b) - shared
	if all == 0 {
		return 0
	}
	return float64(shared) / float64(all)
}
