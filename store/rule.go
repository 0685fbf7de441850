package store

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"vise/engine/rule"
)

var rules = &table[rule.Rule]{
	kind: kindRule, name: "rule",
	key: func(r *rule.Rule) []byte { return key(kindRule, r.ID) },
	fix: closeStatus,
	index: func(r *rule.Rule) [][]byte {
		status := string(r.Status)
		keys := [][]byte{
			key(kindRuleList, r.CreatedAt, r.ID),
			key(kindRuleStatus, status, r.CreatedAt, r.ID),
			key(kindRuleScope, r.Scope, status, r.CreatedAt, r.ID),
		}
		for _, t := range ruleTokens(r) {
			keys = append(keys, key(kindRuleToken, t, status, r.ID))
		}
		return keys
	},
}

var ruleVersions = &table[rule.Rule]{
	kind: kindRuleVersion, name: "rule version",
	key: func(r *rule.Rule) []byte { return u32(key(kindRuleVersion, r.ID), uint32(r.Version)) },
	fix: closeStatus,
}

// closeStatus fails closed: a status that this program does not know is never taken
// for a validated rule.
func closeStatus(r *rule.Rule) {
	if !slices.Contains(allStatuses, r.Status) {
		r.Status = rule.Quarantined
	}
}

var allStatuses = []rule.Status{rule.Candidate, rule.Active, rule.Retired, rule.Quarantined}

// ruleTokens returns the distinct tokens under which a rule is found.
func ruleTokens(r *rule.Rule) []string {
	text := r.Text + "\n" + r.Rationale + "\n" + r.Metric + "\n" + strings.Join(r.Tags, "\n")
	tokens := rule.Tokens(text)
	slices.Sort(tokens)
	return slices.Compact(tokens)
}

// PutRule stores a new version of a rule. The store numbers the versions of an id
// from 1, whatever r.Version says; earlier versions stay (RuleVersions).
func (tx *Tx) PutRule(r rule.Rule) error {
	const op = "put rule"
	if err := tx.need(op, r.ID); err != nil {
		return err
	}
	if !slices.Contains(allStatuses, r.Status) {
		return tx.fail(op, fmt.Errorf("rule %s has the unknown status %q", r.ID, r.Status))
	}
	if r.Scope == "" {
		return tx.fail(op, errors.New("rule "+r.ID+" has no scope"))
	}
	newest := 0
	s := scan{prefix: key(kindRuleVersion, r.ID), reverse: true, keys: true}
	err := tx.snap.scan(s, func(k, _ []byte) (bool, error) {
		for _, b := range k[len(k)-4:] {
			newest = newest<<8 | int(b)
		}
		return false, nil
	})
	if err != nil {
		return tx.fail(op, err)
	}
	r.Version = newest + 1
	if err := put(tx, rules, &r); err != nil {
		return err
	}
	tx.rules = append(tx.rules, r)
	return put(tx, ruleVersions, &r)
}

// Rule returns the newest version of a rule.
func (tx *Tx) Rule(id string) (rule.Rule, bool, error) {
	return one(tx, rules, key(kindRule, id))
}

// RuleVersions returns every version of a rule, oldest first.
func (tx *Tx) RuleVersions(id string) ([]rule.Rule, error) {
	return records(tx, ruleVersions, scan{prefix: key(kindRuleVersion, id)}, 0)
}

// Rules returns the rules with one of the statuses (none given = all) by creation, then id.
func (tx *Tx) Rules(statuses ...rule.Status) ([]rule.Rule, error) {
	if len(statuses) == 0 {
		return collect(tx, rules, scan{prefix: []byte{kindRuleList}}, 0)
	}
	return tx.ruleRanges(statuses, func(s rule.Status) []byte { return key(kindRuleStatus, string(s)) })
}

// RulesInScope is Rules restricted to one normalised scope.
func (tx *Tx) RulesInScope(scope string, statuses ...rule.Status) ([]rule.Rule, error) {
	if len(statuses) == 0 {
		statuses = allStatuses
	}
	return tx.ruleRanges(statuses, func(s rule.Status) []byte { return key(kindRuleScope, scope, string(s)) })
}

// LiveRules counts the candidates and active rules, at most to limit.
func (tx *Tx) LiveRules(limit int) (n int, err error) {
	for _, status := range []rule.Status{rule.Candidate, rule.Active} {
		err := tx.snap.scan(scan{prefix: key(kindRuleStatus, string(status)), keys: true}, func(_, _ []byte) (bool, error) {
			n++
			return n < limit, nil
		})
		if err != nil {
			return 0, fmt.Errorf("count live rules: %w", err)
		}
		if n >= limit {
			break
		}
	}
	return n, nil
}

func (tx *Tx) ruleRanges(statuses []rule.Status, prefix func(rule.Status) []byte) ([]rule.Rule, error) {
	var out []rule.Rule
	for i, s := range statuses {
		if slices.Contains(statuses[:i], s) {
			continue
		}
		list, err := collect(tx, rules, scan{prefix: prefix(s)}, 0)
		if err != nil {
			return nil, err
		}
		out = append(out, list...)
	}
	sortRules(out)
	return out, nil
}

// RulesWithTokens returns the rules with one of the statuses (none given = all) of
// which text, rationale, metric or tags hold at least one of the tokens, by creation,
// then id. Its cost is that of the postings and the rules found.
func (tx *Tx) RulesWithTokens(tokens []string, statuses ...rule.Status) ([]rule.Rule, error) {
	if len(statuses) == 0 {
		statuses = allStatuses
	}
	found := map[string]bool{}
	for _, t := range tokens {
		for _, s := range statuses {
			err := tx.snap.scan(scan{prefix: key(kindRuleToken, t, string(s))}, func(_, k []byte) (bool, error) {
				found[string(k)] = true
				return true, nil
			})
			if err != nil {
				return nil, fmt.Errorf("find rules by token: %w", err)
			}
		}
	}
	out := make([]rule.Rule, 0, len(found))
	for k := range found {
		r, ok, err := load(tx, rules, []byte(k))
		if err != nil {
			return nil, fmt.Errorf("find rules by token: %w", err)
		}
		if ok && slices.Contains(statuses, r.Status) {
			out = append(out, *r)
		}
	}
	sortRules(out)
	return out, nil
}

func sortRules(list []rule.Rule) {
	slices.SortFunc(list, func(a, b rule.Rule) int {
		return cmp.Or(strings.Compare(a.CreatedAt, b.CreatedAt), strings.Compare(a.ID, b.ID))
	})
}

// scopeText is the one-sentence description of a scope.
type scopeText struct {
	Scope string `json:"scope"`
	Text  string `json:"text"`
}

var scopeTexts = &table[scopeText]{
	kind: kindScopeText, name: "scope description",
	key: func(s *scopeText) []byte { return key(kindScopeText, s.Scope) },
}

// PutScopeDescription stores the description of a scope.
func (tx *Tx) PutScopeDescription(scope, text string) error {
	if err := tx.need("put scope description", scope); err != nil {
		return err
	}
	return put(tx, scopeTexts, &scopeText{scope, text})
}

// ScopeDescriptions returns the stored descriptions by scope.
func (tx *Tx) ScopeDescriptions() (map[string]string, error) {
	list, err := records(tx, scopeTexts, scan{prefix: []byte{kindScopeText}}, 0)
	if err != nil {
		return nil, err
	}
	out := make(map[string]string, len(list))
	for _, s := range list {
		out[s.Scope] = s.Text
	}
	return out, nil
}
