package process

import (
	"errors"
	"fmt"
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

// Reap kills the group of the record if its leader is still the very process
// that was recorded, and reports whether it did. A number that belongs to
// another process by now is left alone, and so is one that has ended. The
// error names the pid.
func Reap(r Record) (killed bool, err error) {
	if r.PID <= 1 || r.PGID <= 1 || !r.Alive() {
		return false, nil
	}
	if err := killGroup(r.PGID, syscall.SIGKILL); err != nil {
		if errors.Is(err, syscall.ESRCH) {
			return false, nil // it ended between the two looks
		}
		return false, fmt.Errorf("reap process %d (%s): %w", r.PID, r.Name, err)
	}
	return true, nil
}
