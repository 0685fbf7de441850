package engine

import "time"

// RepairBounds are the limits of one repair, as configured.
type RepairBounds struct {
	Model    string // "" when repair is off
	Timeout  time.Duration
	MaxTurns int
}

// RepairBounds returns the limits of repair, for whoever shows them.
func (h *Harness) RepairBounds() RepairBounds {
	return RepairBounds{Model: h.cfg.Repair.Model, Timeout: h.cfg.Repair.Timeout, MaxTurns: h.cfg.Repair.MaxTurns}
}
