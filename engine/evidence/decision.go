package evidence

import (
	"fmt"
	"slices"
	"strings"

	"vise/engine/rule"
	"vise/engine/score"
	"vise/engine/trace"
)

// Margins are how far a score must move to count. They are compared as plain
// doubles: 0.50 to 0.55 reaches a margin of 0.05, 0.30 to 0.35 does not.
type Margins struct {
	Promote float64
	Regress float64
}

// Pending reasons of a verdict.
const (
	TrialInProgress       = "trial_in_progress"
	NothingToImprove      = "nothing_to_improve" // no breach before the rule, none since
	TrialNeverRead        = "trial_never_read"   // no observed session read the rule
	NoReplayableCase      = "no_matching_replayable_case"
	ReplayInconclusive    = "replay_inconclusive"
	CandidateNotExercised = "candidate_not_exercised"
	EnvWaitTimeout        = "env_wait_timeout"
	RoundBudgetExhausted  = "round_budget_exhausted"
	// ContradictsActive: it earned its place and seems to say the opposite of an active
	// rule; a person decides which of the two is in force.
	ContradictsActive = "contradicts_active_rule"
)

// Statuses of a replayed case.
const (
	StatusImproved     = "improved"
	StatusNoGain       = "no_gain"
	StatusRegressed    = "regressed"
	StatusUnchanged    = "unchanged"
	StatusInconclusive = "inconclusive"
)

// Replayed is one case of a validation after its replay.
type Replayed struct {
	Case  Case
	RunID string
	// Scores of the replay by metric; nil when the replay or its scoring failed.
	Scores map[string]float64
	// Uncompared says which metrics of the baseline were not scored, or by another
	// evaluator (Uncompared).
	Uncompared []string
	// Read reports that this very replay was handed the text of the candidate.
	Read bool
	// WaitTimedOut: the environment never became ready within its wait budget.
	WaitTimedOut bool
	// Infrastructure and Error as in Run.
	Infrastructure string
	Error          string
	Usage          trace.Usage
	ElapsedMS      int64
}

// Kinds of reason of a replay decision.
const (
	KindNoCase        = "no_case"
	KindRegression    = "regression"
	KindImproved      = "improved"
	KindNoImprovement = "no_improvement"
	KindInconclusive  = "inconclusive"
)

// Decision is a verdict with the parts its reason was written from.
type Decision struct {
	Verdict Verdict
	Kind    string
	// CaseID, Metric and Delta of the regression, or Metric of the improvement
	// ("" when no preferred metric was measured).
	CaseID string
	Metric string
	Delta  float64
	// Inconclusive counts cases without a usable result, Unexercised those whose
	// replay never read the candidate, WaitTimeouts those the environment kept waiting.
	Inconclusive, Unexercised, WaitTimeouts int
}

// Deltas returns scores − baseline for the metrics in both.
func Deltas(baseline, scores map[string]float64) map[string]float64 {
	out := map[string]float64{}
	for m, v := range scores {
		if b, ok := baseline[m]; ok {
			out[m] = v - b
		}
	}
	return out
}

// metricOrder lists the metrics of a map in registry order, unknown ones last by name.
func metricOrder(deltas map[string]float64) []string {
	out := make([]string, 0, len(deltas))
	for _, m := range score.Metrics() {
		if _, ok := deltas[m]; ok {
			out = append(out, m)
		}
	}
	known := len(out)
	for m := range deltas {
		if !score.KnownMetric(m) {
			out = append(out, m)
		}
	}
	slices.Sort(out[known:])
	return out
}

// DecideReplay decides a candidate from its replays, given in run order (failures,
// newest first, then wins). One regression retires: on a win any metric may
// regress, on a failure only those of RetireOn. Otherwise one improved failure
// promotes. Without a failure that says anything the verdict is pending; else the
// rule did not help and is retired.
//
// What one replay read counts for that replay only.
func DecideReplay(r rule.Rule, replays []Replayed, m Margins) Decision {
	d := Decision{Verdict: Verdict{RuleID: r.ID, Validator: "replay", Evidence: "seed", Cases: []CaseResult{}}}
	var failures []Case
	for _, x := range replays {
		if x.Case.Kind == Failure {
			failures = append(failures, x.Case)
		}
	}
	if len(failures) == 0 {
		d.Kind = KindNoCase
		d.pending(NoReplayableCase, "no captured failure matches the rule and can be replayed")
		return d
	}
	attributable := RetireOn(r)
	preference := Preference(r, failures)
	conclusive, regressed, improved := 0, false, false
	improvedBy := ""
	var blind []string // wins of which something is not known
	var failed []string
	for _, x := range replays {
		c := x.result()
		d.Verdict.Usage = d.Verdict.Usage.Add(x.Usage)
		if c.Infrastructure != "" {
			d.Verdict.Excluded++
		}
		switch {
		case x.WaitTimedOut && x.Scores == nil:
			c.Status = EnvWaitTimeout
			d.Inconclusive++
			d.WaitTimeouts++
		case len(c.Deltas) == 0:
			c.Status = StatusInconclusive
			d.Inconclusive++
		case !x.Read:
			c.Status = CandidateNotExercised
			d.Inconclusive++
			d.Unexercised++
		default:
			win := x.Case.Kind == Win
			c.Status = StatusUnchanged
			if !win {
				conclusive++
				failed = append(failed, x.Case.ID)
				c.Status = StatusNoGain
				if target, ok := improvement(c.Deltas, preference, m.Promote); ok {
					c.Status, c.Target = StatusImproved, target
				} else {
					c.Target = target
				}
			}
			for _, metric := range metricOrder(c.Deltas) {
				if c.Deltas[metric] <= -m.Regress && (win || slices.Contains(attributable, metric)) {
					if c.Status == StatusRegressed {
						c.Reason += ", " // every one is told, not only the last
					} else {
						c.Reason = ""
					}
					c.Status = StatusRegressed
					c.Reason += fmt.Sprintf("%s %+.2f", metric, c.Deltas[metric])
					regressed = true
					d.CaseID, d.Metric, d.Delta = x.Case.ID, metric, c.Deltas[metric]
				}
			}
			if len(x.Uncompared) > 0 && c.Status != StatusRegressed {
				// What is not known did not stay as it was. A failure is still judged by what
				// it shares, unless the most trusted of its metrics is what is missing.
				if win {
					c.Withhold(x.Uncompared)
					blind = append(blind, fmt.Sprintf("%s (%s)", x.Case.ID, strings.Join(x.Uncompared, ", ")))
				} else if missing(x.Uncompared, score.OutcomeCorrect) {
					c.Withhold(x.Uncompared)
					conclusive--
					failed = failed[:len(failed)-1]
					d.Inconclusive++
				}
			}
			if n := len(failed); n > 0 && failed[n-1] == x.Case.ID && c.Status == StatusNoGain {
				failed[n-1] += overruled(c, m.Promote)
			}
			if c.Status == StatusImproved {
				improved, improvedBy = true, c.Target
			}
		}
		d.Verdict.Cases = append(d.Verdict.Cases, c)
	}
	switch {
	case regressed:
		d.Kind = KindRegression
		d.Verdict.Outcome = Retire
		d.Verdict.Reason = fmt.Sprintf("case %s regressed: %s %+.2f", d.CaseID, d.Metric, d.Delta)
	case improved && len(blind) > 0:
		d.Kind = KindInconclusive
		d.pending(ReplayInconclusive, "replayed failures improved, but a protected win could not be compared: "+strings.Join(blind, "; "))
	case improved:
		d.Kind, d.Metric = KindImproved, improvedBy
		d.Verdict.Outcome = Promote
		d.Verdict.Reason = "replayed failures improved"
		if improvedBy != "" {
			d.Verdict.Reason += " on " + improvedBy
		}
	case conclusive == 0:
		d.Kind = KindInconclusive
		switch {
		case d.WaitTimeouts > 0 && d.WaitTimeouts >= d.Unexercised:
			d.pending(EnvWaitTimeout, "the environment was not ready within its wait budget")
		case d.Unexercised > 0:
			d.pending(CandidateNotExercised, "no replay read the candidate")
		default:
			d.pending(ReplayInconclusive, "no replay of a failure gave comparable scores")
		}
	default:
		d.Kind = KindNoImprovement
		d.Verdict.Outcome = Retire
		d.Verdict.Reason = "no improvement on " + strings.Join(failed, ", ")
	}
	return d
}

// overruled says which metric decided that a failure did not improve, when others did:
// the most trusted one that was measured does.
func overruled(c CaseResult, promote float64) string {
	if c.Target == "" {
		return ""
	}
	var others []string
	for _, metric := range metricOrder(c.Deltas) {
		if metric != c.Target && c.Deltas[metric] >= promote {
			others = append(others, fmt.Sprintf("%s %+.2f", metric, c.Deltas[metric]))
		}
	}
	if len(others) == 0 {
		return ""
	}
	return fmt.Sprintf(" (%s %+.2f decides; it is trusted before %s)", c.Target, c.Deltas[c.Target], strings.Join(others, ", "))
}

// missing reports whether a metric is among those that could not be compared.
func missing(uncompared []string, metric string) bool {
	return slices.ContainsFunc(uncompared, func(s string) bool { return strings.HasPrefix(s, metric+" ") })
}

func (d *Decision) pending(reason, text string) {
	d.Verdict.Outcome = PendingStill
	d.Verdict.PendingReason = reason
	d.Verdict.Reason = text
}

// result is the case result without a status.
func (x Replayed) result() CaseResult {
	return CaseResult{CaseID: x.Case.ID, RunID: x.RunID, Kind: x.Case.Kind, Reason: x.Error, Baseline: x.Case.Baseline,
		Scores: x.Scores, Deltas: Deltas(x.Case.Baseline, x.Scores), Read: x.Read,
		Infrastructure: x.Infrastructure, Usage: x.Usage, ElapsedMS: x.ElapsedMS}
}

// improvement judges a failure case by the first preferred metric that was
// measured, or by any metric when none was.
func improvement(deltas map[string]float64, preference []string, margin float64) (target string, improved bool) {
	for _, m := range preference {
		if delta, ok := deltas[m]; ok {
			return m, delta >= margin
		}
	}
	for _, delta := range deltas {
		if delta >= margin {
			return "", true
		}
	}
	return "", false
}
