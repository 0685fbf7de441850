package acp

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// The end of the output is kept, at a character.
func TestTerminalOutput(t *testing.T) {
	for _, c := range []struct {
		name   string
		limit  int
		writes []string
		ended  bool
		want   string
		cut    bool
	}{
		{"all of it", 10, []string{"héllo"}, true, "héllo", false},
		{"the end", 4, []string{"abcdef"}, true, "cdef", true},
		{"no half character at the beginning", 4, []string{"aaéü€"}, true, "€", true},
		{"nothing", 0, []string{"abc"}, true, "", true},
		{"half a character may still come", 10, []string{"a\xe2\x82"}, false, "a", false},
		{"then it has come", 10, []string{"a\xe2\x82", "\xac"}, false, "a€", false},
		{"or it never does", 10, []string{"a\xe2\x82"}, true, "a\uFFFD", false},
		{"bytes that are no text", 5, []string{"\xff\xfe\xfdab"}, true, "\uFFFDab", false},
	} {
		term := &terminal{limit: c.limit, ended: c.ended}
		for _, w := range c.writes {
			term.write([]byte(w))
		}
		if got, cut := term.output(); got != c.want || cut != c.cut || len(got) > c.limit || !utf8.ValidString(got) {
			t.Errorf("%s: %q, %v; want %q, %v", c.name, got, cut, c.want, c.cut)
		}
	}
	term := &terminal{limit: 1000}
	for range 10_000 {
		term.write([]byte(strings.Repeat("x", 100)))
	}
	if len(term.out) > term.limit+termSlack {
		t.Errorf("%d bytes are held for a bound of %d", len(term.out), term.limit)
	}
}
