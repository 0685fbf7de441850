package evidence

import (
	"maps"
	"math"
	"slices"

	"vise/engine/score"
	"vise/engine/trace"
)

// Why a paired test ended without a decision, or cannot begin.
const (
	Inconclusive   = "inconclusive"     // neither help nor harm shown within the cap
	NoHeldOutCase  = "no_held_out_case" // only the case the rule was written from exists
	WinHarmed      = "win_harmed"       // protected wins lost: the guard blocks promotion
	NeedsTwoCases  = "needs_two_cases"  // a global rule gained on one case only
	Infrastructure = "infrastructure"   // too many runs said nothing about the agent
	MetricInforms  = "metric_informs"   // the metrics of the rule may inform, not decide
)

// Finding is what the pairs of a test say so far.
type Finding struct {
	// Stop: nothing more is to be run. Outcome and Pending are its result then.
	Stop    bool
	Outcome Outcome
	Pending string
	// Won: E⁺ has reached the threshold; the guard still wants pairs. wantsCase: so
	// does a global rule that gained on one case only.
	Won       bool
	wantsCase bool
	// Numbers behind it.
	Paired
}

// Paired are the numbers behind the verdict of a paired test.
type Paired struct {
	TestID    string  `json:"test_id"`
	Profile   string  `json:"profile"`
	Threshold float64 `json:"threshold"`
	Cap       int     `json:"cap"`
	// Counted are the pairs on failures that the decision rests on, Guarded those on
	// protected wins, Excluded those lost to infrastructure (in either arm).
	Counted           int `json:"counted"`
	Guarded           int `json:"guarded"`
	Excluded          int `json:"excluded"`
	ExcludedControl   int `json:"excluded_control"`
	ExcludedTreatment int `json:"excluded_treatment"`
	// EGain, EHarm, EGuard, ECost are the e-values for a gain, a loss, a loss on
	// protected wins, more tokens. TopGain is the highest that EGain has been.
	EGain   float64 `json:"e_gain"`
	TopGain float64 `json:"e_gain_top"`
	EHarm   float64 `json:"e_harm"`
	EGuard  float64 `json:"e_guard"`
	ECost   float64 `json:"e_cost"`
	// Metric most pairs were judged by.
	Metric string `json:"metric,omitempty"`
	// Better, Worse and Same count the pairs that count; one that is better only where no
	// gain is counted (Pair.Credit) is the same.
	Better int `json:"better"`
	Worse  int `json:"worse"`
	Same   int `json:"same"`
	// Effect is the mean difference of the outcome; Share that of pairs that were better
	// among those that differ.
	Effect Interval `json:"effect"`
	Share  Interval `json:"share"`
	// WinsHarmed are the protected cases that lost.
	WinsHarmed []string               `json:"wins_harmed,omitempty"`
	Scales     map[string]float64     `json:"scales"`
	Noise      map[string]MetricNoise `json:"noise,omitempty"`
	Exposure   Exposure               `json:"exposure"`
	Cost       Cost                   `json:"cost"`
	// Unreachable: the pairs that are left could not have decided any more. Futile: the
	// test was given up early.
	Unreachable bool `json:"unreachable,omitempty"`
	Futile      bool `json:"futile,omitempty"`
	// Tests is how many tests the project has run, this one included, and Bound the
	// most false promotions to be expected of them.
	Tests int     `json:"tests"`
	Bound float64 `json:"bound"`
	// Runs were made for this verdict, Shared control runs were there already.
	Runs   int `json:"runs"`
	Shared int `json:"shared"`
	// Pairs are the newest MaxShownPairs of them.
	Pairs []Pair `json:"pairs"`
}

// MaxShownPairs bounds the pairs that a verdict carries; all are in the store.
const MaxShownPairs = 60

// Exposure counts over all treatment runs that count, wins included.
type Exposure struct {
	Runs     int `json:"runs"`
	Offered  int `json:"offered"`
	Read     int `json:"read"`
	Followed int `json:"followed"`
	Unknown  int `json:"unknown"` // whether it was followed
}

// Cost are the paired differences treatment − control over all pairs that count.
// Tokens and money are nil where no run reported them: unknown is not zero.
type Cost struct {
	Tokens  *Interval `json:"tokens,omitempty"`
	USD     *Interval `json:"usd,omitempty"`
	Steps   Interval  `json:"steps"`
	Seconds Interval  `json:"seconds"`
	// Spent by all runs of the test.
	Spent trace.Usage `json:"spent,omitzero"`
}

// weighing is the fold over the pairs.
type weighing struct {
	t                         Test
	f                         Finding
	gain, harm, cost          Bet
	guard                     map[string]*Bet
	diffs                     []float64
	byCase                    map[string]float64 // credit by failure case
	lossByWin                 map[string]float64
	tokens, usd, steps, secs  []float64
	metrics                   map[string]int
	row, lost                 int // pairs lost in this sitting: in a row, in all
	verifierFails             map[string]int
	passControl, passTreated  int
	binary                    bool
	controlAllPass, anyPassed bool
}

// Weigh decides a test from its pairs. They are taken in the order of their numbers up
// to the first gap and up to the pair that decides, so that the result does not depend
// on how many ran at once. Pairs must have been judged.
func Weigh(t Test, pairs []Pair) Finding {
	w := &weighing{t: t, guard: map[string]*Bet{}, byCase: map[string]float64{}, lossByWin: map[string]float64{},
		metrics: map[string]int{}, verifierFails: map[string]int{}, binary: true, controlAllPass: true}
	sorted := slices.Clone(pairs)
	slices.SortStableFunc(sorted, func(a, b Pair) int { return a.Number - b.Number })
	var taken []Pair
	for i, p := range sorted {
		if p.Number != i+1 || w.f.Stop {
			break
		}
		w.take(p)
		taken = append(taken, p)
		w.decide()
	}
	w.sum()
	if n := len(taken); n > MaxShownPairs {
		taken = taken[n-MaxShownPairs:]
	}
	w.f.Pairs = taken
	if w.f.Pairs == nil {
		w.f.Pairs = []Pair{}
	}
	return w.f
}

func (w *weighing) take(p Pair) {
	f := &w.f
	made := []Arm{p.Treatment, p.Control}
	if p.Order == ControlShared { // run, and paid, for another test
		f.Shared++
		made = made[:1]
	}
	for _, a := range made {
		if a.RunID != "" {
			f.Runs++
			f.Cost.Spent = f.Cost.Spent.Add(a.Usage)
		}
	}
	if p.Excluded != "" {
		f.Excluded++
		if p.Number > w.t.Resumed {
			w.row++
			w.lost++
		}
		if p.Control.Infrastructure != "" {
			f.ExcludedControl++
		}
		if p.Treatment.Infrastructure != "" {
			f.ExcludedTreatment++
		}
		return
	}
	w.row = 0
	w.expose(p.Treatment)
	w.spend(p)
	if p.Kind == Win {
		f.Guarded++
		for m, g := range p.Guard {
			if w.guard[m] == nil {
				w.guard[m] = &Bet{}
			}
			w.guard[m].Add(-g)
			w.lossByWin[p.CaseID] += min(g, 0)
		}
		w.verify(p)
		return
	}
	if f.Won && !f.wantsCase {
		return // it was under way when the others had decided
	}
	f.Counted++
	w.gain.Add(p.Credit)
	w.harm.Add(-p.Graded)
	w.byCase[p.CaseID] += p.Credit
	w.metrics[p.Metric]++
	w.diffs = append(w.diffs, p.Difference)
	switch {
	case p.Credit > 0: // what counts as a gain, not every difference
		f.Better++
	case p.Graded < 0:
		f.Worse++
	default:
		f.Same++
	}
	c, t := p.Control.Scores[p.Metric], p.Treatment.Scores[p.Metric]
	w.binary = w.binary && (c == 0 || c == 1) && (t == 0 || t == 1)
	w.passControl += int(math.Round(c))
	w.passTreated += int(math.Round(t))
}

// verify counts how a verifier's outcome fares on protected wins.
func (w *weighing) verify(p Pair) {
	c, ok := p.Control.Scores[score.OutcomeCorrect]
	if !ok {
		return
	}
	w.anyPassed = true
	w.controlAllPass = w.controlAllPass && c == 1
	if p.Treatment.Scores[score.OutcomeCorrect] < 1 {
		w.verifierFails[p.CaseID]++
	}
}

func (w *weighing) expose(a Arm) {
	e := &w.f.Exposure
	e.Runs++
	if a.Offered {
		e.Offered++
	}
	if a.Read {
		e.Read++
	}
	switch {
	case a.Followed == nil:
		e.Unknown++
	case *a.Followed:
		e.Followed++
	}
}

// spend takes the cost of a pair. Tokens are compared by sign only: their scale is
// not known beforehand.
func (w *weighing) spend(p Pair) {
	c, t := p.Control, p.Treatment
	w.steps = append(w.steps, float64(t.Steps-c.Steps))
	w.secs = append(w.secs, float64(t.ElapsedMS-c.ElapsedMS)/1000)
	if tc, tt := tokens(c.Usage), tokens(t.Usage); tc > 0 && tt > 0 {
		w.tokens = append(w.tokens, float64(tt-tc))
		w.cost.Add(float64(sign(tt - tc)))
	}
	if c.Usage.CostUSD != nil && t.Usage.CostUSD != nil {
		w.usd = append(w.usd, *t.Usage.CostUSD-*c.Usage.CostUSD)
	}
}

func tokens(u trace.Usage) int64 { return u.Input + u.Output }

func sign(n int64) int {
	switch {
	case n > 0:
		return 1
	case n < 0:
		return -1
	}
	return 0
}

// gained is on how many cases the rule gained.
func (w *weighing) gained() (n int) {
	for _, c := range w.byCase {
		if c > 0 {
			n++
		}
	}
	return n
}

// decide looks whether the pairs so far end the test.
func (w *weighing) decide() {
	f, t := &w.f, w.t
	f.EGain, f.EHarm = w.gain.Value(), w.harm.Value()
	f.TopGain = max(f.TopGain, f.EGain)
	f.EGuard = w.guardValue()
	f.Won = f.Won || f.EGain >= t.Threshold
	f.wantsCase = f.Won && t.Global && w.gained() < 2 && len(t.counts()) >= 2 && f.Counted < t.Cap
	left := max(0, t.Cap-f.Counted)
	switch {
	case f.EHarm >= t.Threshold:
		w.stop(Retire, "")
	case w.guardBlocks():
		w.stop(PendingStill, WinHarmed)
	case w.row >= losesInARow || w.lost >= maxExcluded:
		f.Stop, f.Outcome, f.Pending = true, PendingStill, Infrastructure
	case f.Exposure.Runs >= unreadPairs && f.Exposure.Read == 0, f.Exposure.Runs >= rarelyPairs && 2*f.Exposure.Read < f.Exposure.Runs:
		w.stop(PendingStill, CandidateNotExercised)
	case f.Won:
		switch {
		case f.wantsCase || len(t.wins()) > 0 && f.Guarded < guardPairs:
		case t.Global && w.gained() < 2:
			w.stop(PendingStill, NeedsTwoCases)
		default:
			w.stop(Promote, "")
		}
	case f.Counted >= futilityPairs && f.EGain < 0.5 && f.EHarm < 1:
		f.Futile = true
		w.stop(PendingStill, Inconclusive)
	case left == 0, w.gain.Best(left) < t.Threshold && w.harm.Best(left) < t.Threshold:
		f.Unreachable = left > 0
		w.sum() // the interval of the effect
		if f.Cost.Tokens != nil && f.Cost.Tokens.Mean > 0 && f.ECost >= t.Threshold && f.Effect.Excludes(t.Margin) {
			w.stop(Retire, "")
			return
		}
		w.stop(PendingStill, Inconclusive)
	}
}

// stop ends the test; a rule that hardly any run read is not decided at all.
func (w *weighing) stop(o Outcome, pending string) {
	f := &w.f
	f.Stop, f.Outcome, f.Pending = true, o, pending
	if 2*f.Exposure.Read < f.Exposure.Runs {
		f.Outcome, f.Pending = PendingStill, CandidateNotExercised
	}
}

func (w *weighing) guardValue() float64 {
	var bets []*Bet
	for _, m := range slices.Sorted(maps.Keys(w.guard)) { // sums in one order
		bets = append(bets, w.guard[m])
	}
	return meanValue(bets)
}

// guardBlocks reports harm to protected wins: the pooled e-value, or a verifier that
// passed every control and failed twice in treatment.
func (w *weighing) guardBlocks() bool {
	fails := 0
	for _, n := range w.verifierFails {
		fails += n
	}
	return w.f.EGuard >= w.t.Threshold || w.anyPassed && w.controlAllPass && fails >= 2
}

// sum fills in what is only read.
func (w *weighing) sum() {
	f := &w.f
	f.TestID, f.Profile, f.Threshold, f.Cap = w.t.ID, w.t.Profile, w.t.Threshold, w.t.Cap
	f.Scales, f.Noise = w.t.Scales, w.t.Noise
	f.EGain, f.EHarm, f.EGuard, f.ECost = w.gain.Value(), w.harm.Value(), w.guardValue(), w.cost.Value()
	f.TopGain = max(f.TopGain, f.EGain)
	best := 0
	for m, n := range w.metrics {
		if n > best || n == best && m < f.Metric {
			f.Metric, best = m, n
		}
	}
	f.Effect = MeanInterval(w.diffs, w.scale(f.Metric))
	if w.binary && f.Counted > 0 {
		f.Effect = ShareDifference(w.passTreated, f.Counted, w.passControl, f.Counted)
	}
	f.Share = Wilson(f.Better, f.Better+f.Worse)
	f.WinsHarmed = nil
	if w.guardBlocks() {
		for id, loss := range w.lossByWin {
			if loss < 0 || w.verifierFails[id] > 0 {
				f.WinsHarmed = append(f.WinsHarmed, id)
			}
		}
		slices.Sort(f.WinsHarmed)
	}
	f.Cost.Steps, f.Cost.Seconds = MeanInterval(w.steps, 1), MeanInterval(w.secs, 1)
	for _, x := range []struct {
		to   **Interval
		list []float64
	}{{&f.Cost.Tokens, w.tokens}, {&f.Cost.USD, w.usd}} {
		if len(x.list) > 0 {
			i := MeanInterval(x.list, math.Abs(x.list[0]))
			*x.to = &i
		}
	}
}

func (w *weighing) scale(metric string) float64 {
	if s := w.t.Scales[metric]; s > 0 {
		return s
	}
	return DefaultScale
}
