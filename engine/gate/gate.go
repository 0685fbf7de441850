// Package gate decides when a turn deserves attention: the trajectory gate folds
// the values of one metric of one session, the ladder asks for dearer metrics only
// after the gate fired, and admission bounds how many turns are evaluated at all.
// Pure: states are values that the engine stores.
package gate

import "math"

// Config are the knobs of the trajectory gate.
type Config struct {
	// Window is how many values in a row may fail to improve on the peak before
	// the trajectory counts as stalled, if the peak is below Target.
	Window int     `json:"window"`
	Target float64 `json:"target"`
	// Gain is what a value must add to the peak to count as progress.
	Gain float64 `json:"gain"`
	// Drop is how far below the peak a value must fall to count as a regression.
	Drop float64 `json:"drop"`
	// StartPeak, when set, is the peak before the first value. An evaluator that
	// says 1.0 for "nothing wrong seen" starts there, so that a bad first turn is
	// a regression already.
	StartPeak *float64 `json:"start_peak,omitempty"`
	// Hold keeps a stall up until a value shows progress. Without it (as in the
	// reference) the report after a stall looks like a recovery, although nothing got
	// better: the session alerts anew every window, and the breaker never closes in.
	Hold bool `json:"hold,omitempty"`
}

// State is what the gate remembers of one metric of one session.
type State struct {
	// Peak is the best value so far, nil before the first.
	Peak *float64 `json:"peak"`
	// Turns counts values since the peak last grew or the gate last fired.
	Turns int `json:"turns_since_gain"`
	// Stalled: a stall fired and no progress came since. Only with Config.Hold.
	Stalled bool `json:"stalled,omitempty"`
	// Noise is the state of a metric whose scores are noisy; see Ladder.Noise.
	Noise *Noise `json:"noise,omitempty"`
}

// Flags are what one value raised.
type Flags struct {
	Stalled   bool `json:"stalled"`
	Regressed bool `json:"regressed"`
	// Held: what is up fired at an earlier value and has not ended since. It keeps
	// its signature, but opens no further tier.
	Held bool `json:"held,omitempty"`
}

// Fired reports whether this value raised a flag.
func (f Flags) Fired() bool { return (f.Stalled || f.Regressed) && !f.Held }

// Fold takes one value into the state, oldest first. A value of nil (pending) or
// not-a-number changes nothing and raises nothing. A value that lifts the peak by
// Gain is progress; otherwise the trajectory may stall, and regresses when the
// value is more than Drop below the peak. The peak is kept either way.
func Fold(c Config, s State, v *float64) (State, Flags) {
	if v == nil || math.IsNaN(*v) {
		return s, Flags{}
	}
	if s.Peak == nil {
		s.Peak = c.StartPeak
	}
	if s.Peak == nil || *v >= *s.Peak+c.Gain {
		peak := *v
		if s.Peak != nil {
			peak = max(*s.Peak, peak)
		}
		return State{Peak: &peak, Noise: s.Noise}, Flags{}
	}
	peak := *s.Peak
	turns := s.Turns + 1
	f := Flags{
		Stalled:   turns >= max(1, c.Window) && peak < c.Target,
		Regressed: *v < peak-c.Drop,
	}
	if f.Fired() {
		turns = 0
	}
	stalled := c.Hold && (s.Stalled || f.Stalled)
	f.Held = stalled && !f.Fired()
	f.Stalled = f.Stalled || stalled
	return State{Peak: &peak, Turns: turns, Stalled: stalled, Noise: s.Noise}, f
}

// FoldNoisy is Fold for a metric of which the scores are noisy, with a measured
// standard deviation of sd: the noise gate decides instead of peak and drop.
func FoldNoisy(c Config, s State, v *float64, sd float64) (State, Flags) {
	if v == nil || math.IsNaN(*v) {
		return s, Flags{}
	}
	var n Noise
	if s.Noise != nil {
		n = *s.Noise
	}
	n, f := foldNoise(c, n, *v, sd)
	s.Noise = &n
	return s, f
}
