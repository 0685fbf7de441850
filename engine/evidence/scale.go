package evidence

import "math"

// The noise scale by which differences are graded.
const (
	// DefaultScale is used while the noise of a metric is not known.
	DefaultScale = 0.30
	// MinScale keeps the scale of a metric that hardly varies from making the
	// smallest change a full one.
	MinScale = 0.10
	// MinRepeats is how many values an estimate needs.
	MinRepeats = 10
)

// Noise is how much one score of a metric varies when nothing is changed.
type Noise struct {
	// SD is the standard deviation of one score.
	SD float64 `json:"sd"`
	// N is the number of values it was estimated from.
	N int `json:"n"`
}

// PoolNoise estimates the noise of one metric from repeated runs, a list of scores per
// case: the spread around each case's own mean. ok is false below MinRepeats values.
func PoolNoise(repeats [][]float64) (n Noise, ok bool) {
	squares, freedom := 0.0, 0
	for _, xs := range repeats {
		if len(xs) < 2 {
			continue
		}
		mean := 0.0
		for _, x := range xs {
			mean += x / float64(len(xs))
		}
		for _, x := range xs {
			squares += (x - mean) * (x - mean)
		}
		n.N += len(xs)
		freedom += len(xs) - 1
	}
	if freedom > 0 {
		n.SD = math.Sqrt(squares / float64(freedom))
	}
	return n, n.N >= MinRepeats
}

// Scale is the difference that counts as a full one: twice the standard deviation of
// one score, within [MinScale, 1]; DefaultScale while fewer than MinRepeats values
// are known.
func (n Noise) Scale() float64 {
	if n.N < MinRepeats || math.IsNaN(n.SD) {
		return DefaultScale
	}
	return min(max(2*n.SD, MinScale), 1)
}
