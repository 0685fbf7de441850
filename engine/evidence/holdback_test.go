package evidence_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"vise/engine/evidence"
)

// hold plays live sessions until the holdback ends: the rule moves the outcome of a
// session by effect, sd is the scatter of a session. It returns how it ended and after
// how many sessions.
func hold(rng *rand.Rand, run int, effect, sd float64) (string, int) {
	var h evidence.Holdback
	for n := 1; ; n++ {
		id := fmt.Sprintf("%d-%d", run, n)
		hidden := evidence.Hides(1, id, "r", 0.2)
		level := 0.6 + 0.15*float64(n%3) // scenarios differ
		v := level + sd*rng.NormFloat64()
		if !hidden {
			v += effect
		}
		h = h.Observe(hidden, evidence.Live{SessionID: id, Of: fmt.Sprint(n % 3), Value: min(1, max(0, v))}, 2*sd)
		if h.Ended != "" || n == 2000 {
			return h.Ended, n
		}
	}
}

// A useless rule is retired in at most 1 of 20 holdbacks, a harmful one nearly always.
// Fixed seeds, known truth.
func TestHoldbackFigures(t *testing.T) {
	const runs = 120
	for _, c := range []struct {
		effect float64
		ended  string
		lo, hi float64
	}{
		{0, evidence.HoldbackHarm, 0, 0.05},
		{0, evidence.HoldbackHelp, 0, 0.05},
		{-0.2, evidence.HoldbackHarm, 0.95, 1},
		{0.2, evidence.HoldbackHarm, 0, 0.01},
		{0.2, evidence.HoldbackHelp, 0.95, 1},
	} {
		rng := rand.New(rand.NewPCG(3, 5))
		n, sessions := 0, 0
		for run := range runs {
			how, after := hold(rng, run, c.effect, 0.15)
			sessions += after
			if how == c.ended {
				n++
			}
		}
		share := float64(n) / runs
		t.Logf("effect %+.2f: %s in %.1f %%, after %d sessions on average", c.effect, c.ended, 100*share, sessions/runs)
		if share < c.lo || share > c.hi {
			t.Errorf("effect %+.2f: %s in %.1f %%, want %.0f to %.0f %%", c.effect, c.ended, 100*share, 100*c.lo, 100*c.hi)
		}
	}
}

func TestHoldbackPairsAndBounds(t *testing.T) {
	var h evidence.Holdback
	h = h.Observe(false, evidence.Live{Of: "a", Value: 1}, 0.3)
	h = h.Observe(false, evidence.Live{Of: "b", Value: 1}, 0.3)
	before := h
	h = h.Observe(true, evidence.Live{Of: "a", Value: 0.7}, 0.3)
	if len(h.Shown) != 1 || h.Shown[0].Of != "b" || len(h.Graded) != 1 || h.Graded[0] < 0.99 || h.Gain <= 1 || h.Loss >= 1 {
		t.Errorf("the same inputs are compared first: %+v", h)
	}
	if len(before.Shown) != 2 || len(before.Graded) != 0 {
		t.Errorf("the state before changed: %+v", before)
	}
	for range 200 {
		h = h.Observe(false, evidence.Live{Value: 1}, 0.3)
	}
	if len(h.Shown) != 50 || h.With != 202 {
		t.Errorf("%d wait of %d", len(h.Shown), h.With)
	}
	for i := range 300 {
		v := float64(i % 2)
		h = h.Observe(true, evidence.Live{Value: v}, 0.3).Observe(false, evidence.Live{Value: 1 - v}, 0.3)
	}
	if h.Ended == "" || len(h.Graded) > evidence.HoldbackPairs || h.Observe(true, evidence.Live{}, 0.3).Without != h.Without {
		t.Errorf("it never ends: %+v", h)
	}
}

func TestHidesIsAShare(t *testing.T) {
	n := 0
	for i := range 20000 {
		if evidence.Hides(7, fmt.Sprintf("s-%06d", i), "r-1", 0.2) {
			n++
		}
	}
	if n < 3800 || n > 4200 {
		t.Errorf("hidden in %d of 20000, want about 4000", n)
	}
	if evidence.Hides(7, "s", "r", 0) || !evidence.Hides(7, "s", "r", 1) {
		t.Error("shares of 0 and 1")
	}
}
