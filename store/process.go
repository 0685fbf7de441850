package store

import (
	"errors"
	"time"
)

// ProcessRecord names a process that we started, so that the next start can end what
// a crash left behind. A process is the same only if its start time agrees, too.
type ProcessRecord struct {
	PID       int       `json:"pid"`
	PGID      int       `json:"pgid"`
	StartTime uint64    `json:"start_time"`     // clock ticks after boot
	Mark      string    `json:"mark,omitempty"` // in the environment of its descendants
	Command   string    `json:"command"`
	Started   time.Time `json:"started,omitzero"`
	RunID     string    `json:"run_id,omitempty"`
}

var processes = &table[ProcessRecord]{
	kind: kindProcess, name: "process",
	key: func(p *ProcessRecord) []byte {
		return u64(u32([]byte{kindProcess}, uint32(p.PID)), p.StartTime)
	},
}

// PutProcess stores a process.
func (tx *Tx) PutProcess(p ProcessRecord) error {
	if p.PID <= 0 {
		return tx.fail("put process", errors.New("the record has no pid"))
	}
	return put(tx, processes, &p)
}

// Processes returns all stored processes by pid.
func (tx *Tx) Processes() ([]ProcessRecord, error) {
	return records(tx, processes, scan{prefix: []byte{kindProcess}}, 0)
}

// DeleteProcess removes a process, found by pid and start time.
func (tx *Tx) DeleteProcess(p ProcessRecord) error {
	return remove(tx, processes, processes.key(&p))
}
