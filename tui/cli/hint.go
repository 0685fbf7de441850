package cli

import (
	"strings"

	"vise/engine/rule"
	"vise/engine/trace"
)

// scopeHint reads KEY or KEY=DESCRIPTION.
func scopeHint(s string) (trace.ScopeHint, error) {
	key, desc, _ := strings.Cut(s, "=")
	key = strings.TrimSpace(key)
	if name := rule.NormalizeScope(key); name != key {
		return trace.ScopeHint{}, usagef("--scope-hint %q: a scope is written as it is filed, for example %s", s, name)
	}
	return trace.ScopeHint{Key: key, Description: strings.TrimSpace(desc)}, nil
}
