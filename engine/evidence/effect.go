package evidence

import (
	"math"
	"slices"
)

// Interval is an estimate with its interval. It is for reading: decisions are made
// by e-values.
type Interval struct {
	Mean float64 `json:"mean"`
	Low  float64 `json:"low"`
	High float64 `json:"high"`
	// Level is the coverage, 0.95.
	Level float64 `json:"level"`
	// N is the number of pairs behind it.
	N int `json:"n"`
	// Method: student (mean of paired differences), wilson (share), newcombe (difference
	// of two shares from Wilson's intervals), exact (all differences are equal), none.
	Method string `json:"method"`
}

// level is the coverage of every interval here.
const level = 0.95

// zLevel is the standard normal quantile that belongs to it.
const zLevel = 1.959963984540054

// Excludes reports whether the interval says that the effect is below x.
func (i Interval) Excludes(x float64) bool { return i.N > 0 && i.High < x }

// Wilson is the score interval of k successes in n trials (Wilson 1927).
func Wilson(k, n int) Interval {
	if n <= 0 {
		return Interval{Low: 0, High: 1, Level: level, Method: "none"}
	}
	p, m, z := float64(k)/float64(n), float64(n), zLevel
	center := (p + z*z/(2*m)) / (1 + z*z/m)
	half := z / (1 + z*z/m) * math.Sqrt(p*(1-p)/m+z*z/(4*m*m))
	low, high := max(0, center-half), min(1, center+half)
	if k == 0 {
		low = 0
	}
	if k == n {
		high = 1
	}
	return Interval{Mean: p, Low: low, High: high, Level: level, N: n, Method: "wilson"}
}

// ShareDifference is k/n − l/m with the interval of Newcombe (1998, method 10), which is
// made of the two Wilson intervals. Pairs of one case are alike, which makes it wider
// than it need be, never narrower.
func ShareDifference(k, n, l, m int) Interval {
	a, b := Wilson(k, n), Wilson(l, m)
	d := a.Mean - b.Mean
	if n <= 0 || m <= 0 {
		return Interval{Low: -1, High: 1, Level: level, Method: "none"}
	}
	return Interval{
		Mean: d, Level: level, N: min(n, m), Method: "newcombe",
		Low:  max(-1, d-math.Hypot(a.Mean-a.Low, b.High-b.Mean)),
		High: min(1, d+math.Hypot(a.High-a.Mean, b.Mean-b.Low)),
	}
}

// MeanInterval is the mean of paired differences with Student's interval. Without
// spread that interval would have no width; then it is exact instead: with 95 %
// confidence at most 1 − 0.05^(1/n) of the pairs are of another kind, and each of them
// is away by bound at most.
func MeanInterval(xs []float64, bound float64) Interval {
	n := len(xs)
	if n == 0 {
		return Interval{Level: level, Method: "none"}
	}
	sum := 0.0
	for _, x := range xs {
		sum += x
	}
	mean := sum / float64(n)
	if slices.Min(xs) == slices.Max(xs) {
		half := bound * (1 - math.Pow(1-level, 1/float64(n)))
		return Interval{Mean: xs[0], Low: xs[0] - half, High: xs[0] + half, Level: level, N: n, Method: "exact"}
	}
	squares := 0.0
	for _, x := range xs {
		squares += (x - mean) * (x - mean)
	}
	half := student(n-1) * math.Sqrt(squares/float64(n-1)/float64(n))
	return Interval{Mean: mean, Low: mean - half, High: mean + half, Level: level, N: n, Method: "student"}
}

// student is the 97.5 % quantile of Student's t with f degrees of freedom: a table for
// few, the expansion of Cornish and Fisher for more (error below 0.001 from 11 on).
func student(f int) float64 {
	few := [...]float64{12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228}
	if f < 1 {
		return math.Inf(1)
	}
	if f <= len(few) {
		return few[f-1]
	}
	v, z := float64(f), zLevel
	z3, z5, z7 := z*z*z, math.Pow(z, 5), math.Pow(z, 7)
	return z + (z3+z)/(4*v) + (5*z5+16*z3+3*z)/(96*v*v) + (3*z7+19*z5+17*z3-15*z)/(384*v*v*v)
}
