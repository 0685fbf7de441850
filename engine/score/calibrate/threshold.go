package calibrate

import (
	"cmp"
	"math/rand/v2"
	"slices"
)

// resamples is how often a threshold is found again in resampled sessions.
const resamples = 400

// Threshold is the line that separates failures best by Youden's index.
type Threshold struct {
	// At: a risk of At or more is called a failure.
	At float64 `json:"at"`
	// Low and High are the middle 95 % of the thresholds found in 400 resamples of
	// the sessions (bootstrap within stratum and class, fixed seed).
	Low  float64 `json:"low"`
	High float64 `json:"high"`
	// Sensitivity is the share of failures called so, Specificity that of successes
	// that are not. They are measured on the sessions the threshold was chosen on, so
	// they flatter it.
	Sensitivity float64 `json:"sensitivity"`
	Specificity float64 `json:"specificity"`
}

// Youden is sensitivity + specificity − 1.
func (t Threshold) Youden() float64 { return t.Sensitivity + t.Specificity - 1 }

// ThresholdOf finds the best threshold of a signal; nil below five sessions of a
// class, and when nothing separates them. It is one threshold for all strata.
func ThresholdOf(samples []Sample, signal string) *Threshold {
	strata := split(samples, signal)
	var failed, success []float64
	for _, s := range strata {
		failed = append(failed, risks(s[1], signal)...)
		success = append(success, risks(s[0], signal)...)
	}
	if len(failed) < fewest || len(success) < fewest {
		return nil
	}
	best := youden(failed, success)
	if best.Youden() <= 0 {
		return nil
	}
	random := rand.New(rand.NewPCG(1, 20)) // fixed: the same sessions give the same interval
	found := make([]float64, 0, resamples)
	for range resamples {
		failed, success = failed[:0], success[:0]
		for _, s := range strata {
			for range s[1] {
				failed = append(failed, s[1][random.IntN(len(s[1]))].Risk[signal])
			}
			for range s[0] {
				success = append(success, s[0][random.IntN(len(s[0]))].Risk[signal])
			}
		}
		found = append(found, youden(failed, success).At)
	}
	slices.Sort(found)
	best.Low, best.High = found[resamples*25/1000], found[resamples*975/1000-1]
	return &best
}

// youden walks the possible thresholds downward; of equal ones the highest stays.
func youden(failed, success []float64) Threshold {
	type point struct {
		risk   float64
		failed bool
	}
	all := make([]point, 0, len(failed)+len(success))
	for _, v := range failed {
		all = append(all, point{v, true})
	}
	for _, v := range success {
		all = append(all, point{v, false})
	}
	slices.SortFunc(all, func(a, b point) int { return cmp.Compare(b.risk, a.risk) })
	best := Threshold{At: all[0].risk, Specificity: 1}
	var hits, alarms float64
	first := true
	for i := 0; i < len(all); {
		j := i
		for ; j < len(all) && all[j].risk == all[i].risk; j++ {
			if all[j].failed {
				hits++
			} else {
				alarms++
			}
		}
		t := Threshold{At: all[i].risk, Sensitivity: hits / float64(len(failed)), Specificity: 1 - alarms/float64(len(success))}
		if first || t.Youden() > best.Youden()+1e-12 {
			best, first = t, false
		}
		i = j
	}
	return best
}
