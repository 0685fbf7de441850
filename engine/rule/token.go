package rule

import (
	"slices"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"vise/engine/guard"
)

// Tokens returns the distinct tokens of a text, sorted: the runs of letters,
// digits and _ with at least two characters of the case-folded text, in any script.
// Scripts that put no space between words give each pair of neighbouring
// characters instead. Search, novelty and the store's postings all use these.
func Tokens(text string) []string {
	var out []string
	eachToken(text, func(t string) { out = append(out, t) })
	slices.Sort(out)
	return slices.Compact(out)
}

// eachToken yields the tokens of a text in order, repeated ones too. Texts of
// equal wording have equal tokens.
func eachToken(text string, yield func(string)) {
	s := guard.Fold(norm.NFC.String(text))
	start, length := -1, 0 // of the run of word characters, in bytes and characters
	before, last := -1, -1 // starts of the two latest characters of an unspaced run
	end := func(i int) {
		if start >= 0 && length >= 2 {
			yield(s[start:i])
		}
		if before >= 0 {
			yield(s[before:i])
		}
		start, before, last = -1, -1, -1
	}
	for i, r := range s {
		switch {
		case r < utf8.RuneSelf && tokenByte(byte(r)), r >= utf8.RuneSelf && (unicode.IsLetter(r) || unicode.IsDigit(r)) && !unspaced(r):
			if start < 0 {
				end(i)
				start, length = i, 0
			}
			length++
		case r < utf8.RuneSelf:
			end(i)
		case unspaced(r):
			if start >= 0 {
				end(i)
			}
			if before >= 0 {
				yield(s[before:i])
			}
			before, last = last, i
		case unicode.IsMark(r) && (start >= 0 || last >= 0):
			// It belongs to the character before it.
		default:
			end(i)
		}
	}
	end(len(s))
}

func tokenByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '_'
}

// unspaced reports letters of the scripts that put no space between words.
func unspaced(r rune) bool {
	return r == 'ー' || unicode.IsLetter(r) && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana,
		unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar)
}

// SearchTokens returns the distinct tokens a rule is found by: those of its
// tags, text, rationale and metric, sorted.
func (r Rule) SearchTokens() []string {
	var out []string
	add := func(t string) { out = append(out, t) }
	for _, tag := range r.Tags {
		eachToken(tag, add)
	}
	eachToken(r.Text, add)
	eachToken(r.Rationale, add)
	eachToken(r.Metric, add)
	slices.Sort(out)
	return slices.Compact(out)
}

// tokenSet is Tokens as a set, over several texts.
func tokenSet(texts ...string) map[string]bool {
	set := map[string]bool{}
	for _, t := range texts {
		eachToken(t, func(tok string) { set[tok] = true })
	}
	return set
}
