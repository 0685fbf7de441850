package engine

import (
	"context"
	"errors"

	"vise/engine/validate"
)

// errValidationOff is returned when validation is switched off.
var errValidationOff = errors.New("validation is off (validate.enabled = false); candidates stay provisional")

// Validate runs one validation round over all candidates, or over those named.
// Rounds never overlap and never run beside a live agent turn.
func (h *Harness) Validate(ctx context.Context, rules ...string) (validate.Round, error) {
	if !h.cfg.Validate.Enabled {
		return validate.Round{}, errValidationOff
	}
	h.rounds.Lock()
	defer h.rounds.Unlock()
	h.live.Lock()
	defer h.live.Unlock()
	return h.valid.Round(ctx, rules...)
}

// ValidateUntilIdle runs rounds until nothing more can be decided.
func (h *Harness) ValidateUntilIdle(ctx context.Context) ([]validate.Round, error) {
	if !h.cfg.Validate.Enabled {
		return nil, errValidationOff
	}
	h.rounds.Lock()
	defer h.rounds.Unlock()
	h.live.Lock()
	defer h.live.Unlock()
	return h.valid.UntilIdle(ctx)
}
