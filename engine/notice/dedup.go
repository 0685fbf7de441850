package notice

import "slices"

// Dedup is what is remembered of a session's alerts, so that one condition is told
// once. The zero value remembers nothing.
type Dedup struct {
	// Signatures of the last report that alerted, sorted.
	Signatures []string `json:"signatures"`
	// Cooldown counts the reports until an unchanged alert is told again.
	Cooldown int `json:"cooldown"`
	// Alerting: the session is in an alerting spell.
	Alerting bool `json:"alerting"`
}

// Step takes the signatures of one report. post asks for a notice: a signature is
// new, or the set is unchanged and the cooldown has run out (cooldown n repeats an
// unchanged alert after n silent reports, 0 never). recovered says that this
// report ends an alerting spell. A report without any resolved score is no
// information and must not be stepped.
func (d Dedup) Step(signatures []string, cooldown int) (next Dedup, post, recovered bool) {
	x := slices.Compact(slices.Sorted(slices.Values(signatures)))
	if len(x) == 0 {
		return Dedup{}, false, d.Alerting
	}
	fresh := slices.ContainsFunc(x, func(s string) bool { return !slices.Contains(d.Signatures, s) })
	post = fresh || d.Alerting && cooldown > 0 && d.Cooldown <= 0 && slices.Equal(x, d.Signatures)
	next = Dedup{Signatures: x, Alerting: true, Cooldown: max(0, d.Cooldown-1)}
	if post {
		next.Cooldown = cooldown
	}
	return next, post, false
}
