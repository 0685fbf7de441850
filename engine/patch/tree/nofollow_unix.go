//go:build unix

package tree

import "syscall"

// noFollow refuses a symbolic link at the end of a path, and does not wait for a pipe's other end.
const noFollow = syscall.O_NOFOLLOW | syscall.O_NONBLOCK
