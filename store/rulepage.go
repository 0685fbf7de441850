package store

import "vise/engine/rule"

// RulePage returns a page of rules by creation, newest first unless w.Oldest.
func (tx *Tx) RulePage(w Window) ([]rule.Rule, error) {
	return page(tx, rules, []byte{kindRuleList}, w, key(kindRule, w.After))
}
