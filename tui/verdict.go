package tui

import (
	"fmt"
	"strings"

	"vise/engine/evidence"
	"vise/engine/rule"
	"vise/tui/style"
)

// outcomeRole is the colour of an outcome; its word always stands beside it.
func outcomeRole(o evidence.Outcome) style.Role {
	switch o {
	case evidence.Promote:
		return style.Good
	case evidence.Retire:
		return style.Bad
	}
	return style.Warn
}

// outcomeWord is what became of the rule.
func outcomeWord(o evidence.Outcome) string {
	switch o {
	case evidence.Promote:
		return "promoted"
	case evidence.Retire:
		return "retired"
	}
	return "pending"
}

// verdictWords is a verdict in one sentence.
func verdictWords(v evidence.Verdict) string {
	s := v.Result() + " by " + strings.ReplaceAll(v.Validator, "_", " ") + ": " + v.Reason
	if v.PendingReason != "" {
		s += " (" + strings.ReplaceAll(v.PendingReason, "_", " ") + ")"
	}
	return s
}

// noAgent is how candidates are judged when nothing can be replayed.
const noAgent = "no agent is configured: the forward trial decides, which is weak"

// share is a part of sessions in words, a dash when there were none.
func share(rate float64, of int) string {
	if of == 0 {
		return "–"
	}
	return fmt.Sprintf("%.0f %%", 100*rate)
}

// evidenceWords says how a verdict was reached, and how much it is worth; t is the
// forward trial of its rule.
func evidenceWords(v evidence.Verdict, t *rule.Trial) string {
	parts := []string{}
	switch {
	case v.Validator == "forward_trial":
		parts = append(parts, "weak: breaches before and after, nothing was replayed against it")
	case v.Evidence == "deterministic":
		parts = append(parts, "deterministic: every turn repeats itself, with it and without")
	case v.Paired != nil:
		return pairedWords(v)
	case v.Evidence == "paired":
		return "none yet: pairs of runs with and without the rule would decide"
	case v.Evidence == "seed":
		parts = append(parts, "one replay per case against its stored scores")
	default:
		parts = append(parts, v.Evidence)
	}
	read := 0
	for _, c := range v.Cases {
		if c.Read {
			read++
		}
	}
	if n := len(v.Cases); n > 0 {
		parts = append(parts, fmt.Sprintf("%s replayed, the rule was read in %d", count(n, "case"), read))
	}
	if v.OwnCaseOnly {
		parts = append(parts, "own case only")
	}
	if v.Excluded > 0 {
		parts = append(parts, fmt.Sprintf("%d left out: infrastructure", v.Excluded))
	}
	if v.TrialRate != nil && v.BaselineRate != nil && t != nil {
		parts = append(parts, fmt.Sprintf("breached %s with it, baseline %s", share(*v.TrialRate, len(t.ObservedSessions)), share(*v.BaselineRate, t.BaselineSessions)))
	}
	if v.Attempt > 0 {
		parts = append(parts, fmt.Sprintf("attempt %d", v.Attempt))
	}
	if !v.Usage.IsZero() {
		parts = append(parts, cost(v.Usage, true))
	}
	return strings.Join(parts, "; ")
}

// pairedWords are the numbers of a paired test in one line.
func pairedWords(v evidence.Verdict) string {
	p := v.Paired
	s := fmt.Sprintf("paired: %d of %d pairs on failures, %d on wins; gain %s, harm %s, harm to wins %s of %.0f; read in %d of %d",
		p.Counted, p.Cap, p.Guarded, eWords(p.TopGain), eWords(p.EHarm), eWords(p.EGuard), p.Threshold, p.Exposure.Read, p.Exposure.Runs)
	if p.Profile == evidence.Quick {
		s = "quick " + s
	}
	if v.OwnCaseOnly {
		s += "; own case only"
	}
	if v.Excluded > 0 {
		s += fmt.Sprintf("; %d left out: infrastructure", v.Excluded)
	}
	return s
}

// eWords is an e-value as people read it.
func eWords(e float64) string {
	if e >= 1000 {
		return "over 1000"
	}
	return fmt.Sprintf("%.1f", e)
}

// statusWords are the result of one replayed case.
func caseWord(status string) (string, style.Role) {
	switch status {
	case evidence.StatusImproved:
		return "improved", style.Good
	case evidence.StatusRegressed:
		return "regressed", style.Bad
	case evidence.StatusNoGain:
		return "no gain", style.Warn
	case evidence.StatusUnchanged:
		return "unchanged", style.Text
	case evidence.CandidateNotExercised:
		return "rule not read", style.Warn
	case evidence.EnvWaitTimeout:
		return "not ready in time", style.Warn
	}
	return strings.ReplaceAll(status, "_", " "), style.Warn
}
