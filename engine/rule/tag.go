package rule

import "vise/engine/guard"

// Caps of tags and failure signatures of one rule.
const (
	maxTags       = 16
	maxTag        = 48
	maxSignatures = 16
)

// CleanTags trims and folds each tag, cuts it to 48 code points, drops empty and
// repeated ones and keeps the first 16. The cut is not trimmed again: tags are
// compared as stored, and a tag of an older store must still match.
func CleanTags(tags []string) []string {
	out := make([]string, 0, min(len(tags), maxTags))
	seen := make(map[string]bool, maxTags)
	for _, t := range tags {
		t = guard.Head(guard.Fold(guard.Trim(t)), maxTag)
		if t == "" || seen[t] {
			continue
		}
		seen[t] = true
		out = append(out, t)
		if len(out) == maxTags {
			break
		}
	}
	return out
}

// CleanSignatures drops repeated signatures and keeps the first 16.
func CleanSignatures(signatures []string) []string {
	out := make([]string, 0, min(len(signatures), maxSignatures))
	seen := make(map[string]bool, maxSignatures)
	for _, s := range signatures {
		if seen[s] {
			continue
		}
		seen[s] = true
		out = append(out, s)
		if len(out) == maxSignatures {
			break
		}
	}
	return out
}

// ParseStatus reads a stored status. Unknown text is Quarantined: a damaged
// record must never pass for a validated rule.
func ParseStatus(s string) Status {
	switch st := Status(s); st {
	case Candidate, Active, Retired:
		return st
	}
	return Quarantined
}

// Normalized returns the rule as every reader must see it: status known or
// quarantined, scope normalised, applicability one of the three, signatures
// within their cap.
func (r Rule) Normalized() Rule {
	r.Status = ParseStatus(string(r.Status))
	r.Scope = NormalizeScope(r.Scope)
	switch r.Applicability {
	case Global, Topical, Task:
	default:
		r.Applicability = DeriveApplicability(r.Scope)
	}
	if len(r.FailureSignatures) > maxSignatures {
		r.FailureSignatures = r.FailureSignatures[:maxSignatures]
	}
	return r
}
