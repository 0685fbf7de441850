//go:build unix && !linux

package process

import (
	"os/exec"
	"syscall"
)

// groupAttr makes the child lead a session and group of its own, so that no
// terminal of ours is its terminal. There is no parent-death signal
// here: after a crash of ours the child ends when its input does, or by Reap.
func groupAttr() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// reap waits for the child and kills what is left of its group.
func reap(cmd *exec.Cmd, g *group) error {
	err := cmd.Wait()
	g.mu.Lock()
	defer g.mu.Unlock()
	g.gone = true
	killGroup(cmd.Process.Pid, syscall.SIGKILL)
	return err
}

// killMarked knows no way to find them here.
func killMarked(string) []Descendant { return nil }

// killHolders knows no way to find them here.
func killHolders(...uint64) []Descendant { return nil }
