package store

import "vise/engine/evidence"

const noiseState = "noise"

// PutNoise stores the newest measurement of noise; there is one.
func (tx *Tx) PutNoise(m evidence.Measured) error { return tx.PutState(noiseState, m) }

// Noise returns the newest measurement of noise; false when nothing was measured.
func (tx *Tx) Noise() (m evidence.Measured, ok bool, err error) {
	ok, err = tx.State(noiseState, &m)
	return m, ok, err
}
