package rule

import (
	"cmp"
	"slices"
)

// Set is an immutable collection of rules in memory: a Reader and a Source for a
// replay worker, which must not open the store, and for tests.
type Set struct {
	rules        []Rule
	descriptions map[string]string
}

// NewSet returns the rules, normalised, in listing order. A later rule of an id
// replaces an earlier one.
func NewSet(rules []Rule, descriptions map[string]string) *Set {
	at := map[string]int{}
	s := &Set{descriptions: descriptions}
	for _, r := range rules {
		if r.ID == "" {
			continue
		}
		r = r.Normalized()
		if i, ok := at[r.ID]; ok {
			s.rules[i] = r
			continue
		}
		at[r.ID] = len(s.rules)
		s.rules = append(s.rules, r)
	}
	slices.SortStableFunc(s.rules, func(a, b Rule) int {
		return cmp.Or(cmp.Compare(a.CreatedAt, b.CreatedAt), cmp.Compare(a.ID, b.ID))
	})
	return s
}

// ReadRules implements Source.
func (s *Set) ReadRules(fn func(Reader) error) error { return fn(s) }

// Rule implements Reader.
func (s *Set) Rule(id string) (Rule, bool, error) {
	for _, r := range s.rules {
		if r.ID == id {
			return r, true, nil
		}
	}
	return Rule{}, false, nil
}

// Rules implements Reader.
func (s *Set) Rules(statuses ...Status) ([]Rule, error) {
	return s.filter(statuses, func(Rule) bool { return true }), nil
}

// RulesInScope implements Reader.
func (s *Set) RulesInScope(scope string, statuses ...Status) ([]Rule, error) {
	return s.filter(statuses, func(r Rule) bool { return r.Scope == scope }), nil
}

// RulesWithTokens implements Reader.
func (s *Set) RulesWithTokens(tokens []string, statuses ...Status) ([]Rule, error) {
	return s.filter(statuses, func(r Rule) bool { return intersects(r.SearchTokens(), tokens) }), nil
}

// ScopeDescriptions implements Reader.
func (s *Set) ScopeDescriptions() (map[string]string, error) { return s.descriptions, nil }

func (s *Set) filter(statuses []Status, keep func(Rule) bool) []Rule {
	out := []Rule{}
	for _, r := range s.rules {
		if (len(statuses) == 0 || slices.Contains(statuses, r.Status)) && keep(r) {
			out = append(out, r)
		}
	}
	return out
}
