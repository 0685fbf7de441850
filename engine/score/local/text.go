package local

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// The word lists of this package were defined over Unicode text, and RE2 knows
// only ASCII word boundaries and white space. So every text is folded to one
// ASCII byte per rune before a pattern sees it: offsets in the folded text are
// rune indices of the original, and the ASCII classes mean what they should.
const (
	foldSpace      = '\x1f' // white space other than ASCII
	foldApostrophe = '\x02' // U+2019
	foldOther      = '\x01' // neither word nor space
	foldLetter     = 'z'    // a letter or number that is not ASCII
)

// fold returns s in lower case with exactly one ASCII byte per rune.
func fold(s string) string {
	i := 0
	for i < len(s) && s[i] < utf8.RuneSelf && (s[i] < 'A' || s[i] > 'Z') && s[i] != foldApostrophe {
		i++
	}
	if i == len(s) {
		return s
	}
	b := make([]byte, i, len(s))
	copy(b, s)
	for _, r := range s[i:] {
		b = append(b, foldRune(r))
	}
	return string(b)
}

func foldRune(r rune) byte {
	switch {
	case r >= 'A' && r <= 'Z':
		return byte(r) + 'a' - 'A'
	case r == foldApostrophe:
		return foldOther
	case r < utf8.RuneSelf:
		return byte(r)
	case r == '’':
		return foldApostrophe
	case r == 'ſ': // folds to s in a case-insensitive match
		return 's'
	case r == 'K':
		return 'k'
	case r == 'İ' || r == 'ı':
		return 'i'
	case isSpace(r):
		return foldSpace
	case unicode.IsLetter(r) || unicode.IsNumber(r):
		return foldLetter
	}
	return foldOther
}

func isSpace(r rune) bool {
	return unicode.IsSpace(r) || r >= 0x1c && r <= 0x1f
}

func isWord(r rune) bool {
	return r == '_' || unicode.IsLetter(r) || unicode.IsNumber(r)
}

func strip(s string) string { return strings.TrimFunc(s, isSpace) }

func blank(s string) bool { return strip(s) == "" }

// first returns the first n runes of s.
func first(s string, n int) string {
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

// last returns the last n runes of s.
func last(s string, n int) string {
	i := len(s)
	for ; n > 0 && i > 0; n-- {
		_, w := utf8.DecodeLastRuneInString(s[:i])
		i -= w
	}
	return s[i:]
}

// shorter reports whether s has fewer than n runes.
func shorter(s string, n int) bool {
	return len(s) < n || len(s) < utf8.UTFMax*n && utf8.RuneCountInString(s) < n
}

// between returns the runes from..to of s.
func between(s string, from, to int) string {
	return first(skip(s, from), to-from)
}

// skip drops the first n runes of s.
func skip(s string, n int) string { return s[len(first(s, n)):] }

// normSeparator says whether norm turns r into a blank.
func normSeparator(r rune) bool {
	switch r {
	case '_', '-', '#', '"', '\'', '’', ',', '$':
		return true
	}
	return isSpace(r)
}

// appendNorm appends the normal form of s to b: lower case, runs of white space
// and of _ - # " ' , $ as one blank, none at the ends. It never appends a line
// feed.
func appendNorm(b []byte, s string) []byte {
	gap, start := false, len(b)
	for _, r := range s {
		if normSeparator(r) {
			gap = true
			continue
		}
		if gap && len(b) > start {
			b = append(b, ' ')
		}
		gap = false
		switch {
		case r >= 'A' && r <= 'Z':
			b = append(b, byte(r)+'a'-'A')
		case r < utf8.RuneSelf:
			b = append(b, byte(r))
		case r == 'İ':
			b = append(b, "i̇"...)
		default:
			b = utf8.AppendRune(b, unicode.ToLower(r))
		}
	}
	return b
}

func norm(s string) string { return string(appendNorm(nil, s)) }

// stop holds words too common to say that two texts are alike.
var stop = func() map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(`the a an and or of to in on for with is are was were be been it this that i
		you your my me our we they he she at by from as not no yes do does did can could would will please have has
		had if so but just like need want any all there here what which when how who about into than then them their
		its am also let know help more only one`) {
		m[w] = true
	}
	return m
}()

// words returns the content words of s in order, repeats included: runs of
// [a-z0-9_-] that begin with a letter or digit, two bytes or longer, not in the
// stop list.
func words(s string) []string {
	s = strings.ToLower(s)
	var out []string
	for i := 0; i < len(s); {
		if !alnum(s[i]) {
			i++
			continue
		}
		j := i + 1
		for j < len(s) && (alnum(s[j]) || s[j] == '_' || s[j] == '-') {
			j++
		}
		if w := s[i:j]; len(w) > 1 && !stop[w] {
			out = append(out, w)
		}
		i = j
	}
	return out
}

func alnum(c byte) bool { return c >= 'a' && c <= 'z' || c >= '0' && c <= '9' }

// quote writes s the way reasons show text: in single quotes, or in double ones
// if s holds a single quote and no double one; what does not print is escaped.
func quote(s string) string {
	q := byte('\'')
	if strings.Contains(s, "'") && !strings.Contains(s, `"`) {
		q = '"'
	}
	b := append(make([]byte, 0, len(s)+2), q)
	for _, r := range s {
		switch {
		case r == rune(q) || r == '\\':
			b = append(b, '\\', byte(r))
		case r == '\n':
			b = append(b, `\n`...)
		case r == '\r':
			b = append(b, `\r`...)
		case r == '\t':
			b = append(b, `\t`...)
		case strconv.IsPrint(r):
			b = utf8.AppendRune(b, r)
		case r < 0x100:
			b = fmt.Appendf(b, `\x%02x`, r)
		case r < 0x10000:
			b = fmt.Appendf(b, `\u%04x`, r)
		default:
			b = fmt.Appendf(b, `\U%08x`, r)
		}
	}
	return string(append(b, q))
}
