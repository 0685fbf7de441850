package guard

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// joiner reports the invisible characters that honest text needs: soft hyphen,
// Mongolian vowel separator, zero-width space, non-joiner and joiner.
func joiner(r rune) bool {
	return r == 0xad || r == 0x180e || r >= 0x200b && r <= 0x200d
}

// selector reports the sixteen variation selectors that choose emoji and text style.
func selector(r rune) bool { return r >= 0xfe00 && r <= 0xfe0f }

// hidden reports characters that are never kept in sanitised text: line and
// paragraph controls of bidirectional text, format characters without a glyph,
// tag characters, supplementary variation selectors, noncharacters.
func hidden(r rune) bool {
	switch {
	case r < 0x200e:
		return r == 0x61c
	case r <= 0x200f, r >= 0x202a && r <= 0x202e, r >= 0x2060 && r <= 0x206f:
		return true
	case r == 0xfeff, r >= 0xfff9 && r <= 0xfffb, r >= 0xe0000 && r <= 0xe0fff:
		return true
	case r == 0x3164 || r == 0xffa0: // Hangul fillers: letters that show nothing
		return true
	case r >= 0xfdd0 && r <= 0xfdef, r&0xfffe == 0xfffe:
		return true
	}
	return r >= 0x1bca0 && unicode.Is(unicode.Cf, r)
}

// dropHidden removes hidden characters, and all but the first of a run of
// joiners or selectors: such runs carry data, not text.
func dropHidden(s string) string {
	i := firstHidden(s)
	if i < 0 {
		return s
	}
	var out strings.Builder
	out.Grow(len(s))
	out.WriteString(s[:i])
	last, _ := utf8.DecodeLastRuneInString(s[:i])
	for _, r := range s[i:] {
		if hidden(r) || joiner(r) && joiner(last) || selector(r) && (selector(last) || joiner(last)) {
			continue
		}
		out.WriteRune(r)
		last = r
	}
	return out.String()
}

// firstHidden returns the byte position of the first character that dropHidden
// must look at, or -1.
func firstHidden(s string) int {
	for i, r := range s {
		if r >= 0xad && (hidden(r) || joiner(r) || selector(r)) {
			return i
		}
	}
	return -1
}

// maxCluster bounds how far a cut moves back to find a grapheme boundary; a
// longer "cluster" is an attack or noise, and is cut anyway.
const maxCluster = 32

// clusterHead returns the first n code points of s, or a few less so that no
// grapheme cluster is split. It knows marks, joiners, selectors, emoji modifiers,
// flags and Hangul syllables, which is what occurs; it is no full UAX 29.
func clusterHead(s string, n int) string {
	head := Head(s, n)
	cut := len(head)
	for range maxCluster {
		if cut == 0 || !inside(s, cut) {
			return s[:cut]
		}
		_, size := utf8.DecodeLastRuneInString(s[:cut])
		cut -= size
	}
	return head
}

// inside reports whether byte position cut of s lies within a grapheme cluster.
func inside(s string, cut int) bool {
	if cut >= len(s) {
		return false
	}
	prev, _ := utf8.DecodeLastRuneInString(s[:cut])
	next, _ := utf8.DecodeRuneInString(s[cut:])
	switch {
	case prev == 0x200d && next > 0xff: // joined emoji
		return true
	case next == 0x200c || next == 0x200d || selector(next):
		return prev != '\n'
	case unicode.Is(unicode.M, next), next >= 0x1f3fb && next <= 0x1f3ff:
		return prev != '\n'
	case flag(prev) && flag(next):
		count := 0
		for i := cut; i > 0; {
			r, size := utf8.DecodeLastRuneInString(s[:i])
			if !flag(r) {
				break
			}
			count++
			i -= size
		}
		return count%2 == 1
	case next >= 0x1160 && next <= 0x11ff: // Hangul vowel or final after a syllable
		return prev >= 0x1100 && prev <= 0x11ff || prev >= 0xac00 && prev <= 0xd7a3
	}
	return false
}

// flag reports a regional indicator.
func flag(r rune) bool { return r >= 0x1f1e6 && r <= 0x1f1ff }

// Unjoined takes joiners that join nothing out of a sanitised text: those that are not
// between two characters of a script that has them, or of an emoji. One of them says
// nothing to a person; one after each letter carries data.
func Unjoined(s string) string {
	if strings.IndexFunc(s, joiner) < 0 {
		return s
	}
	var out strings.Builder
	var last rune
	for at, r := range s {
		if joiner(r) && !joins(last, s[at+utf8.RuneLen(r):]) {
			continue
		}
		out.WriteRune(r)
		last = r
	}
	return out.String()
}
