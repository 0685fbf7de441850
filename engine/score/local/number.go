package local

import (
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// eachNumber calls f with the normal form of every number in s: an optional
// dollar sign, digit groups, one decimal part; no letter, digit, underscore or
// dot directly before it, no letter, digit or underscore directly after it.
// The bytes are valid during the call only.
func eachNumber(s string, f func(n []byte)) {
	var buf [64]byte
	prev := rune(-1)
	for i := 0; i < len(s); {
		c := s[i]
		if c >= utf8.RuneSelf {
			r, w := utf8.DecodeRuneInString(s[i:])
			prev = r
			i += w
			continue
		}
		if (c == '$' || digit(c)) && prev != '.' && !(prev >= 0 && isWord(prev)) {
			if n, end := scanNumber(s, i); end > i {
				f(appendNumber(buf[:0], n))
				prev = rune(s[end-1])
				i = end
				continue
			}
		}
		prev = rune(c)
		i++
	}
}

func digit(c byte) bool { return c >= '0' && c <= '9' }

// scanNumber returns the number that starts at s[i], without its dollar sign,
// and its end; the end is i if there is none. The longest reading that is not
// followed by a word rune wins: "1.5x" reads 1, "12,3x" reads 12.
func scanNumber(s string, i int) (string, int) {
	from := i
	if s[from] == '$' {
		from++
	}
	if from == len(s) || !digit(s[from]) {
		return "", i
	}
	whole := from + 1
	for whole < len(s) && (digit(s[whole]) || s[whole] == ',') {
		whole++
	}
	if whole+1 < len(s) && s[whole] == '.' && digit(s[whole+1]) {
		end := whole + 2
		for end < len(s) && digit(s[end]) {
			end++
		}
		if !wordAt(s, end) {
			return s[from:end], end
		}
	}
	for end := whole; end > from; end-- {
		if !wordAt(s, end) {
			return s[from:end], end
		}
	}
	return "", i
}

func wordAt(s string, i int) bool {
	r, w := utf8.DecodeRuneInString(s[i:])
	return w > 0 && isWord(r)
}

// appendNumber appends the normal form of n: no digit groups; an integral value
// as an integer, any other with two decimals.
func appendNumber(b []byte, n string) []byte {
	if len(n) <= 15 && plain(n) { // by far the commonest: exact, nothing to parse
		for len(n) > 1 && n[0] == '0' {
			n = n[1:]
		}
		return append(b, n...)
	}
	n = strings.ReplaceAll(n, ",", "")
	f, err := strconv.ParseFloat(n, 64)
	switch {
	case err != nil:
		return append(b, n...)
	case f == math.Trunc(f):
		return strconv.AppendFloat(b, f, 'f', 0, 64)
	}
	return strconv.AppendFloat(b, f, 'f', 2, 64)
}

func plain(n string) bool {
	for i := range len(n) {
		if !digit(n[i]) {
			return false
		}
	}
	return true
}

// telling reports whether a normalised number has two significant digits or
// more once the dot and the leading zeros are gone: 0 to 9 and 0.05 are in every
// text.
func telling(n string) bool {
	return len(strings.TrimLeft(strings.ReplaceAll(n, ".", ""), "0")) >= 2
}
