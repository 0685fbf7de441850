package driver

import (
	"maps"
	"slices"
	"strings"

	"vise/engine/guard"
)

// DefaultEnv are the variables every agent gets; a name ending in * is a prefix.
var DefaultEnv = []string{"PATH", "HOME", "LANG", "LC_*", "TERM", "TMPDIR", "USER", "SHELL"}

// Environ builds an agent's environment from base ("NAME=value", as os.Environ
// gives it): the variables of DefaultEnv, those that allow names (a trailing *
// matches any end), and extra, which wins. A credential is never matched by a
// pattern, only by its whole name. The result is sorted by name.
func Environ(allow []string, extra map[string]string, base []string) []string {
	env, matched := map[string]string{}, map[string]string{}
	for _, kv := range base {
		name, value, ok := strings.Cut(kv, "=")
		switch {
		case !ok || name == "":
		case slices.Contains(DefaultEnv, name) || slices.Contains(allow, name):
			env[name] = value
		case matches(DefaultEnv, name) || matches(allow, name):
			matched[name] = value
		}
	}
	maps.Copy(env, guard.ScrubEnv(matched, "", nil))
	maps.Copy(env, extra)
	out := make([]string, 0, len(env))
	for _, name := range slices.Sorted(maps.Keys(env)) {
		out = append(out, name+"="+env[name])
	}
	return out
}

// matches reports a name that begins as one of the patterns ending in *.
func matches(patterns []string, name string) bool {
	for _, p := range patterns {
		if prefix, ok := strings.CutSuffix(p, "*"); ok && prefix != "" && strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}
