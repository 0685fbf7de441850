package tui

import (
	"slices"

	tea "charm.land/bubbletea/v2"

	"vise/engine"
	"vise/engine/event"
	"vise/engine/evidence"
	"vise/engine/rule"
	"vise/store"
)

// validationData is a verdict of a rule with its cases.
type validationData struct {
	rule    rule.Rule
	found   bool
	verdict evidence.Verdict
	decided bool
	cases   map[string]evidence.Case
	past    []pastVerdict // newest first
	live    bool          // read for the trial that is running
	stopped string        // how the last round was cancelled; "" when it was not
	// differs is where runs without and with the rule first did something else.
	differs []engine.CaseDivergence
	noise   evidence.Measured
}

// pastVerdict is a verdict as the journal tells of it.
type pastVerdict struct {
	id, rule, outcome, result, reason, at string
}

// pastVerdicts reads the verdicts out of the journal, newest first. One that only
// repeats that a rule is as open as before is not told again.
func pastVerdicts(events []event.Event) []pastVerdict {
	var out []pastVerdict
	newer := map[string]int{} // rule → its verdict before this one, in out
	for _, e := range events {
		text := func(name string) string { s, _ := e.Data[name].(string); return s }
		v := pastVerdict{id: text("verdict_id"), rule: e.RuleID, outcome: text("outcome"), result: text("result"), reason: text("reason"), at: clock(e.At)}
		if i, ok := newer[v.rule]; ok && v.outcome == string(evidence.PendingStill) && out[i].outcome == v.outcome && out[i].reason == v.reason {
			out[i] = v // the first one is what the store keeps
			continue
		}
		newer[v.rule] = len(out)
		out = append(out, v)
	}
	return out
}

// stoppedRound says how and when the last round of validation was cancelled: by the
// person, or because the program ended; "" when it ended by itself or another has begun
// since.
func stoppedRound(tx *store.Tx) (string, error) {
	last, err := tx.LastEvents(1, event.ValidationRoundStarted, event.ValidationRoundEnded)
	if err != nil || len(last) == 0 || last[0].Data["cancelled"] != true {
		return "", err
	}
	if last[0].Data["why"] == errStopped.Error() {
		return "stopped by you at " + clock(last[0].At), nil
	}
	return "cut short at " + clock(last[0].At) + ", when vise ended", nil
}

func (p *validationPane) ask(ctx *Context) tea.Cmd {
	ruleID, verdictID, live := ctx.Scope.Rule, ctx.Scope.Verdict, p.live.rule
	p.asked = ruleID + "|" + verdictID
	planned := slices.Clone(p.live.planned)
	return p.q.ask(ctx, func(tx *store.Tx) (d validationData, err error) {
		events, err := tx.LastEvents(validationPast, event.ValidationVerdict)
		if err != nil {
			return d, err
		}
		d.past = pastVerdicts(events)
		if d.stopped, err = stoppedRound(tx); err != nil {
			return d, err
		}
		d.live = live != ""
		switch {
		case live != "":
			ruleID = live
		case verdictID != "":
			if d.verdict, d.decided, err = tx.Verdict(verdictID); err != nil {
				return d, err
			}
			// A rule that was chosen since wants its own verdict.
			if d.decided && ruleID != "" && d.verdict.RuleID != ruleID {
				d.decided = false
			}
		}
		if !d.live && !d.decided && ruleID != "" {
			list, err := tx.Verdicts(ruleID)
			if err != nil {
				return d, err
			}
			if n := len(list); n > 0 {
				d.verdict, d.decided = list[n-1], true
			}
		}
		if !d.live && !d.decided && ruleID == "" && len(d.past) > 0 {
			if d.verdict, d.decided, err = tx.Verdict(d.past[0].id); err != nil {
				return d, err
			}
		}
		if d.decided {
			ruleID = d.verdict.RuleID
		}
		if ruleID != "" {
			if d.rule, d.found, err = tx.Rule(ruleID); err != nil {
				return d, err
			}
		}
		if d.decided && !d.live {
			if d.differs, err = engine.Divergences(tx, d.verdict); err != nil {
				return d, err
			}
			if d.noise, _, err = tx.Noise(); err != nil {
				return d, err
			}
		}
		d.cases = map[string]evidence.Case{}
		for _, c := range d.verdict.Cases {
			planned = append(planned, c.CaseID)
		}
		for _, id := range planned {
			c, ok, err := tx.Case(id)
			if err != nil {
				return d, err
			}
			if ok {
				d.cases[id] = c
			}
		}
		return d, nil
	})
}
