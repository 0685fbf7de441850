package evidence_test

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"vise/engine/evidence"
)

func bet(gs ...float64) float64 {
	var b evidence.Bet
	for _, g := range gs {
		b.Add(g)
	}
	return b.Value()
}

// A rule that always turns failure into success needs seven pairs at 20, three at 5.
func TestBetNeedsSevenPairs(t *testing.T) {
	var b evidence.Bet
	if b.Value() != 1 {
		t.Errorf("it starts with %v, not 1", b.Value())
	}
	at := map[float64]int{}
	for n := 1; n <= 10; n++ {
		b.Add(1)
		for _, e := range []float64{5, 20} {
			if at[e] == 0 && b.Value() >= e {
				at[e] = n
			}
		}
	}
	if at[20] != 7 || at[5] != 4 {
		t.Errorf("20 is reached after %d pairs and 5 after %d; want 7 and 4", at[20], at[5])
	}
}

// The mean of the next step is at most what is there when gains and losses are alike:
// this is the whole guarantee.
func TestBetIsFairUnderNoEffect(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		past := rapid.SliceOfN(rapid.Float64Range(-1, 1), 0, 40).Draw(t, "past")
		g := rapid.Float64Range(0, 3).Draw(t, "g")
		next := (bet(append(past, g)...) + bet(append(past, -g)...)) / 2
		if now := bet(past...); math.Abs(next-now) > 1e-9*now {
			t.Fatalf("from %v to %v on average", now, next)
		}
		var a, b evidence.Bet
		for i := range past {
			a.Add(past[i])
			b.Add(past[len(past)-1-i])
		}
		if math.Abs(a.Value()-b.Value()) > 1e-9*a.Value() {
			t.Fatalf("the order of the pairs matters: %v and %v", a.Value(), b.Value())
		}
		if direct := a.Best(3); math.Abs(direct-bet(append(past, 1, 1, 1)...)) > 1e-9*direct {
			t.Fatalf("best of three more pairs %v", direct)
		}
	})
}

func TestBetStaysFinite(t *testing.T) {
	var b evidence.Bet
	b.Add(math.NaN())
	for range 400 {
		b.Add(-5)
	}
	for range 100 {
		b.Add(math.Inf(1))
	}
	if v := b.Value(); math.IsNaN(v) || v < 0 || math.IsInf(v, 0) {
		t.Errorf("value %v", v)
	}
}
