// Package guard is the gate that untrusted text, names, environments and
// commands pass before they reach a prompt, a file, a terminal or a process.
// Everything in it is pure: text in, text or a decision out.
package guard

import (
	"strings"
	"unicode"

	"golang.org/x/text/cases"
)

// IsSpace reports whether r is whitespace for every trim, split and collapse of
// vise: Unicode White_Space plus the four information separators U+001C-U+001F.
// U+200B, U+2060, U+180E and U+FEFF are not whitespace.
func IsSpace(r rune) bool {
	return r >= 0x1c && r <= 0x1f || unicode.IsSpace(r)
}

// Trim removes whitespace (IsSpace) from both ends.
func Trim(s string) string { return strings.TrimFunc(s, IsSpace) }

// Collapse trims s and turns every inner run of whitespace into one space.
func Collapse(s string) string {
	return strings.Join(strings.FieldsFunc(s, IsSpace), " ")
}

// Fold returns the full Unicode case folding of s (statuses C and F of
// CaseFolding.txt). Lower-casing is not enough: "ß" folds to "ss", the long s
// to "s", the Kelvin sign to "k". Nothing is normalised.
func Fold(s string) string {
	for i := 0; i < len(s); i++ {
		if s[i] >= 0x80 {
			return cases.Fold().String(s)
		}
	}
	return strings.ToLower(s)
}

// Head returns the first n code points of s; all of s when it has no more.
// n <= 0 gives the empty text.
func Head(s string, n int) string {
	if n <= 0 {
		return ""
	}
	if len(s) <= n {
		return s
	}
	for i := range s {
		if n == 0 {
			return s[:i]
		}
		n--
	}
	return s
}
