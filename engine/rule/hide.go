package rule

import "slices"

// Hide returns a view of r in which the named rules do not exist. A run that is part
// of a holdback does not see the rule that is tested.
func Hide(r Reader, ids []string) Reader { return hiding{r, ids} }

type hiding struct {
	Reader
	ids []string
}

func (v hiding) Rule(id string) (Rule, bool, error) {
	if slices.Contains(v.ids, id) {
		return Rule{}, false, nil
	}
	return v.Reader.Rule(id)
}

func (v hiding) Rules(statuses ...Status) ([]Rule, error) {
	return v.rest(v.Reader.Rules(statuses...))
}

func (v hiding) RulesInScope(scope string, statuses ...Status) ([]Rule, error) {
	return v.rest(v.Reader.RulesInScope(scope, statuses...))
}

func (v hiding) RulesWithTokens(tokens []string, statuses ...Status) ([]Rule, error) {
	return v.rest(v.Reader.RulesWithTokens(tokens, statuses...))
}

// Best implements Indexed where the reader behind it does.
func (v hiding) Best(q Query) ([]Rule, bool, error) {
	x, ok := v.Reader.(Indexed)
	if !ok {
		return nil, false, nil
	}
	limit := q.Limit
	if limit > 0 {
		q.Limit += len(v.ids)
	}
	rules, ok, err := x.Best(q)
	if !ok || err != nil {
		return nil, ok, err
	}
	rules, err = v.rest(rules, nil)
	if limit > 0 && len(rules) > limit {
		rules = rules[:limit]
	}
	return rules, true, err
}

// Alike implements Indexed where the reader behind it does.
func (v hiding) Alike(proposed Rule) ([]Rule, bool, error) {
	x, ok := v.Reader.(Indexed)
	if !ok {
		return nil, false, nil
	}
	rules, ok, err := x.Alike(proposed)
	if !ok || err != nil {
		return nil, ok, err
	}
	rules, err = v.rest(rules, nil)
	return rules, true, err
}

func (v hiding) rest(rules []Rule, err error) ([]Rule, error) {
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(slices.Clone(rules), func(r Rule) bool { return slices.Contains(v.ids, r.ID) }), nil
}
