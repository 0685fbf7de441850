package rule

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Pair is two live rules that do not belong side by side.
type Pair struct {
	A, B string
	// Reason: near_duplicate_text, or contradiction.
	Reason string
	Why    string
}

// Contradiction is the reason of a pair that says opposite things about the same.
const Contradiction = "contradiction"

// opposed are the words that turn an order into its opposite. A pair of rules that
// share most other words and differ in an odd number of these is suspected, never
// convicted: only a reader can tell.
var opposed = wordSet("not no never don dont doesn shouldn mustn without avoid stop skip refuse cannot")

// sameTopic is how much of the smaller rule's words a contradicting one shares.
const sameTopic = 0.6

// shortOrder is the number of words of an order such as "never retry on 429", which has
// to share all of them.
const shortOrder = 2

// Pairs finds live rules that nearly repeat or seem to contradict each other, in any
// scope: a rule filed under another name says the same. The texts of at most limit
// rules are compared, in the order given; compared tells how many that were.
func Pairs(rules []Rule, limit int) (pairs []Pair, compared int) {
	type side struct {
		measured
		core map[string]bool // words without the opposing ones
	}
	var list []side
	for _, r := range rules {
		if !r.Live() {
			continue
		}
		if len(list) == limit {
			break
		}
		s := side{measured: measure(r), core: map[string]bool{}}
		for w := range s.tokens {
			if !opposed[w] {
				s.core[w] = true
			}
		}
		list = append(list, s)
	}
	for i, a := range list {
		for _, b := range list[i+1:] {
			smaller := min(len(a.core), len(b.core))
			if smaller == 0 {
				if a.wording == b.wording {
					pairs = append(pairs, Pair{a.rule.ID, b.rule.ID, NearDuplicate, "the same words"})
				}
				continue
			}
			shared := overlap(a.core, b.core)
			containment := float64(shared) / float64(smaller)
			similarity := float64(shared) / float64(len(a.core)+len(b.core)-shared)
			switch {
			case a.turned != b.turned && (containment >= sameTopic && smaller >= minContained || containment == 1 && smaller == shortOrder):
				pairs = append(pairs, Pair{a.rule.ID, b.rule.ID, Contradiction,
					fmt.Sprintf("they share %.0f %% of their words and one says the opposite", 100*containment)})
			case a.turned == b.turned && (similarity >= nearSimilarity || containment >= nearContainment && smaller >= minContained):
				pairs = append(pairs, Pair{a.rule.ID, b.rule.ID, NearDuplicate,
					fmt.Sprintf("they share %.0f %% of their words", 100*similarity)})
			}
		}
	}
	return pairs, len(list)
}

// Load is how much of an agent's context the active rules of a scope take.
type Load struct {
	Scope  string   `json:"scope"`
	Rules  int      `json:"rules"`
	Length int      `json:"length"` // code points of the texts
	IDs    []string `json:"-"`
}

// Contradicted returns the active rule that a rule seems to say the opposite of, in any
// scope, and why it is suspected; ok is false when there is none.
func Contradicted(r Reader, by Rule) (other Rule, why string, ok bool, err error) {
	// Not Comparable: an index of it leaves out what lies in other scopes.
	rules, err := sharing(r, by.Text, Active)
	if err != nil {
		return Rule{}, "", false, err
	}
	for _, x := range rules {
		if x.ID == by.ID {
			continue
		}
		if pairs, _ := Pairs([]Rule{by, x}, 2); len(pairs) == 1 && pairs[0].Reason == Contradiction {
			return x, pairs[0].Why, true, nil
		}
	}
	return Rule{}, "", false, nil
}

// Loads sums the active rules by scope, sorted by scope.
func Loads(rules []Rule) []Load {
	by := map[string]*Load{}
	for _, r := range rules {
		if r.Status != Active {
			continue
		}
		l := by[r.Scope]
		if l == nil {
			l = &Load{Scope: r.Scope}
			by[r.Scope] = l
		}
		l.Rules++
		l.Length += utf8.RuneCountInString(r.Text)
		l.IDs = append(l.IDs, r.ID)
	}
	out := make([]Load, 0, len(by))
	for _, l := range by {
		out = append(out, *l)
	}
	slices.SortFunc(out, func(a, b Load) int { return strings.Compare(a.Scope, b.Scope) })
	return out
}
