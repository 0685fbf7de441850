package gate_test

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"vise/engine/gate"
)

// series folds values of a level that changes after a number of turns, and returns
// the turn of the first flag of each kind, counted from 1; 0 = none.
func series(rng *rand.Rand, fold func(gate.State, *float64) (gate.State, gate.Flags), level, after float64, change, turns int) (stalled, regressed int) {
	var s gate.State
	for i := 1; i <= turns; i++ {
		mu := level
		if i > change {
			mu = after
		}
		v := min(1, max(0, mu+0.10*rng.NormFloat64()))
		var f gate.Flags
		s, f = fold(s, &v)
		if f.Stalled && stalled == 0 {
			stalled = i
		}
		if f.Regressed && regressed == 0 {
			regressed = i
		}
	}
	return stalled, regressed
}

// The gate under scores with a standard deviation of 0.10: what the noise gate must
// reach, with the seed gate beside it. Fixed seeds, 2000 sessions each.
func TestNoiseGateFigures(t *testing.T) {
	const runs, sd = 2000, 0.10
	seed := func(s gate.State, v *float64) (gate.State, gate.Flags) { return gate.Fold(seedGate(), s, v) }
	noise := func(s gate.State, v *float64) (gate.State, gate.Flags) {
		return gate.FoldNoisy(seedGate(), s, v, sd)
	}
	share := func(fold func(gate.State, *float64) (gate.State, gate.Flags), level, after float64, change, turns int, ok func(stalled, regressed int) bool) float64 {
		rng := rand.New(rand.NewPCG(7, 11))
		n := 0
		for range runs {
			if ok(series(rng, fold, level, after, change, turns)) {
				n++
			}
		}
		return float64(n) / runs
	}
	alerts := func(stalled, regressed int) bool { return stalled > 0 || regressed > 0 }
	for _, level := range []float64{0.65, 0.8} {
		if got := share(noise, level, level, 10, 10, alerts); got > 0.10 {
			t.Errorf("flat at %.2f: %.1f %% of sessions alert within 10 turns, want at most 10 %%", level, 100*got)
		} else {
			t.Logf("flat at %.2f: %.1f %% alert within 10 turns; the seed gate: %.1f %%", level, 100*got, 100*share(seed, level, level, 10, 10, alerts))
		}
	}
	for _, change := range []int{5, 8} {
		within := func(_, regressed int) bool { return regressed > change && regressed <= change+3 }
		if got := share(noise, 0.8, 0.5, change, change+3, within); got < 0.90 {
			t.Errorf("a drop of 0.3 after turn %d is found within 3 turns in %.1f %%, want 90 %%", change, 100*got)
		} else {
			t.Logf("a drop of 0.3 after turn %d: found within 3 turns in %.1f %%; the seed gate: %.1f %%", change, 100*got, 100*share(seed, 0.8, 0.5, change, change+3, within))
		}
	}
	stuck := func(stalled, _ int) bool { return stalled > 0 }
	if got := share(noise, 0.3, 0.3, 8, 8, stuck); got < 0.90 {
		t.Errorf("stuck at 0.30 is found within 8 turns in %.1f %%, want 90 %%", 100*got)
	} else {
		t.Logf("stuck at 0.30: found within 8 turns in %.1f %%; the seed gate within 20: %.1f %%", 100*got, 100*share(seed, 0.3, 0.3, 20, 20, stuck))
	}
}

// A condition that fired holds, without opening a tier again, until values speak
// for a recovery: one better value is none.
func TestNoiseGateHoldsUntilRecovery(t *testing.T) {
	var s gate.State
	feed := func(values ...float64) (f gate.Flags) {
		for _, v := range values {
			s, f = gate.FoldNoisy(seedGate(), s, &v, 0.10)
		}
		return f
	}
	feed(0.8, 0.8, 0.8, 0.8, 0.8)
	if f := feed(0.4, 0.4); !f.Regressed || !f.Fired() {
		t.Fatalf("a drop of 0.4 twice: %+v", f)
	}
	if f := feed(0.8); !f.Regressed || f.Fired() {
		t.Errorf("one good value after it: %+v, want held", f)
	}
	if f := feed(0.8, 0.8); f.Regressed {
		t.Errorf("three good values are a recovery: %+v", f)
	}
	s = gate.State{}
	if f := feed(0.3, 0.3, 0.3, 0.3, 0.3); !f.Stalled || !f.Fired() {
		t.Fatalf("five turns at 0.3: %+v", f)
	}
	if f := feed(0.3); !f.Stalled || f.Fired() {
		t.Errorf("the sixth: %+v, want held", f)
	}
	if f := feed(0.9, 0.9); f.Stalled {
		t.Errorf("a clear rise ends a stall: %+v", f)
	}
}

// With Hold the report after a stall is no recovery; without it (the reference) it is.
func TestHeldStallEndsWithProgress(t *testing.T) {
	c := seedGate()
	for _, hold := range []bool{false, true} {
		c.Hold = hold
		var s gate.State
		var f gate.Flags
		for range 6 {
			s, f = gate.Fold(c, s, at(0.3))
		}
		if !f.Stalled || !f.Fired() {
			t.Fatalf("hold %v: six turns at 0.3: %+v", hold, f)
		}
		s, f = gate.Fold(c, s, at(0.3))
		if f.Stalled != hold || f.Fired() {
			t.Errorf("hold %v: the turn after: %+v", hold, f)
		}
		fired := 0
		for range 10 {
			if s, f = gate.Fold(c, s, at(0.3)); f.Fired() {
				fired++
			}
		}
		if fired != 2 {
			t.Errorf("hold %v: fired %d times in 10 more turns, want 2 (once a window)", hold, fired)
		}
		if s, f = gate.Fold(c, s, at(0.4)); f.Stalled || s.Stalled {
			t.Errorf("hold %v: progress ends it: %+v", hold, f)
		}
	}
}

// The noise state is bounded, survives JSON and is not shared with the state before.
func TestNoiseStateInvariants(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := gate.Config{Window: rapid.IntRange(0, 200).Draw(t, "window"), Target: 0.5, Gain: 0.02, Drop: 0.15}
		sd := rapid.Float64Range(0, 0.5).Draw(t, "sd")
		var s gate.State
		for _, v := range rapid.SliceOfN(rapid.Float64Range(0, 1), 1, 100).Draw(t, "values") {
			before, _ := json.Marshal(s)
			next, f := gate.FoldNoisy(c, s, &v, sd)
			if after, _ := json.Marshal(s); string(after) != string(before) {
				t.Fatalf("FoldNoisy changed its input: %s → %s", before, after)
			}
			if n := next.Noise; len(n.First) > 5 || len(n.Recent) > 64 || len(n.Since) > 3 || n.Loss < 0 || n.Loss >= 4 {
				t.Fatalf("unbounded: %+v", n)
			}
			if f.Held && !f.Stalled && !f.Regressed {
				t.Fatalf("held without a flag: %+v", f)
			}
			raw, _ := json.Marshal(next)
			var back gate.State
			if err := json.Unmarshal(raw, &back); err != nil || !slices.Equal(back.Noise.Recent, next.Noise.Recent) {
				t.Fatalf("JSON: %s, %v", raw, err)
			}
			s = next
		}
	})
}
