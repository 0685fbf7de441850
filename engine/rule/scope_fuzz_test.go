package rule_test

import (
	"path/filepath"
	"testing"

	"vise/engine/rule"
)

// FuzzScope: whatever is said, a rule is filed under one safe file name or refused, and
// where it is filed can be read.
func FuzzScope(f *testing.F) {
	for _, seed := range []string{"", "global", "Refund Desk", "../../etc/passwd", "a..b", "con", ".hidden", "-rf", "Straße", "日本語", "x/y", "a\x00b", "K8s_v2.X-"} {
		f.Add(seed, "topical", "payments")
	}
	f.Fuzz(func(t *testing.T, said, applicability, recommended string) {
		for _, arg := range []any{said, nil} {
			scope, kind, err := rule.ResolveScope(rule.ScopeArgs{Scope: arg, Applicability: applicability, Recommended: recommended, Generic: []string{"desk"}})
			if err != nil {
				if scope != "" || kind != "" {
					t.Fatalf("%q is refused and filed under %q", said, scope)
				}
				continue
			}
			if err := rule.ValidateScope(scope); err != nil {
				t.Fatalf("%q is filed under %q, which is refused when read: %v", said, scope, err)
			}
			if file := filepath.Join("rules", scope+".md"); filepath.Dir(file) != "rules" {
				t.Fatalf("%q is filed as %q", said, file)
			}
			if kind != rule.Global && kind != rule.Topical && kind != rule.Task {
				t.Fatalf("%q: applicability %q", said, kind)
			}
		}
	})
}
