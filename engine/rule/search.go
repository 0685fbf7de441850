package rule

import (
	"cmp"
	"slices"

	"vise/engine/guard"
)

// Hit is one rule found by a search.
type Hit struct {
	Rule  Rule
	Score float64
}

// snippetMax is the longest snippet in code points.
const snippetMax = 240

// Snippet is the rule's text on one line, at most 240 code points.
func (h Hit) Snippet() string {
	s := guard.Collapse(guard.Sanitize(h.Rule.Text, 0))
	if cut := guard.Head(s, snippetMax); len(cut) == len(s) {
		return s
	}
	return guard.Trim(guard.Head(s, snippetMax-1)) + "…"
}

// Search ranks the rules with one of the statuses (none given: candidates and
// actives) against a query and returns the first max(0, limit).
//
// The score is (2 × query tokens among the tags + query tokens among text,
// rationale and metric but not the tags) / query tokens; 0 for a query without
// tokens. Order: score descending, created_at descending, id ascending. Rules
// that match nothing rank last and do appear when there is room.
func Search(r Reader, query string, limit int, statuses ...Status) ([]Hit, error) {
	if limit <= 0 {
		return []Hit{}, nil
	}
	if len(statuses) == 0 {
		statuses = []Status{Candidate, Active}
	}
	return rank(r, query, limit, "", statuses...)
}

// rank is Search over the rules of every scope but one ("" = of all).
func rank(r Reader, query string, limit int, except string, statuses ...Status) ([]Hit, error) {
	tokens := Tokens(query)
	if x, ok := r.(Indexed); ok {
		rules, ok, err := x.Best(Query{Tokens: tokens, Limit: limit, Statuses: statuses, Except: except})
		if err != nil {
			return nil, err
		}
		if ok {
			return ranked(rules, tokens, limit, nil), nil
		}
	}
	var keep func(Rule) bool
	if except != "" {
		keep = func(x Rule) bool { return x.Scope != except }
	}
	if len(tokens) > 0 {
		rules, err := r.RulesWithTokens(tokens, statuses...)
		if err != nil {
			return nil, err
		}
		if hits := ranked(rules, tokens, limit, keep); len(hits) == limit {
			return hits, nil
		}
	}
	rules, err := r.Rules(statuses...)
	if err != nil {
		return nil, err
	}
	return ranked(rules, tokens, limit, keep), nil
}

func ranked(rules []Rule, tokens []string, limit int, keep func(Rule) bool) []Hit {
	hits := make([]Hit, 0, len(rules))
	for _, r := range rules {
		if keep == nil || keep(r) {
			hits = append(hits, Hit{r, relevance(r, tokens)})
		}
	}
	slices.SortStableFunc(hits, func(a, b Hit) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(b.Rule.CreatedAt, a.Rule.CreatedAt),
			cmp.Compare(a.Rule.ID, b.Rule.ID))
	})
	return hits[:min(limit, len(hits))]
}

// relevance scores one rule against distinct query tokens.
func relevance(r Rule, tokens []string) float64 {
	if len(tokens) == 0 {
		return 0
	}
	tags := tokenSet(r.Tags...)
	text := tokenSet(r.Text, r.Rationale, r.Metric)
	sum := 0
	for _, t := range tokens {
		switch {
		case tags[t]:
			sum += 2
		case text[t]:
			sum++
		}
	}
	return float64(sum) / float64(len(tokens))
}

// Relevant returns the active rules a task with this query needs: every global
// one in listing order, then the best max(0, k) of all other scopes together. A
// nil query gives every active rule.
func Relevant(r Reader, query *string, k int) ([]Rule, error) {
	if query == nil {
		return r.Rules(Active)
	}
	out, err := r.RulesInScope(ScopeGlobal, Active)
	if err != nil || k <= 0 {
		return out, err
	}
	hits, err := rank(r, *query, k, ScopeGlobal, Active)
	if err != nil {
		return nil, err
	}
	for _, h := range hits {
		out = append(out, h.Rule)
	}
	return out, nil
}

// Link is the address of the rule (package link).
func (h Hit) Link() string { return h.Rule.Link() }
