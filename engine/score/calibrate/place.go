package calibrate

import "math"

// Guess is how often a way of guessing finds the labelled step.
type Guess struct {
	Name string `json:"guess"`
	N    int    `json:"n"`
	// Top1 and Top3 are the shares of sessions whose labelled step is the first
	// suspect, or among the first three; Near1 those where the first suspect is at
	// most one step away.
	Top1  Share `json:"top1"`
	Top3  Share `json:"top3"`
	Near1 Share `json:"within_1"`
}

// Share is a proportion with Wilson's 95 % interval.
type Share struct {
	Rate float64 `json:"rate"`
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// share of k among n; k may be a sum of probabilities.
func share(k float64, n int) Share {
	if n == 0 {
		return Share{}
	}
	f := float64(n)
	p := k / f
	z2 := z95 * z95
	mid := (p + z2/(2*f)) / (1 + z2/f)
	half := z95 / (1 + z2/f) * math.Sqrt(p*(1-p)/f+z2/(4*f*f))
	return Share{Rate: p, Low: max(0, mid-half), High: min(1, mid+half)}
}

// Placed is one session with a labelled step: the positions of its steps, the
// labelled one among them, and in what order each way of guessing suspects them.
type Placed struct {
	Steps   int // how many could be suspected
	Label   int // which one it is, 0-based
	Guesses map[string][]int
}

// RandomGuess is the name of the guess that picks any step.
const RandomGuess = "any step"

// Place measures every way of guessing, in the order of names, behind picking a step at random.
func Place(sessions []Placed, names []string) []Guess {
	random := Guess{Name: RandomGuess, N: len(sessions)}
	var r1, r3, rn float64
	for _, s := range sessions {
		k := float64(s.Steps)
		r1 += 1 / k
		r3 += min(3, k) / k
		near := 1.0
		if s.Label > 0 {
			near++
		}
		if s.Label < s.Steps-1 {
			near++
		}
		rn += near / k
	}
	random.Top1, random.Top3, random.Near1 = share(r1, len(sessions)), share(r3, len(sessions)), share(rn, len(sessions))
	out := []Guess{random}
	for _, name := range names {
		g := Guess{Name: name, N: len(sessions)}
		var top1, top3, near float64
		for _, s := range sessions {
			for rank, at := range s.Guesses[name] {
				if rank == 0 {
					if at == s.Label {
						top1++
					}
					if at-s.Label <= 1 && s.Label-at <= 1 {
						near++
					}
				}
				if rank < 3 && at == s.Label {
					top3++
				}
			}
		}
		g.Top1, g.Top3, g.Near1 = share(top1, len(sessions)), share(top3, len(sessions)), share(near, len(sessions))
		out = append(out, g)
	}
	return out
}
