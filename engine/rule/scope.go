package rule

import (
	"fmt"
	"slices"
	"strings"

	"vise/engine/guard"
)

// The two reserved scopes; every other name is open.
const (
	ScopeGlobal = "global" // rules for every task
	ScopeScoped = "scoped" // specific, but to nothing that can be named
)

// maxScope is the longest scope name in characters (all ASCII).
const maxScope = 48

// NormalizeScope returns the name a scope is filed under: trimmed, case-folded,
// every run of characters outside a-z 0-9 . _ - replaced by one "-", trimmed of
// "-", "." and "_", at most 48 characters. A value that leaves no name is "global".
// NormalizeScope(NormalizeScope(s)) == NormalizeScope(s).
func NormalizeScope(s string) string {
	if name, ok := NormalizeScopeOrNone(s); ok {
		return name
	}
	return ScopeGlobal
}

// NormalizeScopeOrNone is NormalizeScope for values that may name no scope.
func NormalizeScopeOrNone(s string) (string, bool) {
	var slug strings.Builder
	gap := false
	for _, r := range guard.Fold(guard.Trim(s)) {
		if !scopeRune(r) {
			gap = true
			continue
		}
		if gap {
			slug.WriteByte('-')
			gap = false
		}
		slug.WriteRune(r)
	}
	// Trimmed again after the cut: a name that ends in a separator would be
	// recorded as one thing and looked up as another.
	name := strings.Trim(guard.Head(strings.Trim(slug.String(), "-._"), maxScope), "-._")
	return name, name != ""
}

func scopeRune(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '.' || r == '_' || r == '-'
}

// ValidateScope checks a scope that is read with: it must be written exactly as
// it is filed. The error is an *Error of class ScopeEmpty, ScopeInvalid or
// ScopeNotNormalized.
func ValidateScope(s string) error {
	if s == "" {
		return refuse(ScopeEmpty, "validate scope: the name is empty; leave it out to read global")
	}
	ok := len(s) <= maxScope && s[0] != '.' && s[0] != '_' && s[0] != '-'
	for _, r := range s {
		ok = ok && scopeRune(r)
	}
	if !ok {
		return refuse(ScopeInvalid, fmt.Sprintf("validate scope: %q is no scope name; names are at most %d characters of a-z 0-9 . _ - "+
			"and start with a letter or digit: list the scopes to see those in use", guard.Line(s, 80), maxScope))
	}
	if n := NormalizeScope(s); n != s {
		return refuse(ScopeNotNormalized, fmt.Sprintf("validate scope: %q is filed as %q; ask for that", s, n))
	}
	return nil
}

// ReservedScope reports whether a normalised scope is one of the two reserved names.
func ReservedScope(scope string) bool { return scope == ScopeGlobal || scope == ScopeScoped }

// DeriveApplicability returns the applicability a scope implies: global for
// global, task for scoped, topical for a named one.
func DeriveApplicability(scope string) string {
	switch scope {
	case ScopeGlobal:
		return Global
	case ScopeScoped:
		return Task
	}
	return Topical
}

// ScopeArgs is what the decision where a new rule is filed depends on.
type ScopeArgs struct {
	// Scope and Applicability are the arguments of the call as they came: text,
	// another JSON scalar, or nil.
	Scope, Applicability any
	// Recommended is the scope the host recommends for the episode, "" = none.
	Recommended string
	// Generic are the host's own labels (benchmark, integration, host): where the
	// agent ran, never what the task was about.
	Generic []string
}

// ResolveScope decides where a rule is filed. A global rule goes to global,
// whatever usable scope is said. Without a scope the host's recommendation counts if it
// is precise, else global. A scope that looks like a path or leaves no usable
// name is refused (*Error, ErrScopePath or ErrScopeUnsafe). A generic label gives
// way to the recommendation, else to scoped.
func ResolveScope(a ScopeArgs) (scope, applicability string, err error) {
	said, _ := a.Applicability.(string)
	scope, err = a.scope(said)
	if err != nil {
		return "", "", err
	}
	switch said {
	case Global, Topical, Task:
		return scope, said, nil
	}
	return scope, DeriveApplicability(scope), nil
}

func (a ScopeArgs) scope(applicability string) (string, error) {
	text := TextOf(a.Scope)
	named := guard.Trim(text) != ""
	slug, usable := NormalizeScopeOrNone(text)
	switch {
	case named && pathLike(text):
		return "", refuse(ErrScopePath, fmt.Sprintf("resolve scope: %q looks like a path; give a topic name", guard.Line(text, 80)))
	case named && !usable:
		return "", refuse(ErrScopeUnsafe, fmt.Sprintf("resolve scope: nothing of %q can be a scope name; use letters a-z or digits", guard.Line(text, 80)))
	case applicability == Global:
		return ScopeGlobal, nil
	}
	generic := make([]string, 0, len(a.Generic))
	for _, label := range a.Generic {
		if n, ok := NormalizeScopeOrNone(label); ok {
			generic = append(generic, n)
		}
	}
	precise := ""
	// A recommendation that looks like a path is a mistake of the host, as it
	// would be one of the model: it is not repaired into a name.
	if n, ok := NormalizeScopeOrNone(a.Recommended); ok && !pathLike(a.Recommended) &&
		!ReservedScope(n) && !slices.Contains(generic, n) {
		precise = n
	}
	if !named {
		if precise != "" {
			return precise, nil
		}
		return ScopeGlobal, nil
	}
	if slices.Contains(generic, slug) {
		if precise != "" {
			return precise, nil
		}
		return ScopeScoped, nil
	}
	return slug, nil
}

func pathLike(s string) bool {
	return strings.ContainsAny(s, `/\`) || strings.Contains(s, "..")
}
