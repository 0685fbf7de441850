package cli

import (
	"context"
	"errors"
	"fmt"

	"vise/store"
)

// Exit codes. 9 to 12 belong to the patch loop (see run.Exit).
const (
	exitDone         = 0
	exitError        = 1
	exitUsage        = 2  // wrong use, or no terminal
	exitGate         = 3  // a gate failed: regression found, strict import damage, failed doctor
	exitInconclusive = 4  // validate only
	exitBusy         = 5  // another process owns the store
	exitNotProven    = 9  // a patch is not proven, a repair failed
	exitHuman        = 10 // a person must look at a patch
	exitInterrupted  = 130
)

// exitErr carries an exit code with an error.
type exitErr struct {
	code int
	err  error
}

func (e *exitErr) Error() string { return e.err.Error() }
func (e *exitErr) Unwrap() error { return e.err }

func usagef(format string, a ...any) error { return &exitErr{exitUsage, fmt.Errorf(format, a...)} }
func gatef(format string, a ...any) error  { return &exitErr{exitGate, fmt.Errorf(format, a...)} }

// exitCode maps an error to the code the process ends with.
func exitCode(ctx context.Context, err error) int {
	if err == nil {
		return exitDone
	}
	// An interrupt explains every error that follows from it.
	if ctx.Err() != nil || errors.Is(err, context.Canceled) {
		return exitInterrupted
	}
	var ee *exitErr
	if errors.As(err, &ee) {
		return ee.code
	}
	var busy *store.BusyError
	if errors.As(err, &busy) {
		return exitBusy
	}
	return exitError
}

// undecided is the number of candidates that validation left as they are.
type undecided int

func (n undecided) Error() string {
	stay := "stay"
	if n == 1 {
		stay = "stays"
	}
	return fmt.Sprintf("validate: %s %s undecided; vise rules show RULE says what is missing", counted(int(n), "candidate"), stay)
}
