package rule

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"vise/engine/guard"
)

// Reasons why an existing rule covers a proposed one, in the order they are tried.
const (
	ExactText        = "exact_text"
	NearDuplicate    = "near_duplicate_text"
	CoveredSignature = "covered_failure_signature"
	CoveredTags      = "covered_tags"
	// RetiredText: a retired rule of the same wording. See Disproved.
	RetiredText = "retired_text"
)

// Thresholds of the novelty check: similarity is Jaccard, containment is the
// share of the smaller token set. They are those of the PandaProbe harness.
const (
	nearSimilarity       = 0.72
	nearContainment      = 0.88
	signatureSimilarity  = 0.30
	signatureContainment = 0.55
	tagSimilarity        = 0.40
	tagContainment       = 0.65
	// minContained is the smallest token set whose containment alone makes a
	// duplicate: a rule of one or two words is contained in nearly everything.
	minContained = 3
)

// stopWords carry no topic.
var stopWords = wordSet("a an and as at be before by for from if in into is it of on only or the then to use when with task tasks workflow")

// genericTags say how a rule came about, not what it is about.
var genericTags = wordSet("active argument_correctness breach candidate coherence global provisional scoped task_completion tool_correctness trend")

func wordSet(words string) map[string]bool {
	set := map[string]bool{}
	for w := range strings.FieldsSeq(words) {
		set[w] = true
	}
	return set
}

// Coverage is an existing rule that covers a proposal.
type Coverage struct {
	RuleID      string  `json:"rule_id"`
	Status      Status  `json:"status"`
	Reason      string  `json:"reason"`
	Similarity  float64 `json:"similarity"`
	Containment float64 `json:"containment"`
}

// wording is the text a rule says, whatever its spacing, case, composition and
// final punctuation.
func wording(text string) string {
	s := guard.Collapse(guard.Fold(norm.NFC.String(text)))
	return cmp.Or(strings.TrimRight(s, ".!;, "), s) // punctuation alone says what it is
}

// noveltyTokens are the tokens without stop words.
func noveltyTokens(text string) map[string]bool {
	set := tokenSet(text)
	for w := range set {
		if stopWords[w] {
			delete(set, w)
		}
	}
	return set
}

// measured is a rule prepared for comparison.
type measured struct {
	rule    Rule
	wording string
	tokens  map[string]bool
	tags    map[string]bool
	turned  bool // an odd number of words that turn an order into its opposite
}

func measure(r Rule) measured {
	m := measured{rule: r, wording: wording(r.Text), tokens: noveltyTokens(r.Text), tags: map[string]bool{}}
	m.turned = overlap(m.tokens, opposed)%2 == 1
	for _, t := range r.Tags {
		if !genericTags[t] && !strings.Contains(t, ":") {
			m.tags[t] = true
		}
	}
	return m
}

func propose(r Rule) measured {
	r.Tags = CleanTags(r.Tags)
	return measure(r)
}

func covers(a, b measured) (reason string, similarity, containment float64) {
	if a.wording == b.wording {
		// The figures say nothing here; they are those of the reference, which knows
		// no tokens but those of a-z, 0-9 and _.
		if slices.ContainsFunc(strings.FieldsFunc(a.wording, noTokenByte), func(w string) bool { return len(w) >= 2 && !stopWords[w] }) {
			return ExactText, 1, 1
		}
		return ExactText, 0, 0
	}
	similarity, containment, smaller := likeness(overlap(a.tokens, b.tokens), len(a.tokens), len(b.tokens))
	if a.rule.Scope == b.rule.Scope && a.turned == b.turned { // the opposite of a rule is not covered by it
		reason = coverage(similarity, containment, smaller,
			func() bool { return intersects(a.rule.FailureSignatures, b.rule.FailureSignatures) },
			func() bool { return overlap(a.tags, b.tags) >= 2 })
	}
	return reason, similarity, containment
}

// likeness measures two token sets of a and b tokens, of which shared are in both.
func likeness(shared, a, b int) (similarity, containment float64, smaller int) {
	if smaller = min(a, b); smaller > 0 {
		similarity = float64(shared) / float64(a+b-shared)
		containment = float64(shared) / float64(smaller)
	}
	return similarity, containment, smaller
}

// coverage is the reason why a rule covers another one of its scope; "" = it does not.
func coverage(similarity, containment float64, smaller int, signature, tags func() bool) string {
	switch {
	case similarity >= nearSimilarity, containment >= nearContainment && smaller >= minContained:
		return NearDuplicate
	case (similarity >= signatureSimilarity || containment >= signatureContainment) && signature():
		return CoveredSignature
	case (similarity >= tagSimilarity || containment >= tagContainment) && tags():
		return CoveredTags
	}
	return ""
}

func overlap(a, b map[string]bool) int {
	if len(b) < len(a) {
		a, b = b, a
	}
	n := 0
	for k := range a {
		if b[k] {
			n++
		}
	}
	return n
}

func intersects(a, b []string) bool {
	return slices.ContainsFunc(a, func(s string) bool { return slices.Contains(b, s) })
}

// Covering returns the live rules that cover a proposal: candidates first, then
// the newest, then in the order given (listing order). The first one is the rule
// to point the proposer at.
func Covering(rules []Rule, proposed Rule) []Coverage {
	proposed.Scope = NormalizeScope(proposed.Scope)
	p := propose(proposed)
	type found struct {
		Coverage
		created string
	}
	var all []found
	for _, r := range rules {
		if !r.Live() {
			continue
		}
		if reason, sim, cont := covers(measure(r), p); reason != "" {
			all = append(all, found{Coverage{r.ID, r.Status, reason, sim, cont}, r.CreatedAt})
		}
	}
	slices.SortStableFunc(all, func(a, b found) int {
		if (a.Status == Candidate) != (b.Status == Candidate) {
			if a.Status == Candidate {
				return -1
			}
			return 1
		}
		return cmp.Compare(b.created, a.created)
	})
	out := make([]Coverage, len(all))
	for i, f := range all {
		out[i] = f.Coverage
	}
	return out
}

// Disproved returns the newest retired rule that says the same as the proposal,
// in any scope, with reason RetiredText. What evidence has retired must not come
// back word for word without new evidence; only live rules cover a proposal, so
// this is asked separately.
func Disproved(rules []Rule, proposed Rule) (Coverage, bool) {
	w := wording(proposed.Text)
	var best *Rule
	for i, r := range rules {
		if r.Status == Retired && wording(r.Text) == w && (best == nil || r.CreatedAt >= best.CreatedAt) {
			best = &rules[i]
		}
	}
	if best == nil {
		return Coverage{}, false
	}
	return Coverage{RuleID: best.ID, Status: Retired, Reason: RetiredText, Similarity: 1, Containment: 1}, true
}

// Comparable returns the rules of a reader that Covering and Disproved must see
// for a proposal, in listing order: those that its index names, else those that share
// a token with it. A wording without tokens is compared with every rule.
func Comparable(r Reader, proposed Rule) ([]Rule, error) {
	if x, ok := r.(Indexed); ok {
		if rules, ok, err := x.Alike(proposed); ok || err != nil {
			return rules, err
		}
	}
	return sharing(r, proposed.Text, Candidate, Active, Retired)
}

// sharing returns the rules with one of the statuses that share a token with a text; of a
// text without tokens all of them.
func sharing(r Reader, text string, statuses ...Status) ([]Rule, error) {
	tokens := make([]string, 0, 32)
	for t := range noveltyTokens(text) {
		tokens = append(tokens, t)
	}
	if len(tokens) == 0 {
		tokens = Tokens(text)
	}
	if len(tokens) == 0 {
		return r.Rules(statuses...)
	}
	slices.Sort(tokens)
	return r.RulesWithTokens(tokens, statuses...)
}

func noTokenByte(r rune) bool { return r >= utf8.RuneSelf || !tokenByte(byte(r)) }
