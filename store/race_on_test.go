//go:build race

package store

// race says that the race detector, which makes the store ten times slower, watches:
// what is only large or many then gets smaller.
const race = true
