package process

import (
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"syscall"
)

// Exit says how a program ended.
type Exit struct {
	// Code is the exit status; -1 when a signal ended the program.
	Code int
	// Signal is the name of the signal that ended it, as "killed"; empty otherwise.
	Signal string
	// Leftover are pids of detached descendants that were found, by our mark in
	// their environment or by a pipe of ours, and killed.
	Leftover []int
	// Err is set when the end itself could not be observed.
	Err error
}

// OK reports a clean end.
func (e Exit) OK() bool { return e.Code == 0 && e.Signal == "" && e.Err == nil }

// String is "exit status 3" or "ended by signal: killed", for messages.
func (e Exit) String() string {
	var s string
	switch {
	case e.Err != nil:
		s = "end unknown: " + e.Err.Error()
	case e.Signal != "":
		s = "ended by signal: " + e.Signal
	default:
		s = fmt.Sprintf("exit status %d", e.Code)
	}
	if n := len(e.Leftover); n > 0 {
		s += fmt.Sprintf(" (%d detached descendant(s) killed: %s)", n, strings.Trim(fmt.Sprint(e.Leftover), "[]"))
	}
	return s
}

func exitOf(cmd *exec.Cmd, err error) Exit {
	state := cmd.ProcessState
	if state == nil {
		return Exit{Code: -1, Err: err}
	}
	e := Exit{Code: state.ExitCode()}
	if ws, ok := state.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		e.Signal = ws.Signal().String()
	}
	var exitErr *exec.ExitError
	if err != nil && !errors.As(err, &exitErr) {
		e.Err = err
	}
	return e
}
