//go:build !race

package format_test

const race = false
