package evidence

import "slices"

// Fails reports whether scores show the failure that a case is about: a metric of its
// signature is below its threshold again where it was when the case was captured, or
// else no better than it was by the margin. known is false when none of these metrics
// was scored.
func Fails(c Case, scores map[string]float64, threshold func(metric string) float64, margin float64) (fails, known bool) {
	for _, s := range c.Signature {
		m := signatureMetric(s)
		v, scored := scores[m]
		was, had := c.Baseline[m]
		if !scored || !had {
			continue
		}
		known = true
		if limit := threshold(m); was < limit && v < limit || was >= limit && v < was+margin {
			return true, true
		}
	}
	return false, known
}

// Shrunk is the result of a delta debugging.
type Shrunk struct {
	// Keep are the indexes that are left, ascending.
	Keep []int
	// Tests is how many subsets were tried.
	Tests int
	// Minimal: leaving out any one of them makes the failure go away. False when the
	// tests ran out before that was shown.
	Minimal bool
}

// Shrink finds few of n items (the last is always kept) with which fails is still
// true, by delta debugging (Zeller and Hildebrandt 2002, ddmin): halves, quarters and
// so on are left out as long as it goes on failing. It asks at most tests times and
// never twice for the same subset.
func Shrink(n, tests int, fails func(keep []int) (bool, error)) (Shrunk, error) {
	items := make([]int, max(0, n-1))
	for i := range items {
		items[i] = i
	}
	out := Shrunk{}
	tried := map[string]bool{}
	try := func(keep []int) (bool, error) {
		full := append(slices.Clone(keep), n-1)
		k := signatureOf(full)
		if tried[k] {
			return false, nil // it was not taken then
		}
		tried[k] = true
		out.Tests++
		return fails(full)
	}
	parts := 2
	for len(items) > 0 && out.Tests < tests {
		parts = min(parts, len(items))
		smaller := false
		for i := range parts {
			if out.Tests >= tests {
				break
			}
			rest := without(items, i*len(items)/parts, (i+1)*len(items)/parts)
			ok, err := try(rest)
			if err != nil {
				return out, err
			}
			if ok {
				items, parts, smaller = rest, max(parts-1, 2), true
				break
			}
			if parts == len(items) && i == parts-1 {
				out.Minimal = true
			}
		}
		if smaller {
			continue
		}
		if parts >= len(items) {
			break
		}
		parts = min(2*parts, len(items))
	}
	out.Minimal = out.Minimal || len(items) == 0
	out.Keep = append(slices.Clone(items), max(0, n-1))
	if n == 0 {
		out.Keep = nil
	}
	return out, nil
}

func without(items []int, from, to int) []int {
	return append(slices.Clone(items[:from]), items[to:]...)
}

func signatureOf(keep []int) string {
	b := make([]byte, 0, 2*len(keep))
	for _, i := range keep {
		b = append(b, byte(i>>8), byte(i))
	}
	return string(b)
}
