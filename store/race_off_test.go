//go:build !race

package store

const race = false
