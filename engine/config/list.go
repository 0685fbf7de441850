package config

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"vise/engine/rule"
	"vise/engine/score"
	"vise/engine/trace"
)

// MaxListItems bounds every list in the configuration.
const MaxListItems = 256

// items reads a list of texts. A variable or a flag may hold words split at blanks
// instead of a TOML list.
func items(v value, wants string, bad fault) ([]value, bool) {
	switch v.shape {
	case isLoose:
		var list []value
		for _, w := range strings.Fields(v.text) {
			list = append(list, value{shape: isText, text: w})
		}
		v.list = list
	case isList:
	default:
		bad(v.at, "must be %s, not %s", wants, found(v))
		return nil, false
	}
	if len(v.list) > MaxListItems {
		bad(v.at, "must be %s with at most %d entries, not %d", wants, MaxListItems, len(v.list))
		return nil, false
	}
	return v.list, true
}

func words(at func(*Config) *[]string, wants string, check func(string) error) kind {
	return listOf(at, wants, check, func(list []string) []string { return list })
}

func listOf(at func(*Config) *[]string, wants string, check func(string) error, join func([]string) []string) kind {
	return kind{wants, func(c *Config, v value, bad fault) {
		list, ok := items(v, wants, bad)
		out := []string{}
		for i, item := range list {
			if item.shape != isText {
				bad(item.at, "must be %s; entry %d is %s", wants, i+1, item.shape)
				ok = false
			} else if err := checked(check, item.text); err != nil {
				bad(item.at, "must be %s; entry %d: %v", wants, i+1, err)
				ok = false
			} else if check != nil && slices.Contains(out, item.text) {
				bad(item.at, "must be %s; entry %d repeats %s", wants, i+1, quote(item.text))
				ok = false
			}
			out = append(out, item.text)
		}
		if ok {
			*at(c) = join(out)
		}
	}, func(c *Config) string { return tomlList(*at(c)) }}
}

func tomlList(list []string) string {
	quoted := make([]string, len(list))
	for i, s := range list {
		quoted[i] = tomlText(s)
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}

// argv reads a command line. It is a list so that no shell ever sees it.
func argv(at func(*Config) *[]string) kind {
	const wants = "a list: the program and its arguments, such as [\"python\", \"agent.py\"]"
	k := words(at, wants, nil)
	set := k.set
	k.set = func(c *Config, v value, bad fault) {
		before := *at(c)
		set(c, v, bad)
		switch list := *at(c); {
		case len(list) > 0 && strings.TrimSpace(list[0]) == "":
			bad(v.at, "must be %s; the program is empty", wants)
			*at(c) = before
		case slices.ContainsFunc(list, func(w string) bool { return strings.ContainsRune(w, 0) }):
			bad(v.at, "must be %s; an argument holds a NUL", wants)
			*at(c) = before
		}
	}
	k.show = func(c *Config) string { return tomlList(hideCredentials(*at(c))) }
	return k
}

// environment reads names of variables that are added to BaseEnv or, with a
// leading "-", taken away from it.
func environment(at func(*Config) *[]string) kind {
	const wants = "a list of variable names that the agent may see besides the basic ones (\"-NAME\" takes one away)"
	check := func(s string) error {
		if strings.Contains(s, "=") {
			return errors.New("only names are listed, never values; set the variable where vise is started")
		}
		if !variableName.MatchString(strings.TrimPrefix(s, "-")) {
			return fmt.Errorf("%s is not the name of a variable", quote(s))
		}
		return nil
	}
	return listOf(at, wants, check, func(list []string) []string {
		out := slices.Clone(BaseEnv)
		for _, name := range list {
			if gone, ok := strings.CutPrefix(name, "-"); ok {
				out = slices.DeleteFunc(out, func(s string) bool { return s == gone })
			} else if !slices.Contains(out, name) {
				out = append(out, name)
			}
		}
		return out
	})
}

func traceMetric(s string) error {
	if !slices.Contains(score.TraceMetrics, s) {
		return fmt.Errorf("%s is not a metric%s; there are %s", quote(s), meant(s, score.TraceMetrics), strings.Join(score.TraceMetrics, ", "))
	}
	return nil
}

// thresholds reads a table metric = number.
func thresholds(at func(*Config) *map[string]float64) kind {
	const wants = "a table of metrics, such as { coherence = 0.4 }"
	known := append(slices.Clone(score.TraceMetrics), score.OutcomeCorrect)
	return kind{wants, func(c *Config, v value, bad fault) {
		if v.shape != isTable {
			bad(v.at, "must be %s, not %s", wants, found(v))
			return
		}
		out := map[string]float64{}
		for _, f := range v.table {
			if !slices.Contains(known, f.name) {
				bad(f.at, "%s is not a metric%s; there are %s", quote(f.name), meant(f.name, known), strings.Join(known, ", "))
			} else if n, ok := numberOf(f.value, 0, 1, bad); ok {
				out[f.name] = n
			}
		}
		*at(c) = out
	}, func(c *Config) string {
		m := *at(c)
		parts := []string{}
		for _, k := range slices.Sorted(maps.Keys(m)) {
			parts = append(parts, k+" = "+tomlNumber(m[k]))
		}
		return tomlTable(parts)
	}}
}

// maxServers bounds the tool servers of an agent: each is a program.
const maxServers = 16

// servers reads a table of tool servers: a command, or one http address.
func servers(at func(*Config) *map[string][]string) kind {
	const wants = "a table of commands or addresses, such as { orders = [\"orders-mcp\", \"--stdio\"] }"
	return kind{wants, func(c *Config, v value, bad fault) {
		if v.shape != isTable || len(v.table) > maxServers {
			bad(v.at, "must be %s, at most %d, not %s", wants, maxServers, found(v))
			return
		}
		out := map[string][]string{}
		for _, f := range v.table {
			if !serverName.MatchString(f.name) || f.name == "vise" {
				bad(f.at, "%s cannot name a tool server: letters, digits, _ and -, at most 32, and not vise, which serves the rules", quote(f.name))
				continue
			}
			list, ok := items(f.value, "a list of arguments", bad)
			if !ok || len(list) == 0 {
				bad(f.at, "%s must be a command, as a list of arguments, or one address", quote(f.name))
				continue
			}
			for _, item := range list {
				if item.shape != isText || path(item.text) != nil {
					bad(item.at, "%s: %s is not an argument", f.name, found(item))
				}
				out[f.name] = append(out[f.name], item.text)
			}
			if first := out[f.name][0]; strings.Contains(first, "://") {
				if err := address(first); err != nil || len(list) > 1 {
					bad(f.at, "%s: give one http address, without user name, password or query", quote(f.name))
				}
			}
		}
		*at(c) = out
	}, func(c *Config) string {
		m := *at(c)
		parts := []string{}
		for _, k := range slices.Sorted(maps.Keys(m)) {
			parts = append(parts, tomlText(k)+" = "+tomlList(m[k]))
		}
		return tomlTable(parts)
	}}
}

// maxTexts bounds a table of texts.
const maxTexts = 32

// texts reads a table of names and texts.
func texts(at func(*Config) *map[string]string, wants string) kind {
	return kind{wants, func(c *Config, v value, bad fault) {
		if v.shape != isTable {
			bad(v.at, "must be %s, not %s", wants, found(v))
			return
		}
		out := map[string]string{}
		for _, f := range v.table {
			switch {
			case f.value.shape != isText:
				bad(f.at, "%s must be a text, not %s", quote(f.name), found(f.value))
			case len(v.table) > maxTexts:
				bad(f.at, "has more than %d entries", maxTexts)
				return
			default:
				if err := path(f.value.text); err != nil || f.value.text == "" {
					bad(f.at, "%s must be a text without control characters, and not empty", quote(f.name))
					continue
				}
				out[f.name] = f.value.text
			}
		}
		*at(c) = out
	}, func(c *Config) string {
		m := *at(c)
		parts := []string{}
		for _, k := range slices.Sorted(maps.Keys(m)) {
			parts = append(parts, tomlText(k)+" = "+tomlText(m[k]))
		}
		return tomlTable(parts)
	}}
}

func tomlTable(parts []string) string {
	if len(parts) == 0 {
		return "{}"
	}
	return "{ " + strings.Join(parts, ", ") + " }"
}

var actionName = regexp.MustCompile(`^[a-z][a-z0-9._-]{0,63}$`)

// bindings reads a table action = key or list of keys. The workbench knows which
// actions exist and checks their names itself.
func bindings(at func(*Config) *map[string][]string) kind {
	const wants = "a table of actions, such as { \"run.step\" = \"s\", quit = [\"q\", \"ctrl+c\"] }"
	return kind{wants, func(c *Config, v value, bad fault) {
		if v.shape != isTable || len(v.table) > MaxListItems {
			bad(v.at, "must be %s, not %s", wants, found(v))
			return
		}
		out := map[string][]string{}
		c.UI.KeyLines = map[string]int{}
		for _, f := range v.table {
			c.UI.KeyLines[f.name] = f.at.line
			if !actionName.MatchString(f.name) {
				bad(f.at, "%s is not the name of an action", quote(f.name))
				continue
			}
			if f.value.shape == isText {
				f.value = value{shape: isList, list: []value{f.value}, at: f.value.at}
			}
			list, _ := items(f.value, "a key or a list of keys", bad)
			out[f.name] = []string{} // an empty list takes the action's keys away
			for _, item := range list {
				if item.shape != isText || item.text == "" || len(item.text) > 32 {
					bad(item.at, "%s: %s is not a key", f.name, found(item))
					continue
				}
				out[f.name] = append(out[f.name], item.text)
			}
		}
		*at(c) = out
	}, func(c *Config) string {
		m := *at(c)
		parts := []string{}
		for _, k := range slices.Sorted(maps.Keys(m)) {
			parts = append(parts, tomlText(k)+" = "+tomlList(m[k]))
		}
		return tomlTable(parts)
	}}
}

// hintScopes bounds the scope hints of a turn (the reference keeps the first 16).
const hintScopes = 16

// hints reads { task_summary = "...", scopes = [{ key = "...", description = "..." }] }.
func hints(at func(*Config) *Hints) kind {
	const wants = "a table with task_summary and scopes"
	return kind{wants, func(c *Config, v value, bad fault) {
		if v.shape != isTable {
			bad(v.at, "must be %s, not %s", wants, found(v))
			return
		}
		var h Hints
		for _, f := range v.table {
			switch {
			case f.name == "task_summary" && f.value.shape == isText:
				h.TaskSummary = f.value.text
			case f.name == "scopes" && f.value.shape == isList && len(f.value.list) <= hintScopes:
				for _, item := range f.value.list {
					h.Scopes = append(h.Scopes, hint(item, bad))
				}
			case f.name == "task_summary":
				bad(f.value.at, "task_summary must be a text, not %s", found(f.value))
			case f.name == "scopes":
				bad(f.value.at, "scopes must be a list of at most %d tables", hintScopes)
			default:
				bad(f.at, "%s is unknown%s", quote(f.name), meant(f.name, []string{"task_summary", "scopes"}))
			}
		}
		*at(c) = h
	}, func(c *Config) string { return showHints(*at(c)) }}
}

func hint(v value, bad fault) trace.ScopeHint {
	var h trace.ScopeHint
	if v.shape != isTable {
		bad(v.at, "a scope hint must be a table, not %s", found(v))
		return h
	}
	texts := map[string]*string{"key": &h.Key, "description": &h.Description, "applicability": &h.Applicability}
	for _, f := range v.table {
		switch to := texts[f.name]; {
		case to != nil && f.value.shape == isText:
			*to = f.value.text
		case f.name == "recommended" && f.value.shape == isTruth:
			recommended := f.value.truth
			h.Recommended = &recommended
		case to != nil:
			bad(f.value.at, "%s must be a text, not %s", f.name, found(f.value))
		case f.name == "recommended":
			bad(f.value.at, "recommended must be true or false, not %s", found(f.value))
		default:
			bad(f.at, "%s is unknown%s", quote(f.name), meant(f.name, []string{"key", "description", "applicability", "recommended"}))
		}
	}
	if strings.TrimSpace(h.Key) == "" {
		bad(v.at, "a scope hint needs a key, such as { key = \"payments\" }")
	}
	if name := rule.NormalizeScope(h.Key); strings.TrimSpace(h.Key) != "" && name != h.Key {
		bad(v.at, "the key of a scope hint must be written as it is filed: %s instead of %s", quote(name), quote(h.Key))
	}
	if h.Applicability != "" && !slices.Contains([]string{"global", "topical", "task"}, h.Applicability) {
		bad(v.at, "applicability must be global, topical or task, not %s", quote(h.Applicability))
	}
	return h
}

func showHints(h Hints) string {
	parts := []string{}
	if h.TaskSummary != "" {
		parts = append(parts, "task_summary = "+tomlText(h.TaskSummary))
	}
	scopes := []string{}
	for _, s := range h.Scopes {
		one := []string{"key = " + tomlText(s.Key)}
		if s.Description != "" {
			one = append(one, "description = "+tomlText(s.Description))
		}
		if s.Applicability != "" {
			one = append(one, "applicability = "+tomlText(s.Applicability))
		}
		if s.Recommended != nil {
			one = append(one, fmt.Sprintf("recommended = %t", *s.Recommended))
		}
		scopes = append(scopes, tomlTable(one))
	}
	if len(scopes) > 0 {
		parts = append(parts, "scopes = ["+strings.Join(scopes, ", ")+"]")
	}
	return tomlTable(parts)
}
