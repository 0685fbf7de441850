package calibrate

import (
	"cmp"
	"math"
	"slices"
)

// Sample is one labelled session: its values by signal, each turned so that more
// means worse.
type Sample struct {
	// Source groups samples for display; Stratum is the set in which they are
	// compared with each other: sessions of one file, so that neither the task set
	// nor the agent decides the comparison.
	Source  string
	Stratum string
	Failed  bool
	Risk    map[string]float64
}

// Area is an AUC: the probability that a failed session looks worse than one that
// succeeded, ties counted half; 0.5 is chance. Only sessions of one stratum are
// compared; strata weigh by their number of pairs.
type Area struct {
	N         int      `json:"n"`
	Failures  int      `json:"failures"`
	Successes int      `json:"successes"`
	Strata    int      `json:"strata"` // that hold both classes
	AUC       *float64 `json:"auc"`    // nil when no stratum does
	// Low and High are a 95 % interval by DeLong's variance; nil below five of a class.
	Low  *float64 `json:"low,omitempty"`
	High *float64 `json:"high,omitempty"`
}

// fewest is how many sessions of each class an interval or a threshold needs.
const fewest = 5

// z95 is the 97.5 % point of the normal distribution.
const z95 = 1.959963984540054

// parts are the structural components of an AUC (DeLong, DeLong and Clarke-Pearson,
// Biometrics 1988, computed by midranks as in Sun and Xu 2014).
type parts struct {
	auc      float64
	failed   []float64 // one per failed session
	success  []float64
	variance float64
}

// midranks are 1-based ranks, ties sharing their mean.
func midranks(x []float64) []float64 {
	order := make([]int, len(x))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(x[a], x[b]) })
	out := make([]float64, len(x))
	for i := 0; i < len(order); {
		j := i
		for j < len(order) && x[order[j]] == x[order[i]] {
			j++
		}
		for k := i; k < j; k++ {
			out[order[k]] = float64(i+j+1) / 2
		}
		i = j
	}
	return out
}

// delong returns the components of the AUC of failed over successful risks.
func delong(failed, success []float64) parts {
	m, n := len(failed), len(success)
	all := midranks(slices.Concat(failed, success))
	f, s := midranks(failed), midranks(success)
	p := parts{failed: make([]float64, m), success: make([]float64, n)}
	for i := range failed {
		p.failed[i] = (all[i] - f[i]) / float64(n)
		p.auc += p.failed[i] / float64(m)
	}
	for j := range success {
		p.success[j] = 1 - (all[m+j]-s[j])/float64(m)
	}
	p.variance = p.covariance(p)
	return p
}

// covariance of two AUCs over the same sessions. A class of one has no variance of
// its own: there the bound of Hanley and McNeil (1982) for one observation is taken.
func (p parts) covariance(q parts) float64 {
	one := func(a, b []float64) float64 {
		if len(a) < 2 {
			return math.Sqrt(p.auc * (1 - p.auc) * q.auc * (1 - q.auc))
		}
		ma, mb := mean(a), mean(b)
		var sum float64
		for i := range a {
			sum += (a[i] - ma) * (b[i] - mb)
		}
		return sum / float64(len(a)-1) / float64(len(a))
	}
	return one(p.failed, q.failed) + one(p.success, q.success)
}

func mean(x []float64) float64 {
	var sum float64
	for _, v := range x {
		sum += v
	}
	return sum / float64(len(x))
}

// split sorts the samples that have all the signals into strata, in order of name,
// and by class. Strata with one class only are left out.
func split(samples []Sample, signals ...string) (strata [][2][]Sample) {
	by := map[string]*[2][]Sample{}
	var names []string
	for _, s := range samples {
		if slices.ContainsFunc(signals, func(name string) bool { _, ok := s.Risk[name]; return !ok }) {
			continue
		}
		if by[s.Stratum] == nil {
			by[s.Stratum] = &[2][]Sample{}
			names = append(names, s.Stratum)
		}
		class := 0
		if s.Failed {
			class = 1
		}
		by[s.Stratum][class] = append(by[s.Stratum][class], s)
	}
	slices.Sort(names)
	for _, n := range names {
		if len(by[n][0]) > 0 && len(by[n][1]) > 0 {
			strata = append(strata, *by[n])
		}
	}
	return strata
}

func risks(samples []Sample, signal string) []float64 {
	out := make([]float64, len(samples))
	for i, s := range samples {
		out[i] = s.Risk[signal]
	}
	return out
}

// pairs is the number of comparisons of all strata.
func pairs(strata [][2][]Sample) (n float64) {
	for _, s := range strata {
		n += float64(len(s[0]) * len(s[1]))
	}
	return n
}

// AreaOf measures one signal.
func AreaOf(samples []Sample, signal string) Area {
	var a Area
	for _, s := range samples {
		if _, ok := s.Risk[signal]; ok {
			a.N++
		}
	}
	strata := split(samples, signal)
	total := pairs(strata)
	var auc, variance float64
	for _, s := range strata {
		a.Strata++
		a.Successes += len(s[0])
		a.Failures += len(s[1])
		w := float64(len(s[0])*len(s[1])) / total
		p := delong(risks(s[1], signal), risks(s[0], signal))
		auc += w * p.auc
		variance += w * w * p.variance
	}
	if a.Strata == 0 {
		return a
	}
	a.AUC = &auc
	if a.Failures >= fewest && a.Successes >= fewest {
		a.Low, a.High = interval(auc, variance, 0, 1)
		if auc < 1e-9 || auc > 1-1e-9 {
			// Without a single exception the variance is 0, which says too much: as sure as
			// so many of so many, by Wilson.
			w := share(auc*float64(min(a.Failures, a.Successes)), min(a.Failures, a.Successes))
			a.Low, a.High = &w.Low, &w.High
		}
	}
	return a
}

func interval(v, variance, low, high float64) (*float64, *float64) {
	half := z95 * math.Sqrt(max(0, variance))
	l, h := max(low, v-half), min(high, v+half)
	return &l, &h
}

// Difference is how much more one signal tells than another, over the sessions that
// have both.
type Difference struct {
	Signal  string   `json:"signal"`
	Against string   `json:"against"`
	AUC     *float64 `json:"auc"` // signal − against
	// Low and High are a 95 % interval by the paired DeLong variance.
	Low  *float64 `json:"low,omitempty"`
	High *float64 `json:"high,omitempty"`
}

// Compare measures two signals against each other.
func Compare(samples []Sample, signal, against string) Difference {
	d := Difference{Signal: signal, Against: against}
	strata := split(samples, signal, against)
	total := pairs(strata)
	var diff, variance float64
	var failures, successes int
	for _, s := range strata {
		w := float64(len(s[0])*len(s[1])) / total
		p := delong(risks(s[1], signal), risks(s[0], signal))
		q := delong(risks(s[1], against), risks(s[0], against))
		diff += w * (p.auc - q.auc)
		variance += w * w * (p.variance + q.variance - 2*p.covariance(q))
		successes += len(s[0])
		failures += len(s[1])
	}
	if len(strata) == 0 {
		return d
	}
	d.AUC = &diff
	if failures >= fewest && successes >= fewest {
		d.Low, d.High = interval(diff, variance, -1, 1)
	}
	return d
}
