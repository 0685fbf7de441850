package process

import (
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
)

// Exit says how a program ended.
type Exit struct {
	// Code is the exit status; -1 when a signal ended the program.
	Code int
	// Signal is the name of the signal that ended it, as "killed"; empty otherwise.
	Signal string
	// Leftover are detached descendants that were found, by our mark in their
	// environment or by a pipe of ours, and killed.
	Leftover []Descendant
	// Err is set when the end itself could not be observed.
	Err error
}

// Descendant is a process that a program of ours started, or one of its children did,
// and that had left the program's group. It is proven ours before it is killed: by the
// mark in its environment or a pipe that nobody else was given, looked at again once
// its number cannot go to another any more.
type Descendant struct {
	PID int `json:"pid"`
	// Command is its command line as it was, bounded; "" when it could not be read.
	Command string `json:"command,omitempty"`
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
		s += fmt.Sprintf(" (%d detached descendant(s) killed: %s)", n, pids(e.Leftover))
	}
	return s
}

func pids(list []Descendant) string {
	var out []string
	for _, d := range list {
		out = append(out, strconv.Itoa(d.PID))
	}
	return strings.Join(out, " ")
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
