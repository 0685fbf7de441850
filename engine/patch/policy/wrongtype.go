package policy

import (
	"fmt"
	"reflect"
	"regexp"
	"strings"
)

// given is a JSON type as a policy's author knows it.
func given(kind string) string {
	switch kind, _, _ = strings.Cut(kind, " "); kind {
	case "string":
		return "a text"
	case "array":
		return "a list"
	case "object":
		return "a table"
	case "bool":
		return "true or false"
	case "number":
		return "a number"
	}
	return "a " + kind
}

// wanted is what a key takes, with an example.
func wanted(key string, t reflect.Type) string {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t.Kind() {
	case reflect.Slice:
		if strings.HasPrefix(key, "proof.") {
			return `a list of commands, each a list of words: [["make", "test"]]`
		}
		if strings.HasPrefix(key, "process.") {
			return `a list of programs: ["codex"]`
		}
		return `a list of globs: ["src/**"]`
	case reflect.String:
		if strings.HasPrefix(key, "proof.") {
			return `a list of commands, each a list of words: [["make", "test"]]`
		}
		return "a text in quotes"
	case reflect.Bool:
		return "true or false"
	case reflect.Int, reflect.Int64:
		return "a whole number"
	}
	return "a table"
}

// lineOf is "line 7: " for the line of a policy file that sets a key (a.b), "" when it is
// not found: after the header of its table in TOML, by its name alone in JSON.
func lineOf(raw []byte, key string) string {
	table, name := "", key
	if i := strings.LastIndexByte(key, '.'); i >= 0 {
		table, name = key[:i], key[i+1:]
	}
	sets := regexp.MustCompile(`^\s*(?:` + regexp.QuoteMeta(table) + `\s*\.\s*)?"?` + regexp.QuoteMeta(name) + `"?\s*[=:]`)
	header := regexp.MustCompile(`^\s*\[\[?\s*([\w.-]+)\s*\]`)
	in, n := "", 0
	for line := range strings.Lines(string(raw)) {
		n++
		if m := header.FindStringSubmatch(line); m != nil {
			in = m[1]
			continue
		}
		if sets.MatchString(line) && (in == table || in == "") {
			return fmt.Sprintf("line %d: ", n)
		}
	}
	return ""
}
