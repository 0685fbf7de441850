package evidence

import (
	"fmt"
	"slices"
	"strings"

	"vise/engine/event"
	"vise/engine/rule"
)

// BaselineWindow is how many of the newest notice and recovery events make the
// baseline of a forward trial.
const BaselineWindow = 200

// Baseline returns a new trial whose baseline is taken from the last notice and
// recovery events, newest first: of how many sessions, and in how many of them a
// notice named the metric (any signature for a rule without one). Events of other
// types are not looked at, those without a session count for the window only.
func Baseline(events []event.Event, metric string) rule.Trial {
	sessions, breached := map[string]bool{}, map[string]bool{}
	t := rule.Trial{ObservedSessions: []string{}, BreachedSessions: []string{}}
	for _, e := range events {
		if e.Type != event.Notice && e.Type != event.Recovery {
			continue
		}
		if t.BaselineWindow == BaselineWindow {
			break
		}
		t.BaselineWindow++
		if e.SessionID == "" {
			continue
		}
		sessions[e.SessionID] = true
		if e.Type == event.Notice && concerns(EventSignatures(e), metric) {
			breached[e.SessionID] = true
		}
	}
	t.BaselineSessions, t.BaselineBreachedSessions = len(sessions), len(breached)
	return t
}

// EventSignatures reads the signatures of a notice event; only a list counts.
func EventSignatures(e event.Event) []string {
	switch list := e.Data["signatures"].(type) {
	case []string:
		return list
	case []any:
		out := make([]string, 0, len(list))
		for _, v := range list {
			if s, ok := v.(string); ok {
				out = append(out, s)
			}
		}
		return out
	}
	return nil
}

// concerns reports whether signatures are about the metric; any is when there is none.
func concerns(signatures []string, metric string) bool {
	if metric == "" {
		return len(signatures) > 0
	}
	return slices.ContainsFunc(signatures, func(s string) bool { return strings.HasSuffix(s, ":"+metric) })
}

// Observe takes one report of a live session into the trial. A session is enrolled
// once, until min are; an enrolled one may turn breached later. The report must
// have resolved scores: an outage is no healthy session.
func Observe(t *rule.Trial, metric, session string, signatures []string, min int) (changed bool) {
	if !slices.Contains(t.ObservedSessions, session) {
		if len(t.ObservedSessions) >= min {
			return false
		}
		t.ObservedSessions = append(t.ObservedSessions, session)
		changed = true
	}
	if concerns(signatures, metric) && !slices.Contains(t.BreachedSessions, session) {
		t.BreachedSessions = append(t.BreachedSessions, session)
		changed = true
	}
	return changed
}

// ObserveRead notes that an observed session read the rule.
func ObserveRead(t *rule.Trial, session string) (changed bool) {
	if !slices.Contains(t.ObservedSessions, session) || slices.Contains(t.ReadSessions, session) {
		return false
	}
	t.TracksReads, t.ReadSessions = true, append(t.ReadSessions, session)
	return true
}

// BaselineRate is the share of breached sessions before the rule; 1 when there was
// no session at all.
func BaselineRate(t rule.Trial) float64 {
	if t.BaselineSessions <= 0 {
		return 1
	}
	return float64(t.BaselineBreachedSessions) / float64(t.BaselineSessions)
}

// TrialRate is the share of observed sessions that breached; 0 when none was observed.
func TrialRate(t rule.Trial) float64 {
	if len(t.ObservedSessions) == 0 {
		return 0
	}
	return float64(len(t.BreachedSessions)) / float64(len(t.ObservedSessions))
}

// TrialVerdict decides a candidate by its forward trial: pending until min sessions
// (at least one) were observed, then promoted when none breached or the rate fell
// by the margin, else retired. Where reads are known, a trial in which no session read
// the rule cannot promote it. nil is a rule without a trial: pending for ever.
func TrialVerdict(ruleID string, t *rule.Trial, min int, margin float64) Verdict {
	v := Verdict{RuleID: ruleID, Validator: "forward_trial", Evidence: "seed", Cases: []CaseResult{}}
	if t == nil {
		v.Outcome, v.PendingReason = PendingStill, TrialInProgress
		v.Reason = "the rule has no trial record"
		return v
	}
	trial, baseline := TrialRate(*t), BaselineRate(*t)
	before := fmt.Sprintf("before the rule in %.0f %%", 100*baseline)
	if t.BaselineSessions <= 0 {
		before = "and before the rule there was none to compare with"
	}
	v.TrialRate, v.BaselineRate = &trial, &baseline
	if need := max(1, min); len(t.ObservedSessions) < need {
		v.Outcome, v.PendingReason = PendingStill, TrialInProgress
		v.Reason = fmt.Sprintf("%d of %d sessions observed", len(t.ObservedSessions), need)
		return v
	}
	if trial == 0 && baseline == 0 {
		// Nothing breached before the rule either: no trial can show that it helps.
		v.Outcome, v.PendingReason = PendingStill, NothingToImprove
		v.Reason = "no session breached, before the rule none did either: this shows no improvement"
		return v
	}
	if better := trial == 0 || trial <= baseline-margin; better && t.TracksReads && len(t.ReadSessions) == 0 {
		// It got better without the rule: whatever did it, the rule did not.
		v.Outcome, v.PendingReason = PendingStill, TrialNeverRead
		v.Reason = fmt.Sprintf("breached in %.0f %% of sessions, %s, but no session read the rule", 100*trial, before)
		return v
	} else if better {
		v.Outcome = Promote
		v.Reason = fmt.Sprintf("breached in %.0f %% of sessions, %s", 100*trial, before)
		return v
	}
	v.Outcome = Retire
	v.Reason = fmt.Sprintf("breached in %.0f %% of sessions, %s: no improvement", 100*trial, before)
	return v
}
