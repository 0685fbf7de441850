package evidence

import "math"

// The noise scale by which differences are graded.
const (
	// DefaultScale is used while the noise of a metric is not known.
	DefaultScale = 0.30
	// MinScale keeps the scale of a metric that hardly varies from making the
	// smallest change a full one.
	MinScale = 0.10
)

// Scale is the difference that counts as a full one: twice the standard deviation of
// one score from run to run, within [MinScale, 1]; DefaultScale while that is not known.
func Scale(sd float64, known bool) float64 {
	if !known || math.IsNaN(sd) {
		return DefaultScale
	}
	return min(max(2*sd, MinScale), 1)
}
