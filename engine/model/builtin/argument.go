package builtin

import (
	"slices"
	"strings"

	"vise/engine/pattern"
)

// name matches an argument's name, quoted or not; dots and brackets lead into nested ones.
const name = "[\\\\'\"`‘’“”<\\[(]*([A-Za-z_][\\w.\\-]{0,63})"

// noun is what servers call an argument.
const noun = `(?:args?|arguments?|params?|parameters?|fields?|propert(?:y|ies)|keys?|inputs?|options?|attributes?)`

// missing and invalid are wordings that name an argument, the most exact first.
// They come from schema validators, Python's and JavaScript's own messages and
// the tools of agents seen in recorded sessions.
var (
	missing = compile(
		`missing (?:\d+ )?(?:required )?(?:positional |keyword-only |keyword )?`+noun+`\b\s*(?:in \w+\s*)?[:=]?\s*(?:is\s+)?`+name,
		`(?:required|mandatory) `+noun+`\b\s*[:=]?\s*(?:named |called )?`+name,
		noun+` `+name+`[\\'"`+"`"+`’”>\])]*\s+(?:is |was )?(?:required|missing|not (?:provided|given|set|specified|supplied))\b`,
		name+`[\\'"`+"`"+`’”>\])]*\s*[:\-]\s*(?:field )?required\b`,
		`\n\s*`+name+`\s*\n\s*field required\b`,
		`missing\s*[:=]?\s*[\\'"`+"`"+`‘“]+([A-Za-z_][\w.\-]{0,63})`,
		`"path"\s*:\s*\[\s*"([A-Za-z_][\w.\-]{0,63})"[^\]]*\][^}]{0,80}"message"\s*:\s*"required"`,
	)
	invalid = compile(
		`unexpected (?:keyword )?`+noun+`\b\s*[:=]?\s*`+name,
		`(?:invalid|unknown|unsupported|unrecogni[sz]ed|wrong|bad|malformed|illegal|disallowed|additional|extra) `+noun+`\b\s*[:=]?\s*(?:value )?(?:for |of )?`+name,
		`(?:invalid|wrong|bad|unsupported) (?:value|type|format)\b[^.\n]{0,40}?\b(?:for|of|in)\s+(?:the\s+)?(?:`+noun+`\s+)?`+name,
		`additional propert(?:y|ies)\b[^\n]{0,40}?[\\'"‘“]+([A-Za-z_][\w.\-]{0,63})`,
		`(?:value of|value for|`+noun+`)\s+`+name+`[\\'"`+"`"+`’”>\])]*\s+(?:is (?:not|invalid)|must|should|has|does not|cannot|can't)\b`,
		`"path"\s*:\s*\[\s*"([A-Za-z_][\w.\-]{0,63})"`,
	)
	// sentence holds wordings that any sentence may have ("Line must be suspended",
	// "Payment is required"): what stands there is an argument only if it was given,
	// is quoted, or is spelled like an identifier.
	sentenceMissing = compile(
		name+`[\\'"`+"`"+`’”>\])]*\s+(?:is|are) (?:a |an )?(?:required|mandatory|missing)\b`,
		`must (?:provide|include|specify|supply|pass|contain)(?: an?| the)?(?: `+noun+`)?\s+`+name,
	)
	sentenceInvalid = compile(
		name+`[\\'"`+"`"+`’”>\])]*\s*:?\s+(?:must|should) (?:be|match|have|not|contain)\b`,
		name+`[\\'"`+"`"+`’”>\])]*\s+is (?:invalid|not valid|not a valid|malformed|not supported|not allowed|out of range|of the wrong type)\b`,
	)
	// phrase matches "invalid reservation id" and "reservation not found": words that
	// may spell the name of an argument that was given.
	phrase = compile(
		`(?:invalid|unknown|unsupported|wrong|incorrect|bad|malformed|missing|unrecogni[sz]ed|no such)\s+([a-z][\w\-]*(?:\s+[\w\-]+){0,3})`,
		`([a-z][\w\-]*(?:\s+[\w\-]+){0,2})\s+(?:not found|does not exist|is invalid|is required|not valid|mismatch)`,
	)
	// aboutArguments says that an error is about an argument although it may name none.
	aboutArguments = pattern.New(`(?i)\b(?:invalid|missing|unexpected|required|unrecogni[sz]ed|malformed|wrong|unknown|unsupported)\b.{0,40}\b(?:arg(?:ument)?s?|param(?:eter)?s?|field|value|key|option|type|format|json|property|input)\b` +
		`|unexpected keyword|positional argument|validation ?error|schema|\btype ?error\b|\bvalue ?error\b|\bmust (?:be|match|have)\b|\bshould be\b|\bexpected .{1,30} (?:but )?(?:got|received)`)
)

func compile(patterns ...string) []*pattern.Pattern {
	out := make([]*pattern.Pattern, len(patterns))
	for i, p := range patterns {
		out[i] = pattern.New("(?i)" + p)
	}
	return out
}

// notNames are words that stand where a name could, and are none.
var notNames = strings.Fields(`a an the this that it its is are was be in of for to and or not no none null true false
	argument arguments arg args parameter parameters param params field fields property properties key keys value values
	option options input inputs type types format json object string number integer boolean array list schema data body
	request response required missing invalid valid error errors exception message call calls tool tools function functions
	validation value_error type_error typeerror valueerror keyerror you your must should have has may can if when while with
	at least one all any some both each following please check name named called got but expected received found`)

// blamed says which argument an error blames. keys are the arguments that were
// given: an invalid one is among them, a missing one is not.
func blamed(text string, keys []string) (class, string) {
	head := cut(text, 2000)
	for i, p := range slices.Concat(missing, sentenceMissing) {
		for _, m := range p.FindAllStringSubmatch(head, 8) {
			if n := argumentName(m[1], keys); n != "" {
				if i >= len(missing) && !identifier(head, m[0], n, keys) {
					continue
				}
				if given(n, keys) != "" && !emptyWording.MatchString(head) {
					// It was given and still called missing: its value is what is wrong.
					return invalidArgument, given(n, keys)
				}
				return missingArgument, n
			}
		}
	}
	for i, p := range slices.Concat(invalid, sentenceInvalid) {
		for _, m := range p.FindAllStringSubmatch(head, 8) {
			if n := argumentName(m[1], keys); n != "" {
				if i >= len(invalid) && !identifier(head, m[0], n, keys) {
					continue
				}
				return invalidArgument, n
			}
		}
	}
	for _, p := range phrase {
		for _, m := range p.FindAllStringSubmatch(head, 8) {
			if n := spelled(m[1], keys); n != "" {
				return invalidArgument, n
			}
		}
	}
	if aboutArguments.MatchString(cut(head, 600)) {
		return invalidArgument, ""
	}
	return "", ""
}

var emptyWording = pattern.New(`(?i)\bmissing\b|\bfield required\b`)

// argumentName accepts what looks like an argument's name: one that was given, or
// a word that is not ordinary prose.
func argumentName(s string, keys []string) string {
	s = strings.TrimRight(s, ".-")
	if i := strings.LastIndexAny(s, "."); i >= 0 && i+1 < len(s) {
		s = s[i+1:] // body.reason_code, $.reason_code
	}
	if s == "" || len(s) > 64 {
		return ""
	}
	if g := given(s, keys); g != "" {
		return g
	}
	if slices.Contains(notNames, strings.ToLower(s)) {
		return ""
	}
	return s
}

// identifier tells an argument's name from a word of prose: it was given, or is
// spelled as no word of prose is, or is quoted, or stands in lower case where the
// message begins.
func identifier(text, match, name string, keys []string) bool {
	if given(name, keys) != "" || strings.Contains(name, "_") {
		return true
	}
	if tail := name[1:]; strings.ToLower(tail) != tail && strings.ToUpper(name) != name {
		return true // camelCase
	}
	if i := strings.Index(match, name); i > 0 && strings.ContainsAny(match[i-1:i], "'\"`<[") {
		return true
	}
	return strings.ToLower(name) == name && (strings.HasPrefix(text, match) || strings.Contains(text, ": "+match))
}

// spelled finds the given argument that a phrase spells: "reservation id" for
// reservation_id, "payment method" for payment_method_id.
func spelled(words string, keys []string) string {
	f := strings.Fields(strings.ToLower(strings.ReplaceAll(words, "-", "_")))
	for n := len(f); n > 0; n-- {
		for start := 0; start+n <= len(f); start++ {
			joined := strings.Join(f[start:start+n], "_")
			if g := given(joined, keys); g != "" && !slices.Contains(notNames, joined) {
				return g
			}
			if g := given(joined+"_id", keys); g != "" && !slices.Contains(notNames, joined) {
				return g
			}
		}
	}
	return ""
}

// given returns the key that equals the name but for case and separators.
func given(s string, keys []string) string {
	want := squash(s)
	for _, k := range keys {
		if want != "" && squash(k) == want {
			return k
		}
	}
	return ""
}

func squash(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '_' || r == '-' || r == ' ' {
			return -1
		}
		return r
	}, strings.ToLower(s))
}
