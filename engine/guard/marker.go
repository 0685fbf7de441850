package guard

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Marker is a phrase that only the harness itself may write: two parts, either
// apart by whitespace or adjacent. Found in foreign text, the parts are joined by
// a middle dot instead, which a reader still understands and a parser does not.
type Marker struct {
	First, Second string // lower-case ASCII
	// Spaced demands whitespace between the parts (and drops it); otherwise the
	// parts must be adjacent.
	Spaced bool
	// Word demands that no letter or digit stands before the first part.
	Word bool
}

// Markers are the phrases of the harness that vise descends from, and vise's own.
// They are compared without case, with look-alike letters and compatibility
// forms taken for what they look like and invisible characters skipped.
var Markers = []Marker{
	{First: "pandaprobe", Second: "harness", Spaced: true},
	{First: "system", Second: "alert", Spaced: true},
	{First: "harness", Second: ":"},
	{First: "vise", Second: "notice", Spaced: true, Word: true},
	{First: "vise", Second: ":", Word: true},
}

// lookAlike maps letters of other alphabets to the Latin letter they pass for.
var lookAlike = map[rune]rune{
	'а': 'a', 'в': 'b', 'с': 'c', 'ԁ': 'd', 'е': 'e', 'ё': 'e', 'һ': 'h', 'н': 'h', 'і': 'i', 'ї': 'i', 'ј': 'j',
	'к': 'k', 'ӏ': 'l', 'м': 'm', 'п': 'n', 'о': 'o', 'р': 'p', 'ѕ': 's', 'т': 't', 'у': 'y', 'ѵ': 'v', 'х': 'x',
	'α': 'a', 'β': 'b', 'ε': 'e', 'η': 'n', 'ι': 'i', 'κ': 'k', 'ν': 'v', 'ο': 'o', 'ρ': 'p', 'τ': 't', 'υ': 'y',
	'χ': 'x', 'ϲ': 'c', 'ϳ': 'j', 'ı': 'i', 'ɑ': 'a', 'ɡ': 'g', 'ɪ': 'i', 'ո': 'n', 'օ': 'o', 'ս': 'u', 'ѡ': 'w',
	'ſ': 's', '։': ':', '׃': ':', '꞉': ':', '∶': ':',
}

// skeleton returns the lower-case Latin character that r passes for, r itself
// when it passes for none.
func skeleton(r rune) rune {
	if r < 0x80 {
		if 'A' <= r && r <= 'Z' {
			r += 'a' - 'A'
		}
		return r
	}
	r = unicode.ToLower(r)
	if to, ok := lookAlike[r]; ok {
		return to
	}
	if compatible(r) {
		var buf [8]byte
		folded := norm.NFKC.AppendString(buf[:0], string(r))
		if f, n := utf8.DecodeRune(folded); n == len(folded) && f < 0x80 {
			return skeleton(f)
		}
	}
	return r
}

// compatible reports the blocks of Latin letters in other dress: letterlike,
// circled, fullwidth, mathematical.
func compatible(r rune) bool {
	return r >= 0x2100 && r <= 0x214f || r >= 0x2460 && r <= 0x24ff ||
		r >= 0xff01 && r <= 0xff5e || r >= 0x1d400 && r <= 0x1d7ff
}

// breakIn breaks every non-overlapping occurrence of the marker in s.
func (m Marker) breakIn(s string) string {
	var out strings.Builder
	done := 0
	first := m.First[0]
	for i := 0; i < len(s); {
		n := 1
		if c := s[i]; c < 0x80 {
			if c|0x20 != first { // every marker begins with a letter
				i++
				continue
			}
		} else {
			var r rune
			if r, n = utf8.DecodeRuneInString(s[i:]); skeleton(r) != rune(first) {
				i += n
				continue
			}
		}
		mid, rest, end, ok := m.match(s, i)
		if !ok || m.Word && wordBefore(s[:i]) {
			i += n
			continue
		}
		if done == 0 {
			out.Grow(len(s) + 8)
		}
		out.WriteString(s[done:mid])
		out.WriteRune('·')
		out.WriteString(s[rest:end])
		done, i = end, end
	}
	if done == 0 {
		return s
	}
	out.WriteString(s[done:])
	return out.String()
}

// wordBefore reports whether a text ends in a letter or digit.
func wordBefore(s string) bool {
	r, _ := utf8.DecodeLastRuneInString(s)
	return unicode.IsLetter(r) || unicode.IsDigit(r)
}

// match tries the marker at i: s[i:mid] is the first part, s[rest:end] the second.
func (m Marker) match(s string, i int) (mid, rest, end int, ok bool) {
	if mid, ok = part(s, i, m.First); !ok {
		return
	}
	rest = mid
	if m.Spaced {
		spaces := 0
		for rest < len(s) {
			r, n := utf8.DecodeRuneInString(s[rest:])
			if IsSpace(r) {
				spaces++
			} else if !joiner(r) || spaces == 0 {
				break
			}
			rest += n
		}
		if spaces == 0 {
			return 0, 0, 0, false
		}
	}
	end, ok = part(s, rest, m.Second)
	return mid, rest, end, ok
}

// part matches the ASCII word w at i, skipping joiners between its letters, and
// returns the position after it.
func part(s string, i int, w string) (int, bool) {
	for k := 0; k < len(w); {
		if i >= len(s) {
			return 0, false
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case skeleton(r) == rune(w[k]):
			k++
		case k > 0 && joiner(r):
		default:
			return 0, false
		}
		i += n
	}
	return i, true
}
