package rule

import (
	"slices"

	"vise/engine/guard"
)

// Tokens returns the distinct tokens of a text, sorted: the runs of a-z, 0-9 and
// _ with at least two characters of the case-folded text. Search, novelty and the
// store's postings all use these.
func Tokens(text string) []string {
	var out []string
	eachToken(text, func(t string) { out = append(out, t) })
	slices.Sort(out)
	return slices.Compact(out)
}

func eachToken(text string, yield func(string)) {
	s := guard.Fold(text)
	start := -1
	for i := 0; i <= len(s); i++ {
		if i < len(s) && tokenByte(s[i]) {
			if start < 0 {
				start = i
			}
			continue
		}
		if start >= 0 && i-start >= 2 {
			yield(s[start:i])
		}
		start = -1
	}
}

func tokenByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '_'
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
