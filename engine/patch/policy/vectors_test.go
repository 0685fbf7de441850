package policy_test

import (
	"errors"
	"testing"

	"vise/engine/internal/vectors"
	"vise/engine/patch/policy"
)

func TestVectorsPolicyPath(t *testing.T) {
	type input struct {
		Filesystem policy.Filesystem `json:"filesystem"`
		Path       string            `json:"path"`
	}
	vectors.RunPatch(t, "policy_path", func(t *testing.T, in input) any {
		d, err := policy.Policy{Filesystem: in.Filesystem}.Path(in.Path)
		if errors.Is(err, policy.ErrPath) {
			return map[string]any{"error": "invalid_path"}
		}
		if err != nil {
			t.Fatal(err)
		}
		pattern := any(d.Pattern)
		if d.Pattern == "" {
			pattern = nil
		}
		return map[string]any{"action": d.Action, "rule": d.Rule, "pattern": pattern, "subject": d.Subject}
	})
}
