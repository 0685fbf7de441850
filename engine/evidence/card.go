package evidence

import (
	"fmt"
	"slices"
	"strings"

	"vise/engine/rule"
)

// Verdict puts a finding into a verdict: outcome, one sentence, a row per case and
// all numbers. Identity, evaluator and totals of the project are the caller's to add.
func (f Finding) Verdict(t Test) Verdict {
	v := Verdict{RuleID: t.RuleID, Outcome: f.Outcome, PendingReason: f.Pending, Validator: "replay", Evidence: "paired",
		Cases: f.cases(t), Excluded: f.Excluded, Usage: f.Cost.Spent, OwnCaseOnly: !t.HeldOut()}
	if !f.Stop {
		v.Outcome, v.PendingReason = PendingStill, TrialInProgress
	}
	numbers := f.Paired
	v.Paired = &numbers
	v.Reason = f.reason()
	return v
}

// reason is the finding in one sentence.
func (f Finding) reason() string {
	tally := fmt.Sprintf("better in %d of %d pairs, worse in %d", f.Better, f.Counted, f.Worse)
	effect := ""
	if f.Metric != "" {
		effect = fmt.Sprintf(", %s %+.2f on average", f.Metric, f.Effect.Mean)
	}
	switch {
	case f.Pending == CandidateNotExercised:
		return fmt.Sprintf("the rule was read in %d of %d runs", f.Exposure.Read, f.Exposure.Runs)
	case f.Pending == WinHarmed:
		return fmt.Sprintf("protected wins get worse with it: %s (%s)", strings.Join(f.WinsHarmed, ", "), tally)
	case f.Pending == NeedsTwoCases:
		return "a rule for every task needs a gain on two distinct cases, and it has one (" + tally + ")"
	case f.Pending == Infrastructure:
		return fmt.Sprintf("%s lost to infrastructure: %s", plural(f.Excluded, "pair"), f.losses())
	case f.Outcome == Promote:
		return tally + effect
	case f.Outcome == Retire && f.EHarm >= f.Threshold:
		return fmt.Sprintf("harmful: worse in %d of %d pairs, better in %d%s", f.Worse, f.Counted, f.Better, effect)
	case f.Outcome == Retire:
		return fmt.Sprintf("no gain in %d pairs, and %+.0f tokens a run", f.Counted, f.Cost.Tokens.Mean)
	case f.Futile:
		return "given up early: " + tally + effect
	case f.Pending == Inconclusive && f.Unreachable:
		return fmt.Sprintf("neither help nor harm shown: %s%s; stopped after %d of %d pairs, as those left could not decide", tally, effect, f.Counted, f.Cap)
	case f.Pending == Inconclusive:
		return "neither help nor harm shown: " + tally + effect
	}
	return "under way: " + tally + effect
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// losses names what pairs were lost to, with how often.
func (f Finding) losses() string {
	n := map[string]int{}
	for _, p := range f.Pairs {
		if p.Excluded != "" {
			n[p.Excluded]++
		}
	}
	var out []string
	for why, times := range n {
		out = append(out, fmt.Sprintf("%s %d", strings.ReplaceAll(why, "_", " "), times))
	}
	slices.Sort(out)
	return strings.Join(out, ", ")
}

// cases is a row per case: the means over its pairs.
func (f Finding) cases(t Test) []CaseResult {
	out := []CaseResult{}
	for _, c := range t.Cases {
		r := CaseResult{CaseID: c.ID, Kind: c.Kind, Baseline: map[string]float64{}, Scores: map[string]float64{}, Deltas: map[string]float64{}}
		n := map[string]float64{}
		counted, lost, read, better, worse, grade := 0, 0, 0, 0, 0, 0.0
		for _, p := range f.Pairs {
			if p.CaseID != c.ID {
				continue
			}
			r.RunID = p.Treatment.RunID
			r.Usage = r.Usage.Add(p.Control.Usage).Add(p.Treatment.Usage)
			r.ElapsedMS += p.Control.ElapsedMS + p.Treatment.ElapsedMS
			if p.Excluded != "" {
				lost++
				continue
			}
			counted++
			if p.Treatment.Read {
				read++
			}
			for _, m := range shared(p.Control.Scores, p.Treatment.Scores) {
				n[m]++
				r.Baseline[m] += p.Control.Scores[m]
				r.Scores[m] += p.Treatment.Scores[m]
			}
			g := p.Credit
			if c.Kind == Win {
				g = 0
				for _, m := range shared(p.Control.Scores, p.Treatment.Scores) {
					g += p.Guard[m] / float64(len(p.Guard))
				}
			} else {
				r.Target = p.Metric
			}
			grade += g
			switch {
			case g > 0:
				better++
			case g < 0:
				worse++
			}
		}
		for m, k := range n {
			r.Baseline[m] /= k
			r.Scores[m] /= k
			r.Deltas[m] = r.Scores[m] - r.Baseline[m]
		}
		r.Read = counted > 0 && 2*read >= counted
		r.Reason = fmt.Sprintf("%s: %d better, %d worse", plural(counted, "pair"), better, worse)
		if lost > 0 {
			r.Reason += fmt.Sprintf(", %d left out", lost)
		}
		switch {
		case counted == 0:
			r.Status, r.Reason = StatusInconclusive, fmt.Sprintf("no pair counted, %d left out", lost)
			if lost == 0 {
				continue // it never had its turn
			}
		case c.Kind == Win && slices.Contains(f.WinsHarmed, c.ID):
			r.Status = StatusRegressed
		case c.Kind == Win:
			r.Status = StatusUnchanged
		case grade <= -1:
			r.Status = StatusRegressed
		case grade >= 1:
			r.Status = StatusImproved
		default:
			r.Status = StatusNoGain
		}
		out = append(out, r)
	}
	return out
}

// Card is a verdict in words that a person can act on.
type Card struct {
	// Found is what was found, Sure how sure that is, Next what to do; one sentence each.
	Found string `json:"found"`
	Sure  string `json:"sure"`
	Next  string `json:"next"`
}

// Card words the verdict.
func (v Verdict) Card() Card { return Card{Found: v.found(), Sure: v.sure(), Next: v.next()} }

func (v Verdict) found() string {
	switch {
	case v.Outcome == Promote:
		return "It helps: " + v.Reason + "."
	case v.Outcome == Retire && v.Validator == "forward_trial":
		return "It did not help in live sessions: " + v.Reason + "."
	case v.Outcome == Retire:
		return "It is not worth keeping: " + v.Reason + "."
	}
	return "It is open: " + v.Reason + "."
}

func (v Verdict) sure() string {
	switch {
	case v.Validator == "forward_trial":
		return "Weak: breaches of live sessions before and after the rule; nothing was run without it."
	case v.Evidence == "deterministic" && v.Outcome == PendingStill:
		return "Two runs without the rule did the same in every turn; the one with it decides nothing."
	case v.Evidence == "deterministic":
		s := "Two runs without the rule and three with it did the same in every turn, with the stored scores, so they decide. What fails rarely may not show in so few."
		if v.OwnCaseOnly {
			s += " Own case only: no other case took part, so it may fit nothing but the case it was written from."
		}
		return s
	case v.Evidence == "seed":
		return "One replay per case against its stored scores: sure only if agent and evaluator repeat themselves."
	case v.Paired == nil:
		return "Nothing was measured yet."
	}
	p := v.Paired
	e := func(x float64) string {
		if x >= 1000 {
			return "over 1000"
		}
		return fmt.Sprintf("%.1f", x)
	}
	one := fmt.Sprintf("one in %.0f", p.Threshold)
	var s string
	switch {
	case v.Outcome == Promote:
		s = fmt.Sprintf("Evidence %s of %.0f: a rule that does nothing gets this far in %s tests at most.", e(p.TopGain), p.Threshold, one)
	case v.Outcome == Retire && p.EHarm >= p.Threshold:
		s = fmt.Sprintf("Evidence of harm %s of %.0f: a rule that does nothing gets this far in %s tests at most.", e(p.EHarm), p.Threshold, one)
	case v.Outcome == Retire:
		s = fmt.Sprintf("Effect %s, so a gain of the promote margin is excluded; evidence of more cost %s of %.0f.", p.Effect.words(), e(p.ECost), p.Threshold)
	case v.PendingReason == WinHarmed:
		s = fmt.Sprintf("Evidence of harm to wins %s of %.0f; of a gain on failures %s.", e(p.EGuard), p.Threshold, e(p.TopGain))
	default:
		s = fmt.Sprintf("Evidence of a gain %s, of harm %s, %.0f decides; effect %s.", e(p.EGain), e(p.EHarm), p.Threshold, p.Effect.words())
	}
	if p.Profile == Quick {
		s += " Quick profile."
	}
	if v.OwnCaseOnly {
		s += " Own case only."
	}
	return s
}

func (i Interval) words() string {
	if i.N == 0 {
		return "unknown"
	}
	return fmt.Sprintf("%+.2f [%+.2f, %+.2f]", i.Mean, i.Low, i.High)
}

// NextFor is Card.Next for a rule as it is now: a person, or a later verdict, may have
// moved it since.
func (v Verdict) NextFor(now rule.Status) string {
	was := map[Outcome]string{Promote: "promoted", Retire: "retired"}[v.Outcome]
	switch {
	case v.Outcome == Promote && now == rule.Active, v.Outcome == Retire && now == rule.Retired:
		return v.next()
	case v.Outcome != Promote && v.Outcome != Retire && now != rule.Retired:
		return v.next()
	}
	if was == "" {
		was = "left open"
	}
	since := "It was " + was + " then, and is "
	switch now {
	case rule.Candidate:
		return since + "a candidate again since: vise validate --rule " + v.RuleID + " tests it anew."
	case rule.Active:
		return since + "in force since: vise rules retest " + v.RuleID + " queues a new test."
	case rule.Retired:
		return since + "retired since: vise rules restore " + v.RuleID + " makes it a candidate again."
	}
	return v.next()
}

// next is what a person can do now.
func (v Verdict) next() string {
	switch v.Outcome {
	case Promote:
		if v.OwnCaseOnly {
			return "It is active. To see whether it holds elsewhere, score another recording that fails like this: vise replay --recorded SESSION."
		}
		return "It is active; nothing to do."
	case Retire:
		return "It is retired; vise rules restore " + v.RuleID + " makes it a candidate again."
	}
	switch v.PendingReason {
	case NoHeldOutCase:
		return "Import another session that fails the same way and score it (vise replay --recorded SESSION), then validate again; or accept what its own case shows: vise validate --rule " + v.RuleID + " --own-case."
	case Inconclusive:
		if v.Paired != nil && v.Paired.Futile {
			return "It shows no sign of helping: reword the rule, or retire it: vise rules retire " + v.RuleID + ". The same test is not run again."
		}
		if v.Paired != nil && v.Paired.Profile == Quick {
			return "The same test is not run again by itself. The quick profile ends within 12 pairs; validate --profile full goes on with them, or reword the rule, or retire it: vise rules retire " + v.RuleID + "."
		}
		if v.Paired != nil && v.Paired.Unreachable {
			return fmt.Sprintf("It stopped since even the best %s left could not have decided. What would help: more pairs (validate.pairs_cap above %d goes on with these), a measured noise scale (vise noise), another wording; or retire it: vise rules retire %s.",
				plural(v.Paired.Cap-v.Paired.Counted, "pair"), v.Paired.Cap, v.RuleID)
		}
		return "The same test is not run again by itself, as that would raise the error rate: raise validate.pairs_cap to go on with it, reword the rule, or retire it: vise rules retire " + v.RuleID + "."
	case CandidateNotExercised:
		return "Make the rule easier to find (scope, words of the task) or the agent look for it (agent.preamble); what is never read cannot help."
	case WinHarmed:
		return "Narrow the rule, or retire it: vise rules retire " + v.RuleID + "; vise cases rm CASE gives up a win that no longer matters."
	case NeedsTwoCases:
		return "Import a second session that fails the same way and score it (vise replay --recorded SESSION), then validate again; or give the rule a scope."
	case Infrastructure, ReplayInconclusive, EnvWaitTimeout:
		return "See why runs were lost (vise doctor, .vise/logs), then validate again: the test goes on where it is."
	case MetricInforms:
		return "Give a verifier that judges outcomes (evaluate.verifier), or measure again: vise noise."
	case RoundBudgetExhausted:
		return "Validate again: the test goes on where it is."
	case ContradictsActive:
		return "Read both and retire the one that should not hold (vise rules retire RULE), then validate again."
	case NoReplayableCase:
		return "Replay a session that fails this way, so that a case is captured; until then live sessions decide."
	}
	return "Validate again, or let live sessions go on."
}
