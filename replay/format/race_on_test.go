//go:build race

package format_test

// race says that the race detector, which makes a reader ten times slower, watches: what
// is only large then gets smaller, and the recordings of third parties are left out.
const race = true
