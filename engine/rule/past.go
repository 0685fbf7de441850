package rule

import (
	"cmp"
	"slices"
)

// Past is how the rules were at an earlier time, for who looks again at what happened then.
type Past struct {
	// Until is the time, as CreatedAt is written: rules that were created later do not
	// exist. "" hides none.
	Until string
	// Gone are rules that do not exist although they are no younger.
	Gone []string
	// Was are rules that have changed since, as they were, by id.
	Was map[string]Rule
	// Own are rules that exist in this view only. They hide stored ones of their id.
	Own []Rule
}

// View returns r as it was. It has no index: what it cannot hand on it asks r for.
func (p Past) View(r Reader) Reader { return past{p, r} }

type past struct {
	Past
	r Reader
}

// was is a stored rule as it was; ok is false when it did not exist.
func (v past) was(r Rule) (Rule, bool) {
	if slices.ContainsFunc(v.Own, func(o Rule) bool { return o.ID == r.ID }) {
		return Rule{}, false
	}
	if v.Until != "" && r.CreatedAt > v.Until || slices.Contains(v.Gone, r.ID) {
		return Rule{}, false
	}
	if old, changed := v.Was[r.ID]; changed {
		return old, true
	}
	return r, true
}

func (v past) Rule(id string) (Rule, bool, error) {
	for _, o := range v.Own {
		if o.ID == id {
			return o, true, nil
		}
	}
	r, ok, err := v.r.Rule(id)
	if !ok || err != nil {
		return Rule{}, false, err
	}
	r, ok = v.was(r)
	return r, ok, nil
}

func (v past) Rules(statuses ...Status) ([]Rule, error) {
	list, err := v.r.Rules(statuses...)
	return v.back(list, err, func(r Rule) bool { return among(r, statuses) })
}

func (v past) RulesInScope(scope string, statuses ...Status) ([]Rule, error) {
	list, err := v.r.RulesInScope(scope, statuses...)
	return v.back(list, err, func(r Rule) bool { return r.Scope == scope && among(r, statuses) })
}

func (v past) RulesWithTokens(tokens []string, statuses ...Status) ([]Rule, error) {
	list, err := v.r.RulesWithTokens(tokens, statuses...)
	return v.back(list, err, func(r Rule) bool {
		return among(r, statuses) && intersects(r.SearchTokens(), tokens)
	})
}

func (v past) ScopeDescriptions() (map[string]string, error) { return v.r.ScopeDescriptions() }

// back makes a list of stored rules that of then: what was selected by its status of now
// may go, and what has another status now comes.
func (v past) back(list []Rule, err error, selects func(Rule) bool) ([]Rule, error) {
	if err != nil {
		return nil, err
	}
	var out []Rule
	for _, r := range list {
		if _, changed := v.Was[r.ID]; changed {
			continue // from Was, below
		}
		if r, ok := v.was(r); ok {
			out = append(out, r)
		}
	}
	for _, r := range v.Was {
		if r, ok := v.was(r); ok && selects(r) {
			out = append(out, r)
		}
	}
	for _, r := range v.Own {
		if selects(r) {
			out = append(out, r)
		}
	}
	slices.SortFunc(out, func(a, b Rule) int {
		return cmp.Or(cmp.Compare(a.CreatedAt, b.CreatedAt), cmp.Compare(a.ID, b.ID))
	})
	return out, nil
}

func among(r Rule, statuses []Status) bool {
	return len(statuses) == 0 || slices.Contains(statuses, r.Status)
}
