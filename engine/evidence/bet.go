package evidence

import "math"

// stakes are the fractions that a Bet puts on each difference. Their mean is what
// counts, so nobody has to guess how large the effect is.
var stakes = [...]float64{0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9}

// Bet is an e-value: the money of a gambler who bets, one pair after the other,
// that the mean of the graded differences is above zero, starting with 1. While it
// is not (and it is exactly zero when a rule does nothing and the order of the arms
// is random) the money is a nonnegative supermartingale, so it ever reaches 20 with a
// probability of at most 1/20, however long one plays and whenever one stops (Ville's
// inequality; Waudby-Smith and Ramdas, "Estimating means of bounded random variables
// by betting", 2024). It needs no normal distribution and no fixed number of pairs.
//
// It is kept as logarithms, so that it neither overflows nor loses digits. The zero
// value is a gambler who has not played.
type Bet struct {
	logs [len(stakes)]float64
}

// Add plays one pair with the graded difference g, cut to [-1, 1]. A value that is
// not a number is not played.
func (b *Bet) Add(g float64) {
	if math.IsNaN(g) {
		return
	}
	g = min(max(g, -1), 1)
	for i, l := range stakes {
		b.logs[i] += math.Log1p(l * g)
	}
}

// Value is the money: the mean over the stakes of the product of 1 + stake·g.
func (b *Bet) Value() float64 { return min(math.Exp(b.log()), math.MaxFloat64) }

func (b *Bet) log() float64 {
	top := b.logs[0]
	for _, l := range b.logs[1:] {
		top = max(top, l)
	}
	sum := 0.0
	for _, l := range b.logs {
		sum += math.Exp(l - top)
	}
	return top + math.Log(sum/float64(len(stakes)))
}

// Best is the most that the money can come to within n more pairs.
func (b *Bet) Best(n int) float64 {
	c := *b
	for i, l := range stakes {
		c.logs[i] += float64(max(0, n)) * math.Log1p(l)
	}
	return c.Value()
}

// meanValue is the mean of several bets' money, 1 without any. The mean of e-values is
// one itself, whatever the dependence between them; a product would not be.
func meanValue(bets []*Bet) float64 {
	if len(bets) == 0 {
		return 1
	}
	sum := 0.0
	for _, b := range bets {
		sum += b.Value()
	}
	return sum / float64(len(bets))
}
