package driver

import (
	"maps"
	"slices"
	"strings"
)

// DefaultEnv are the variables every agent gets; a name ending in * is a prefix.
var DefaultEnv = []string{"PATH", "HOME", "LANG", "LC_*", "TERM", "TMPDIR", "USER", "SHELL"}

// Environ builds an agent's environment from base ("NAME=value", as os.Environ
// gives it): the variables of DefaultEnv, those that allow names (a trailing *
// matches any end), and extra, which wins. The result is sorted by name.
func Environ(allow []string, extra map[string]string, base []string) []string {
	env := map[string]string{}
	for _, kv := range base {
		name, value, ok := strings.Cut(kv, "=")
		if ok && name != "" && (matches(DefaultEnv, name) || matches(allow, name)) {
			env[name] = value
		}
	}
	maps.Copy(env, extra)
	out := make([]string, 0, len(env))
	for _, name := range slices.Sorted(maps.Keys(env)) {
		out = append(out, name+"="+env[name])
	}
	return out
}

func matches(patterns []string, name string) bool {
	for _, p := range patterns {
		if prefix, ok := strings.CutSuffix(p, "*"); ok && prefix != "" {
			if strings.HasPrefix(name, prefix) {
				return true
			}
		} else if p == name {
			return true
		}
	}
	return false
}
