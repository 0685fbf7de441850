package cli

import (
	"strings"

	"vise/engine/trace"
)

// scopeHint reads KEY or KEY=DESCRIPTION.
func scopeHint(s string) trace.ScopeHint {
	key, desc, _ := strings.Cut(s, "=")
	return trace.ScopeHint{Key: strings.TrimSpace(key), Description: strings.TrimSpace(desc)}
}
