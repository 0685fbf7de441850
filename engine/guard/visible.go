package guard

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Visible returns text for a terminal: every control character but LF and TAB,
// every hidden or invisible character and every invalid byte is written as an
// escape a person can read (\x1b, \u202e, \xff). Nothing is removed, so a reader
// sees what the text really holds. Joiners between non-Latin characters stay:
// scripts and emoji need them.
func Visible(text string) string {
	i := firstInvisible(text)
	if i < 0 {
		return text
	}
	var out strings.Builder
	out.Grow(len(text) + 32)
	out.WriteString(text[:i])
	prev, _ := utf8.DecodeLastRuneInString(text[:i])
	for i < len(text) {
		r, n := utf8.DecodeRuneInString(text[i:])
		last := rune('\\') // an escape is plain text to what follows it
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&out, `\x%02x`, text[i])
		case r == '\r':
			out.WriteString(`\r`)
		case r == '\n' || r == '\t':
			out.WriteByte(byte(r))
			last = r
		case r < 0x20 || r >= 0x7f && r <= 0x9f:
			fmt.Fprintf(&out, `\x%02x`, r)
		case selector(r) && prev > 0x7f && prev != utf8.RuneError && !selector(prev), joiner(r) && joins(prev, text[i+n:]):
			out.WriteRune(r)
			last = r
		case invisible(r):
			if r > 0xffff {
				fmt.Fprintf(&out, `\U%08x`, r)
			} else {
				fmt.Fprintf(&out, `\u%04x`, r)
			}
		default:
			out.WriteRune(r)
			last = r
		}
		prev = last
		i += n
	}
	return out.String()
}

// invisible reports characters that a terminal does not show.
func invisible(r rune) bool {
	return hidden(r) || joiner(r) || selector(r) || unicode.Is(unicode.Cf, r) || r == 0x2028 || r == 0x2029
}

// joins reports whether a joiner after prev and before the rest joins two
// characters of a script or of an emoji.
func joins(prev rune, rest string) bool {
	next, _ := utf8.DecodeRuneInString(rest)
	return prev > 0x2ff && next > 0x2ff && prev != utf8.RuneError && next != utf8.RuneError && !joiner(prev) && !invisible(next)
}

func firstInvisible(s string) int {
	for i, r := range s {
		if r >= 0x20 && r < 0x7f || r == '\n' || r == '\t' {
			continue
		}
		if r < 0xa0 || r == utf8.RuneError || invisible(r) {
			return i
		}
	}
	return -1
}
