package patch

import (
	"errors"
	"math"
	"time"

	"vise/engine/patch/risk"
	"vise/engine/patch/run"
)

// RepairRequest says how a run is repaired. Zero values take the bench's.
type RepairRequest struct {
	RunID       string
	MaxAttempts int           // proofs: 2 is the original one plus one repair
	MaxRuntime  time.Duration // of the whole loop
	// Cap bounds what the agents of the repairs use together, in money and tokens.
	Cap run.Cap
	// Agent replaces the command of the original run; NoAgent drives nobody.
	Agent   []string
	NoAgent bool
	// Resume continues the agent's own session where the program can.
	Resume  bool
	Profile risk.Profile // "" = default
	// Again starts over where the run is repaired already.
	Again bool
	// Stepper holds the loop; nil never waits.
	Stepper Stepper
}

func (q RepairRequest) check() error {
	if q.MaxAttempts < 1 || q.MaxRuntime <= 0 {
		return errors.New("max-attempts must be 1 or more, max-runtime positive")
	}
	if !(q.Cap.USD >= 0 && q.Cap.USD <= math.MaxFloat64) || q.Cap.Tokens < 0 {
		return errors.New("max-cost and max-tokens must be numbers from 0")
	}
	return nil
}
