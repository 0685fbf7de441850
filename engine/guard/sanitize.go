package guard

import (
	"strings"
	"unicode/utf8"
)

// Truncated ends a text that was cut at its cap; 12 code points.
const Truncated = "…[truncated]"

const truncatedLen = 12

// bannerLen is the shortest run of banner characters that counts as a banner;
// one less is what remains of it.
const bannerLen = 8

// Sanitize makes text from an agent, a model, a user or a file safe to show and
// to hand on: escape sequences and control characters (all but LF and TAB) are
// gone, line ends are LF, bidirectional controls and hidden format characters
// are gone, runs of 8 or more of = - # shrink to 7, and phrases that imitate the
// harness (Markers) are broken by a middle dot.
//
// With max > 0 the result has at most max code points; a longer one is cut at a
// grapheme boundary and ends in Truncated (or in an ellipsis when max < 12).
// Sanitize is idempotent.
func Sanitize(text string, max int) string {
	if text == "" {
		return ""
	}
	s := dropHidden(stripEscapes(text))
	s = shrinkBanners(s)
	for _, m := range Markers {
		s = m.breakIn(s)
	}
	return capped(s, max)
}

// Line is Sanitize for places that hold one line: every run of whitespace is one
// space, the ends are trimmed, then the cap applies.
func Line(text string, max int) string {
	return capped(Collapse(Sanitize(text, 0)), max)
}

// capped cuts s to at most max code points, at a grapheme boundary.
func capped(s string, max int) string {
	if max <= 0 || len(s) <= max || utf8.RuneCountInString(s) <= max {
		return s
	}
	if max < truncatedLen {
		return clusterHead(s, max-1) + "…"
	}
	return clusterHead(s, max-truncatedLen) + Truncated
}

// isBanner reports the characters whose long runs imitate framing.
func isBanner(r rune) bool { return r == '=' || r == '-' || r == '#' }

// shrinkBanners cuts every run of equal banner characters to 7. Joiners inside
// a run do not hide it.
func shrinkBanners(s string) string {
	if !strings.ContainsAny(s, "=-#") {
		return s
	}
	var out strings.Builder
	out.Grow(len(s))
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		if !isBanner(r) {
			out.WriteString(s[i : i+n])
			i += n
			continue
		}
		count, end := 0, i
		for j := i; j < len(s); {
			c, m := utf8.DecodeRuneInString(s[j:])
			if c == r {
				count++
				end = j + m
			} else if !joiner(c) {
				break
			}
			j += m
		}
		if count >= bannerLen {
			for range bannerLen - 1 {
				out.WriteRune(r)
			}
		} else {
			out.WriteString(s[i:end])
		}
		i = end
	}
	return out.String()
}
