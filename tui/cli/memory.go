package cli

import (
	"math"
	"runtime/debug"
)

// importMemory is the memory, in bytes, from which an import collects its garbage
// eagerly: the longest record is in memory twice while it is decoded, and by default
// as much garbage again would be let grow beside it.
const importMemory = 200 << 20

// frugal makes the process keep near importMemory until the returned function is
// called. A limit that the user has set (GOMEMLIMIT) stays.
func frugal() (restore func()) {
	before := debug.SetMemoryLimit(-1)
	if before != math.MaxInt64 {
		return func() {}
	}
	debug.SetMemoryLimit(importMemory)
	return func() { debug.SetMemoryLimit(before) }
}
