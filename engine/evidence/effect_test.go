package evidence_test

import (
	"math"
	"testing"

	"vise/engine/evidence"
)

// Reference values: R's binom::binom.wilson, Newcombe 1998 (table II, case a), t.test.
func TestIntervals(t *testing.T) {
	for _, c := range []struct {
		name            string
		got             evidence.Interval
		mean, low, high float64
		method          string
	}{
		{"wilson 8 of 10", evidence.Wilson(8, 10), 0.8, 0.4902, 0.9433, "wilson"},
		{"wilson none of 10", evidence.Wilson(0, 10), 0, 0, 0.2775, "wilson"},
		{"wilson all of 10", evidence.Wilson(10, 10), 1, 0.7225, 1, "wilson"},
		{"wilson of nothing", evidence.Wilson(0, 0), 0, 0, 1, "none"},
		{"newcombe 56/70 and 48/80", evidence.ShareDifference(56, 70, 48, 80), 0.2, 0.0524, 0.3339, "newcombe"},
		{"student of five", evidence.MeanInterval([]float64{1, 2, 3, 4, 5}, 1), 3, 1.0368, 4.9632, "student"},
		{"student of thirteen", evidence.MeanInterval([]float64{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, 1), 6, 3.6466, 8.3534, "student"},
		{"thirty equal ones", evidence.MeanInterval(make([]float64, 30), 0.3), 0, -0.0285, 0.0285, "exact"},
		{"nothing", evidence.MeanInterval(nil, 1), 0, 0, 0, "none"},
	} {
		near := func(a, b float64) bool { return math.Abs(a-b) < 5e-4 }
		if !near(c.got.Mean, c.mean) || !near(c.got.Low, c.low) || !near(c.got.High, c.high) || c.got.Method != c.method {
			t.Errorf("%s: %+v; want %v [%v, %v] by %s", c.name, c.got, c.mean, c.low, c.high, c.method)
		}
	}
}

func TestScale(t *testing.T) {
	for _, c := range []struct {
		sd    float64
		known bool
		want  float64
	}{{0.4, false, evidence.DefaultScale}, {0, true, evidence.MinScale}, {0.1, true, 0.2}, {0.7, true, 1}, {math.NaN(), true, evidence.DefaultScale}} {
		if got := evidence.Scale(c.sd, c.known); got != c.want {
			t.Errorf("Scale(%v, %v) = %v, want %v", c.sd, c.known, got, c.want)
		}
	}
}
