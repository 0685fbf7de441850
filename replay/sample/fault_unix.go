//go:build unix

package sample

import (
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
)

func ignoreSignals() { signal.Ignore(syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP) }

// leaveGrandchild starts a program in a session of its own that holds our output.
func leaveGrandchild() error {
	cmd := exec.Command("sleep", "300")
	cmd.Stdout = os.Stdout
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start grandchild: %w", err)
	}
	return cmd.Process.Release()
}
