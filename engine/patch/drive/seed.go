package drive

import (
	"slices"
	"strings"
)

// Seed is AgentDiff 0.4's command builder: after exec, -p, --print or ask as the
// first argument the prompt is inserted, in front of the old one; otherwise it is
// appended. It is what --profile seed uses.
func Seed(r Request) (Command, error) {
	at := len(r.Argv)
	if len(r.Argv) >= 2 && slices.Contains([]string{"exec", "-p", "--print", "ask"}, r.Argv[1]) {
		at = 2
	}
	return Command{Argv: slices.Insert(slices.Clone(r.Argv), at, r.Prompt), Adapter: "seed"}, nil
}

// Mask is what stands for a secret in a shown argument list.
const Mask = "<redacted>"

var secretParts = []string{"key", "auth", "cookie", "credential", "pass", "secret", "session", "token"}

// harmlessFlags hold such a part and no secret.
var harmlessFlags = []string{"--max-tokens", "--map-tokens", "--author", "--session-id", "--session", "--token-limit", "--keyboard", "--no-auth", "--max-output-tokens", "--bypass-approvals", "--passes"}

// Redact masks the values of flags whose name speaks of a secret. The values of
// flags that only sound like it stay, and a flag is never taken for a value.
func Redact(argv []string) []string {
	out := slices.Clone(argv)
	if out == nil {
		out = []string{}
	}
	for i, word := range out {
		name, _, glued := strings.Cut(word, "=")
		if !strings.HasPrefix(word, "-") || slices.Contains(harmlessFlags, name) || !secretFlag(name) {
			continue
		}
		switch {
		case glued:
			out[i] = name + "=" + Mask
		case i+1 < len(out) && !strings.HasPrefix(out[i+1], "-"):
			out[i+1] = Mask
		}
	}
	return out
}

func secretFlag(name string) bool {
	low := strings.ToLower(name)
	for _, part := range secretParts {
		if strings.Contains(low, part) {
			return true
		}
	}
	return false
}
