package local

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// TestLikenessAgreesWithScan compares the prefix filter with comparing all.
func TestLikenessAgreesWithScan(t *testing.T) {
	for _, limit := range []float64{requestAlike, answerAlike} {
		rng := rand.New(rand.NewPCG(3, 4))
		l := newLikeness(limit)
		var earlier []map[string]bool
		hits := 0
		for range 500 {
			var text []string
			set := map[string]bool{}
			add := func(w string) { text = append(text, w); set[w] = true }
			if len(earlier) > 0 && rng.IntN(3) == 0 { // a variation of an earlier text
				for w := range earlier[rng.IntN(len(earlier))] {
					if rng.IntN(10) > 0 {
						add(w)
					}
				}
			}
			for range rng.IntN(6) {
				add(fmt.Sprint("w", rng.IntN(60)))
			}
			var want float64
			for _, other := range earlier {
				shared := 0
				for w := range set {
					if other[w] {
						shared++
					}
				}
				if all := len(set) + len(other) - shared; all > 0 {
					want = max(want, float64(shared)/float64(all))
				}
			}
			if want < limit {
				want = 0
			}
			if got := l.best(text); got != want {
				t.Fatalf("limit %v: best(%q) = %v, want %v", limit, text, got, want)
			}
			if want > 0 {
				hits++
			}
			l.add(text)
			earlier = append(earlier, set)
		}
		if hits < 30 {
			t.Fatalf("limit %v: only %d alike texts: the test decides nothing", limit, hits)
		}
	}
}
