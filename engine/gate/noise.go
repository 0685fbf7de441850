package gate

import (
	"math"
	"slices"
)

// The noise gate's numbers. Slack and limit are the usual ones of a one-sided
// CUSUM that looks for shifts of one standard deviation and more (Page 1954; the
// NIST handbook of engineering statistics, 6.3.2.3); the rest was chosen by
// simulation so that the figures in noise_test.go hold.
const (
	cusumSlack = 0.5 // standard deviations that a value may be low without counting
	cusumLimit = 4.0 // standard deviations of accumulated loss that are a regression
	// baselineTurns is how many first values make the baseline, baselineMin how many
	// of them there must be before anything is compared with it.
	baselineTurns = 5
	baselineMin   = 3
	// confidence is the 90 % point of the normal distribution, one-sided.
	confidence = 1.28
	// recoveryTurns is how many values in a row must speak for a recovery together.
	recoveryTurns = 3
	// maxRecent bounds what is remembered, whatever the window.
	maxRecent = 64
)

// NoiseFloor is the measured standard deviation from which scores count as noisy
// (0.03), and the least that the noise gate reckons with: below it a rounding of
// the evaluator would count as many deviations.
const NoiseFloor = 0.03

// Noise is what the noise gate remembers of one metric of one session. It is
// bounded whatever the length of the session.
type Noise struct {
	// First are the first values; their median is the baseline.
	First []float64 `json:"first"`
	// Recent are the last values, at most a window.
	Recent []float64 `json:"recent"`
	// Loss is the CUSUM: accumulated loss in standard deviations.
	Loss float64 `json:"loss"`
	// Since are the last values since a regression fired.
	Since []float64 `json:"since,omitempty"`
	// Stalled and Regressed hold until values speak for a recovery.
	Stalled   bool `json:"stalled,omitempty"`
	Regressed bool `json:"regressed,omitempty"`
}

// foldNoise takes one value into the state of a noisy metric with the measured
// standard deviation sd. The baseline is the median of the first values (or the
// starting peak where one is configured). A regression fires when the losses
// against it add up; a stall when the mean of the last window is below the target
// by more than chance and the slope is not clearly upwards. Both hold until values
// speak against them, and fire again only when they are seen anew.
func foldNoise(c Config, n Noise, v, sd float64) (Noise, Flags) {
	sd = max(sd, NoiseFloor)
	window := min(max(1, c.Window), maxRecent)
	n.Recent = lastOf(n.Recent, v, window)
	var f Flags
	fresh := false

	if base, known := n.baseline(c); known {
		n.Loss = max(0, n.Loss+(base-v)/sd-cusumSlack)
		if n.Loss >= cusumLimit {
			n.Loss, fresh, n.Regressed, n.Since = 0, true, true, nil
		} else if n.Regressed {
			n.Since = lastOf(n.Since, v, recoveryTurns)
			if len(n.Since) == recoveryTurns && mean(n.Since) >= base-sd {
				n.Regressed, n.Since, n.Loss = false, nil, 0
			}
		}
	}
	if len(n.First) < baselineTurns {
		n.First = append(slices.Clone(n.First), v)
	}

	if m := mean(n.Recent); len(n.Recent) == window {
		switch low := m+confidence*sd/math.Sqrt(float64(window)) < c.Target; {
		case m >= c.Target || rising(n.Recent, sd):
			n.Stalled = false
		case low && !n.Stalled:
			n.Stalled, fresh = true, true
		}
	}
	f.Stalled, f.Regressed = n.Stalled, n.Regressed
	f.Held = (f.Stalled || f.Regressed) && !fresh
	return n, f
}

// baseline is the level that losses are counted from; false while too little is known.
func (n Noise) baseline(c Config) (float64, bool) {
	if c.StartPeak != nil {
		return *c.StartPeak, true
	}
	if len(n.First) < baselineMin {
		return 0, false
	}
	s := slices.Sorted(slices.Values(n.First))
	if k := len(s) / 2; len(s)%2 == 0 {
		return (s[k-1] + s[k]) / 2, true
	}
	return s[len(s)/2], true
}

// rising reports that the slope of the values over their turns is above zero by
// more than chance explains.
func rising(values []float64, sd float64) bool {
	if len(values) < 2 {
		return false
	}
	mid := float64(len(values)-1) / 2
	var sxy, sxx float64
	for i, v := range values {
		x := float64(i) - mid
		sxy += x * v
		sxx += x * x
	}
	return sxy/sxx > confidence*sd/math.Sqrt(sxx)
}

// lastOf appends to a copy and keeps the last n.
func lastOf(list []float64, v float64, n int) []float64 {
	out := append(slices.Clone(list), v)
	return out[max(0, len(out)-n):]
}

func mean(list []float64) float64 {
	sum := 0.0
	for _, v := range list {
		sum += v
	}
	return sum / float64(max(1, len(list)))
}
