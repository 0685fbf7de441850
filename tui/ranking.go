package tui

import (
	"cmp"
	"slices"
	"strings"
	"unicode"

	"github.com/sahilm/fuzzy"

	"vise/tui/action"
)

// sought is a text that is searched for what a person types: what it is called first, what
// else it says after that.
type sought struct{ fields []string }

func newSought(fields ...string) sought {
	for i, f := range fields {
		fields[i] = " " + inWords(f) + " "
	}
	return sought{fields}
}

// inWords is a text as words in small letters with one blank between them.
func inWords(s string) string {
	return strings.Join(strings.FieldsFunc(strings.ToLower(s), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }), " ")
}

// unranked is what ranks of texts that do not hold all words of a query end at.
const unranked = 1 << 20

// rank says how well a text answers a query in words (inWords), 0 the best: what is typed as
// it stands at the start of a word; then every word of it as a word or as the start of one, in
// what the text is called before what it says; then inside of words. unranked: one is missing.
func (t sought) rank(query string) int {
	for i, f := range t.fields {
		if strings.Contains(f, " "+query) {
			if strings.Contains(f, " "+query+" ") {
				return 2 * i
			}
			return 2*i + 1
		}
	}
	worst, sum := 0, 0
	for w := range strings.FieldsSeq(query) {
		best := unranked
		for i, f := range t.fields {
			switch {
			case strings.Contains(f, " "+w+" "):
				best = min(best, 2*i)
			case strings.Contains(f, " "+w):
				best = min(best, 2*i+1)
			case strings.Contains(f, w):
				best = min(best, 2*len(t.fields)+i)
			}
		}
		if best == unranked {
			return unranked
		}
		worst, sum = max(worst, best), sum+best
	}
	return 2*len(t.fields) + 64*worst + min(sum, 63)
}

// ranked are the numbers of the texts that answer a query, the best first; of equal ones the
// first. Texts that have no more than its letters, in their order, come after all others,
// those that are called so first.
func ranked(query string, texts []sought) (out []int) {
	words := inWords(query)
	if words == "" {
		return nil
	}
	ranks := map[int]int{}
	for i, t := range texts {
		if r := t.rank(words); r < unranked {
			ranks[i] = r
			out = append(out, i)
		}
	}
	slices.SortStableFunc(out, func(a, b int) int { return cmp.Compare(ranks[a], ranks[b]) })
	if len(texts) == 0 {
		return out
	}
	for f := range texts[0].fields {
		called := make([]string, len(texts))
		for i, t := range texts {
			called[i] = t.fields[f]
		}
		for _, m := range fuzzy.Find(strings.ToLower(strings.TrimSpace(query)), called) {
			if _, has := ranks[m.Index]; !has {
				ranks[m.Index] = unranked
				out = append(out, m.Index)
			}
		}
	}
	return out
}

// alsoCalled are words that people use for an action and its title does not have.
var alsoCalled = map[action.ID]string{
	action.Cancel: "stop abort end kill", action.Remove: "delete drop", action.Discard: "delete drop", action.Retire: "disable stop",
	action.Quit: "exit close leave", action.Score: "evaluate grade judge", action.Replay: "run start", action.Out: "back leave", action.Undo: "back revert",
	action.Redo: "repeat", action.Back: "previous earlier", action.Forward: "later", action.Step: "try start", action.Continue: "resume",
	action.Rename: "name title", action.Themes: "colour color dark light", action.Search: "find", action.Pick: "search jump", action.Open: "url address",
	action.Acknowledge: "dismiss ignore settle", action.Validate: "test prove", action.ValidateOne: "test prove", action.Breakpoint: "hold stop",
	action.Diff: "compare difference", action.Help: "help", action.Log: "errors", action.Import: "load read add",
}
