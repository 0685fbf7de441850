//go:build unix

package tui

import (
	"os"

	"golang.org/x/sys/unix"
)

// stoppable reports whether somebody is there to continue us after a stop: a shell with
// job control, which is our parent in another process group of the same session. Without
// one (a container's first process, a terminal's own command) a stop is ignored by the
// system, and the program would wait for ever.
func stoppable() bool {
	parent := os.Getppid()
	own, err1 := unix.Getsid(0)
	theirs, err2 := unix.Getsid(parent)
	group, err3 := unix.Getpgid(parent)
	return err1 == nil && err2 == nil && err3 == nil && own == theirs && group != unix.Getpgrp()
}
