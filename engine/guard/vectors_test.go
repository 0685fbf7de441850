package guard_test

import (
	"errors"
	"regexp"
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
		return map[string]any{"safe": safeID(in.ID)}
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

func TestVectorsShellPolicy(t *testing.T) {
	type input struct {
		Argv   []string `json:"argv"`
		Policy struct {
			Allowed     []string   `json:"allowed_binaries"`
			AllowPipes  bool       `json:"allow_pipes"`
			Workdir     string     `json:"workdir"`
			Denied      [][]string `json:"denied_prefixes"`
			DeniedFlags []string   `json:"denied_flags"`
		} `json:"policy"`
	}
	vectors.Run(t, "shell_policy", func(t *testing.T, in input) any {
		// The reference knows no such lists: ours, as they are.
		ours := seedPolicy(in.Policy.Workdir)
		p := guard.ShellPolicy{Allowed: in.Policy.Allowed, Pipes: in.Policy.AllowPipes, Workdir: in.Policy.Workdir,
			Denied: in.Policy.Denied, DeniedFlags: in.Policy.DeniedFlags,
			Known: ours.Known, Destructive: ours.Destructive, Plain: ours.Plain}
		err := p.Check(in.Argv)
		if err == nil {
			return map[string]any{"allow": true, "reason": nil}
		}
		var refused *guard.ShellError
		if !errors.As(err, &refused) {
			t.Fatal(err)
		}
		return map[string]any{"allow": false, "reason": refused.Reason}
	})
}

// safeID is what the PandaProbe harness takes for the name of a file or a part of a key.
func safeID(id string) bool {
	return regexp.MustCompile(`\A[A-Za-z0-9._-]{1,128}\z`).MatchString(id) && id != "." && id != ".."
}
