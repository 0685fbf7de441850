package process

import (
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
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
	StartTime uint64 `json:"start_time"`
	// Mark is the value of MarkVariable in the environment of the program and of
	// whatever it starts: it finds those that left the group.
	Mark    string    `json:"mark"`
	Command string    `json:"command"`
	Started time.Time `json:"started"`
}

// Alive reports whether the very process of the record still runs (an ended
// one that nobody has waited for counts as gone).
func (r Record) Alive() bool {
	t, ok := startTime(r.PID)
	return ok && r.StartTime != 0 && t == r.StartTime
}

// MarkVariable is set to a random value of its own for every program we start.
const MarkVariable = "VISE_PROCESS"

// newMark is 128 random bits: nobody else's environment holds them.
func newMark() string { return rand.Text() }

// Reap kills the group of the record if its leader is still the very process
// that was recorded, and, on Linux, every process that carries its mark,
// whatever became of the leader. It returns what it killed, the leader for
// its group. A number that belongs to another process by now is left alone. The
// error names the pid.
func Reap(r Record) (killed []Descendant, err error) {
	if r.PID > 1 && r.PGID > 1 && r.Alive() {
		switch err := killGroup(r.PGID, syscall.SIGKILL); {
		case err == nil:
			killed = append(killed, Descendant{r.PID, r.Command})
		case !errors.Is(err, syscall.ESRCH): // else it ended between the two looks
			return nil, fmt.Errorf("reap process %d (%s): %w", r.PID, r.Name, err)
		}
	}
	for _, d := range killMarked(r.Mark) {
		if !slices.ContainsFunc(killed, func(k Descendant) bool { return k.PID == d.PID }) {
			killed = append(killed, d)
		}
	}
	return killed, nil
}
