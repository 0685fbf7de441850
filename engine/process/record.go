package process

import (
	"syscall"
	"time"
)

// Record identifies a started program across a crash of ours. A pid alone is
// not enough, since numbers are reused: the start time makes it certain.
type Record struct {
	Name string `json:"name"`
	PID  int    `json:"pid"`
	PGID int    `json:"pgid"`
	// StartTime is the kernel's: clock ticks since boot on Linux, microseconds
	// since 1970 on Darwin; 0 = unknown.
	StartTime uint64    `json:"start_time"`
	Command   string    `json:"command"`
	Started   time.Time `json:"started"`
}

// Alive reports whether the very process of the record still runs (an ended
// one that nobody has waited for counts as gone).
func (r Record) Alive() bool {
	t, ok := startTime(r.PID)
	return ok && r.StartTime != 0 && t == r.StartTime
}

// Reap kills the groups of those records whose leader is still the very
// process that was recorded, and returns these records. Others are left alone.
func Reap(records []Record) []Record {
	var killed []Record
	for _, r := range records {
		if r.PID <= 1 || r.PGID <= 1 || !r.Alive() {
			continue
		}
		if killGroup(r.PGID, syscall.SIGKILL) == nil {
			killed = append(killed, r)
		}
	}
	return killed
}
