//go:build !unix

package tui

// stoppable: there is no job control.
func stoppable() bool { return false }
