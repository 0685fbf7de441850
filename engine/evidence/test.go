package evidence

import (
	"math"
	"slices"
	"strconv"
	"time"

	"vise/engine/rule"
)

// Profiles of a paired test.
const (
	// Full promotes at validate.promote_e (20) within validate.pairs_cap (30) pairs.
	Full = "full"
	// Quick promotes at 5 within 12 pairs and is named wherever its verdict is shown.
	Quick = "quick"
)

// Numbers of the quick profile: one false promotion in five useless candidates at most.
const (
	QuickThreshold = 5
	QuickCap       = 12
)

// Fixed numbers of a paired test.
const (
	// futilityPairs is after how many pairs a hopeless test is given up.
	futilityPairs = 8
	// guardPairs is how many pairs on protected wins a promotion waits for. A loss of a
	// full scale in every one of them is found in seven, or in nine when only one
	// metric in four shows it.
	guardPairs = 10
	// unreadPairs is after how many treatment runs that never read the rule a test is
	// given up.
	unreadPairs = 4
	// rarelyPairs is the same for a rule that was read in fewer than half of them.
	rarelyPairs = 12
	// maxExcluded is how many pairs a test may lose to infrastructure.
	maxExcluded = 10
	// losesInARow of them, and the test waits for a better day at once.
	losesInARow = 3
)

// TestCase is a case that takes part in a test.
type TestCase struct {
	ID   string `json:"id"`
	Kind Kind   `json:"kind"`
	// Own: the rule was written from it, or from the same session.
	Own bool `json:"own,omitempty"`
}

// Test is a paired test of one rule: what was fixed before its first pair. The pairs
// are kept beside it, so that a test that was cut off goes on where it was.
type Test struct {
	ID      string    `json:"id"`
	RuleID  string    `json:"rule_id"`
	Started time.Time `json:"started"`
	// Draw names what is drawn at random for it: rule and number of the test.
	Draw     string   `json:"draw"`
	Identity Identity `json:"identity"`
	// Threshold is the e-value that decides, Cap the most pairs that count.
	Profile   string  `json:"profile"`
	Threshold float64 `json:"threshold"`
	Cap       int     `json:"cap"`
	// Margin is the gain below which a rule that costs more is not worth having.
	Margin float64 `json:"margin"`
	// Scales by metric; DefaultScale for the rest. Noise is what they were made of.
	Scales map[string]float64     `json:"scales"`
	Noise  map[string]MetricNoise `json:"noise,omitempty"`
	// Preference are the metrics in the order of trust, Checks the checks that had
	// fired in the cases, by case.
	Preference []string            `json:"preference"`
	Checks     map[string][]string `json:"checks,omitempty"`
	// Global: a rule for every task needs gains on two distinct cases.
	Global bool `json:"global,omitempty"`
	// AcceptOwn: evidence on the case that the rule was written from counts.
	AcceptOwn bool `json:"accept_own,omitempty"`
	// Resumed is the number of the last pair of earlier sittings: what those lost to
	// infrastructure is past.
	Resumed int        `json:"resumed,omitempty"`
	Cases   []TestCase `json:"cases"`
}

// Control is a control run that is kept for the candidates that follow: it holds for
// one identity, its bank.
type Control struct {
	Bank   string    `json:"bank"` // Identity.Digest
	CaseID string    `json:"case_id"`
	Number int       `json:"number"` // of the runs of the case, from 1
	At     time.Time `json:"at"`
	Arm    Arm       `json:"arm"`
	// Last are the scores of the last turn, by metric, and By who gave them: what
	// the stored scores of a case are compared with.
	Last map[string]float64 `json:"last"`
	By   map[string]string  `json:"by"`
}

// Reproduces reports whether the run shows every stored score of the case again,
// within 1e-9: then agent and evaluator repeat themselves exactly.
func (c Control) Reproduces(of Case) bool {
	if len(of.Baseline) == 0 {
		return false
	}
	for m, was := range of.Baseline {
		now, ok := c.Last[m]
		if !ok || !of.Comparable(m, c.By[m]) || math.Abs(now-was) > 1e-9 {
			return false
		}
	}
	return true
}

// counts are the failure cases whose pairs count.
func (t Test) counts() []TestCase {
	return slices.DeleteFunc(slices.Clone(t.Cases), func(c TestCase) bool { return c.Kind != Failure || c.Own && !t.AcceptOwn })
}

func (t Test) wins() []TestCase {
	return slices.DeleteFunc(slices.Clone(t.Cases), func(c TestCase) bool { return c.Kind != Win })
}

// HeldOut reports whether a failure case takes part that the rule was not written from.
func (t Test) HeldOut() bool {
	return slices.ContainsFunc(t.Cases, func(c TestCase) bool { return c.Kind == Failure && !c.Own })
}

// Slot is the next pair to run.
type Slot struct {
	Number int
	Case   TestCase
	// Repeat numbers the pairs of this case, from 1.
	Repeat int
	// Order and the seeds of the two arms.
	Order                  string
	ControlSeed, Treatment string
}

// repeat is a case and the how-manieth of its pairs.
type repeat struct {
	caseID string
	n      int
}

// Next returns the pair to start when pairs were run and started are under way: two on
// failures, one on a win, in turn, each on the case that was used least. ok is false
// when nothing more is wanted.
func (t Test) Next(pairs []Pair, started []Slot) (s Slot, ok bool) {
	f := Weigh(t, pairs)
	if f.Stop {
		return s, false
	}
	used := map[string]int{}
	numbers, repeats := map[int]bool{}, map[repeat]bool{}
	fails, wins := 0, 0
	for _, p := range pairs {
		numbers[p.Number] = true
		used[p.CaseID]++
		repeats[repeat{p.CaseID, p.Repeat}] = true
		switch {
		case p.Excluded != "":
		case p.Kind == Win:
			wins++
		default:
			fails++
		}
	}
	for _, x := range started {
		numbers[x.Number] = true
		used[x.Case.ID]++
		repeats[repeat{x.Case.ID, x.Repeat}] = true
		if x.Case.Kind == Win {
			wins++
		} else {
			fails++
		}
	}
	for s.Number = 1; numbers[s.Number]; s.Number++ {
	}
	gap := s.Number <= len(numbers) // it must be filled, whatever lies behind it
	wantWin := len(t.wins()) > 0 && wins < guardPairs && (f.Won || wins < fails/2 || fails >= t.Cap)
	pool := t.counts()
	switch {
	case wantWin:
		pool = t.wins()
	case !gap && (f.Won && !f.wantsCase || fails >= t.Cap):
		return s, false // those under way are enough
	}
	if len(pool) == 0 {
		return s, false
	}
	s.Case = pool[0]
	for _, c := range pool[1:] {
		if used[c.ID] < used[s.Case.ID] {
			s.Case = c
		}
	}
	// A repeat that is lost is made up for like a number. Pairs of before repeats were
	// kept, which have 0, are counted.
	s.Repeat = 1
	if repeats[repeat{s.Case.ID, 0}] {
		s.Repeat = used[s.Case.ID] + 1
	}
	for repeats[repeat{s.Case.ID, s.Repeat}] {
		s.Repeat++
	}
	n := strconv.Itoa(s.Repeat)
	s.Order = ControlFirst
	if RunSeed(t.Identity.Seed, "order", t.Draw, strconv.Itoa(s.Number))[0] >= '8' {
		s.Order = TreatmentFirst
	}
	s.ControlSeed = ControlSeed(t.Identity, s.Case.ID, s.Repeat)
	s.Treatment = RunSeed(t.Identity.Seed, s.Case.ID, "treatment", t.Draw, n)
	return s, true
}

// ControlSeed is the seed of the n-th control run of a case. It does not depend on the
// candidate, so that candidates can share the run, but on the identity: a bank of
// controls that is renewed draws anew.
func ControlSeed(id Identity, caseID string, n int) string {
	return RunSeed(id.Seed, caseID, "control", id.Digest(), strconv.Itoa(n))
}

// Limits returns threshold and cap of a profile within the configured ones.
func Limits(profile string, threshold float64, pairs int) (float64, int) {
	if profile == Quick {
		return min(threshold, QuickThreshold), min(pairs, QuickCap)
	}
	return threshold, pairs
}

// Own reports whether a case is the one that a rule was written from: the session of
// its notice, a replay of the same inputs, or a longer or shorter stretch of them.
func Own(c Case, session string, input *Input) bool {
	if c.SessionID == session && session != "" {
		return true
	}
	if c.Input == nil || input == nil {
		return false
	}
	if c.Input.Digest != "" && c.Input.Digest == input.Digest {
		return true
	}
	n := min(len(c.Input.Turns), len(input.Turns))
	return n > 0 && slices.Equal(c.Input.Turns[:n], input.Turns[:n])
}

// SelectPaired returns the cases of a paired test: of the failures that the rule is
// about the newest three that it was not written from, the one that it was written
// from, and the newest two wins. own tells whether a case is the writing case.
func SelectPaired(r rule.Rule, cases []Case, own func(Case) bool) (failures, wins []Case) {
	held, writing := 0, 0
	// What it was written from counts too, should its tags have lost the signature.
	about := slices.Concat(TargetSignatures(r), r.FailureSignatures)
	for _, c := range Matching(cases, about, Failure) {
		switch {
		case !c.Replayable():
		case own(c) && writing < 1:
			writing++
			failures = append(failures, c)
		case !own(c) && held < MaxFailures:
			held++
			failures = append(failures, c)
		}
	}
	_, wins = SelectCases(r, cases)
	return failures, wins
}
