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

// Restrict returns a view of r in which only the named candidates exist; every
// rule of another status stays. A replay sees the one candidate on trial, a
// control run sees none.
func Restrict(r Reader, candidates []string) Reader {
	return restricted{r, candidates}
}

type restricted struct {
	Reader
	candidates []string
}

func (v restricted) sees(r Rule) bool {
	return r.Status != Candidate || slices.Contains(v.candidates, r.ID)
}

func (v restricted) Rule(id string) (Rule, bool, error) {
	r, ok, err := v.Reader.Rule(id)
	if !ok || err != nil || !v.sees(r) {
		return Rule{}, false, err
	}
	return r, true, nil
}

func (v restricted) Rules(statuses ...Status) ([]Rule, error) {
	return v.visible(v.Reader.Rules(statuses...))
}

func (v restricted) RulesInScope(scope string, statuses ...Status) ([]Rule, error) {
	return v.visible(v.Reader.RulesInScope(scope, statuses...))
}

func (v restricted) RulesWithTokens(tokens []string, statuses ...Status) ([]Rule, error) {
	return v.visible(v.Reader.RulesWithTokens(tokens, statuses...))
}

// Best implements Indexed where the reader behind it does.
func (v restricted) Best(q Query) ([]Rule, bool, error) {
	x, ok := v.Reader.(Indexed)
	if !ok {
		return nil, false, nil
	}
	q.Restricted, q.Shown = true, v.candidates
	return x.Best(q)
}

// Alike implements Indexed where the reader behind it does.
func (v restricted) Alike(proposed Rule) ([]Rule, bool, error) {
	x, ok := v.Reader.(Indexed)
	if !ok {
		return nil, false, nil
	}
	rules, ok, err := x.Alike(proposed)
	if !ok || err != nil {
		return nil, ok, err
	}
	rules, err = v.visible(rules, nil)
	return rules, true, err
}

func (v restricted) visible(rules []Rule, err error) ([]Rule, error) {
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(slices.Clone(rules), func(r Rule) bool { return !v.sees(r) }), nil
}
