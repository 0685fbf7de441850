package guard_test

import (
	"testing"

	"vise/engine/guard"
	"vise/engine/internal/vectors"
)

func TestVectorsSanitizeText(t *testing.T) {
	type input struct {
		Text   *string `json:"text"`
		MaxLen int     `json:"max_len"`
	}
	vectors.Run(t, "sanitize_text", func(t *testing.T, in input) any {
		text := ""
		if in.Text != nil {
			text = *in.Text
		}
		return map[string]any{"text": guard.Sanitize(text, in.MaxLen)}
	})
}

func TestVectorsIsSensitiveKey(t *testing.T) {
	type input struct {
		Key string `json:"key"`
	}
	vectors.Run(t, "is_sensitive_key", func(t *testing.T, in input) any {
		return map[string]any{"sensitive": guard.SensitiveKey(in.Key)}
	})
}

func TestVectorsSafeIDs(t *testing.T) {
	type input struct {
		Kind string `json:"kind"`
		ID   string `json:"id"`
	}
	vectors.Run(t, "safe_ids", func(t *testing.T, in input) any {
		return map[string]any{"safe": guard.SafeID(in.ID)}
	})
}

func TestVectorsEnvScrub(t *testing.T) {
	type input struct {
		Binary      string              `json:"binary"`
		Env         map[string]string   `json:"env"`
		Passthrough map[string][]string `json:"passthrough"`
	}
	vectors.Run(t, "env_scrub", func(t *testing.T, in input) any {
		return map[string]any{"env": guard.ScrubEnv(in.Env, in.Binary, in.Passthrough)}
	})
}
