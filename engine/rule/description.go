package rule

import (
	"strings"
	"unicode"

	"vise/engine/guard"
)

// The default descriptions of the reserved scopes.
const (
	GlobalDescription = "Rules that apply to every task."
	ScopedDescription = "Rules for particular situations that share no common topic."
)

// Caps of a scope description in code points: before cleaning and after.
const (
	descriptionRaw = 256
	descriptionMax = 160
)

// ScopeDescription returns the one sentence that describes a normalised scope:
// the given text cleaned to one sentence, or a default when nothing is left of it.
func ScopeDescription(description, scope string) string {
	if s, ok := CleanDescription(description); ok {
		return s
	}
	switch scope {
	case ScopeGlobal:
		return GlobalDescription
	case ScopeScoped:
		return ScopedDescription
	}
	return ScopeLabel(scope) + " workflows."
}

// CleanDescription turns a text into one sanitised sentence of at most 161 code
// points; ok is false when nothing is left.
func CleanDescription(description string) (sentence string, ok bool) {
	s := guard.Head(guard.Collapse(guard.Sanitize(description, descriptionRaw)), descriptionMax)
	s = strings.TrimRight(s, " ,;:")
	if !strings.ContainsFunc(s, unicode.IsPrint) || strings.TrimFunc(s, unseen) == "" {
		return "", false
	}
	if !strings.HasSuffix(s, ".") && !strings.HasSuffix(s, "!") && !strings.HasSuffix(s, "?") {
		s += "."
	}
	return s, true
}

// unseen reports characters that leave a description without anything to read.
func unseen(r rune) bool { return guard.IsSpace(r) || unicode.In(r, unicode.Cf, unicode.Mn) }

// ScopeLabel is the scope as a title: separators become spaces, each letter that
// does not follow a letter is upper case.
func ScopeLabel(scope string) string {
	var out strings.Builder
	letter := false
	for _, r := range strings.Trim(strings.NewReplacer("_", " ", "-", " ").Replace(scope), " ") {
		switch {
		case !unicode.IsLetter(r):
			letter = false
		case letter:
			r = unicode.ToLower(r)
		default:
			r = unicode.ToUpper(r)
			letter = true
		}
		out.WriteRune(r)
	}
	return out.String()
}
