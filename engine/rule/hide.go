package rule

import "slices"

// Restrict returns a view of r in which only the named candidates exist; every
// rule of another status stays. A replay sees the one candidate on trial, a
// control run sees none.
func Restrict(r Reader, candidates []string) Reader {
	return restricted{partial{r, func(r Rule) bool { return r.Status != Candidate || slices.Contains(candidates, r.ID) }}, candidates}
}

// Hide returns a view of r in which the named rules do not exist. A run that is part
// of a holdback does not see the rule that is tested.
func Hide(r Reader, ids []string) Reader {
	return hiding{partial{r, func(r Rule) bool { return !slices.Contains(ids, r.ID) }}, ids}
}

// partial is a view in which only some rules exist.
type partial struct {
	Reader
	sees func(Rule) bool
}

func (v partial) Rule(id string) (Rule, bool, error) {
	r, ok, err := v.Reader.Rule(id)
	if !ok || err != nil || !v.sees(r) {
		return Rule{}, false, err
	}
	return r, true, nil
}

func (v partial) Rules(statuses ...Status) ([]Rule, error) {
	return v.visible(v.Reader.Rules(statuses...))
}

func (v partial) RulesInScope(scope string, statuses ...Status) ([]Rule, error) {
	return v.visible(v.Reader.RulesInScope(scope, statuses...))
}

func (v partial) RulesWithTokens(tokens []string, statuses ...Status) ([]Rule, error) {
	return v.visible(v.Reader.RulesWithTokens(tokens, statuses...))
}

// Alike implements Indexed where the reader behind it does.
func (v partial) Alike(proposed Rule) ([]Rule, bool, error) {
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

func (v partial) visible(rules []Rule, err error) ([]Rule, error) {
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(slices.Clone(rules), func(r Rule) bool { return !v.sees(r) }), nil
}

type restricted struct {
	partial
	candidates []string
}

// Best implements Indexed where the reader behind it does: the index leaves out itself
// what is not to be seen.
func (v restricted) Best(q Query) ([]Rule, bool, error) {
	x, ok := v.Reader.(Indexed)
	if !ok {
		return nil, false, nil
	}
	q.Restricted, q.Shown = true, v.candidates
	return x.Best(q)
}

type hiding struct {
	partial
	ids []string
}

// Best implements Indexed where the reader behind it does: as many more are asked for
// as may have to go.
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
	rules, err = v.visible(rules, nil)
	if limit > 0 && len(rules) > limit {
		rules = rules[:limit]
	}
	return rules, true, err
}
