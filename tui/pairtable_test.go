package tui

import (
	"fmt"
	"testing"

	"vise/engine/event"
	"vise/engine/evidence"
	"vise/engine/rule"
	"vise/engine/score"
	"vise/store"
	"vise/tui/action"
)

// pairedVerdict is the verdict of a test in which a rule helped a failure and left a win alone.
func pairedVerdict() evidence.Verdict {
	t := evidence.Test{ID: "t-1", RuleID: "r-1", Profile: evidence.Full, Threshold: 20, Cap: 30, Margin: 0.05, Draw: "r-1/1",
		Preference: []string{score.ArgumentCorrectness},
		Cases:      []evidence.TestCase{{ID: "c-fail", Kind: evidence.Failure}, {ID: "c-win", Kind: evidence.Win}}}
	var pairs []evidence.Pair
	for {
		s, ok := t.Next(pairs, nil)
		if !ok {
			break
		}
		control, treatment := 0.64, 1.0
		if s.Case.Kind == evidence.Win {
			control = 1
		}
		arm := func(v float64) evidence.Arm {
			return evidence.Arm{RunID: fmt.Sprint("run-", s.Number), Scores: map[string]float64{score.ArgumentCorrectness: v}, Offered: true, Read: true, Steps: 9, ElapsedMS: 40}
		}
		p := evidence.Pair{TestID: t.ID, RuleID: t.RuleID, Number: s.Number, CaseID: s.Case.ID, Kind: s.Case.Kind, Order: s.Order, Control: arm(control), Treatment: arm(treatment)}
		if s.Number == 4 {
			p.Treatment.Infrastructure = "provider"
		}
		p.Judge(t.Preference, nil)
		pairs = append(pairs, p)
	}
	f := evidence.Weigh(t, pairs)
	f.Tests, f.Bound = 3, 0.15
	v := f.Verdict(t)
	v.ID, v.At, v.Agent, v.Applied = "v-1", noon, "scripted", true
	v.Identity = &evidence.Identity{Agent: "scripted 0123456789abcdef", Evaluator: "local/1", Rules: "fedcba9876543210", Seed: 1}
	return v
}

// A paired test while it runs, its verdict, and one key away all it was computed from.
func TestPairedVerdict(t *testing.T) {
	d := newDesk(t, false)
	d.size(PaneValidation, 130, 36)
	v := pairedVerdict()
	if v.Outcome != evidence.Promote || v.Excluded != 1 {
		t.Fatalf("%s, %d left out: %s", v.Outcome, v.Excluded, v.Reason)
	}
	d.put(func(tx *store.Tx) error {
		for _, c := range []evidence.Case{{ID: "c-fail", SessionID: "s-1", Kind: evidence.Failure}, {ID: "c-win", SessionID: "s-2", Kind: evidence.Win}} {
			if err := tx.PutCase(c); err != nil {
				return err
			}
		}
		return tx.PutRule(rule.Rule{ID: "r-1", CreatedAt: "2026-03-16T12:00:00Z", Text: "Pass the reason code.", Status: rule.Candidate, Scope: "refunds"})
	})
	d.activity(Activity{Kind: Validating})
	emit := func(e event.Event) { d.put(func(tx *store.Tx) error { return tx.Emit(e) }) }
	emit(event.Event{Type: event.ValidationRoundStarted, Data: map[string]any{"queued": []string{"r-1"}}})
	emit(event.Event{Type: event.ValidationCandidate, RuleID: "r-1", Data: map[string]any{"validator": "replay"}})
	d.bus.Publish(event.Event{Type: event.ValidationProgress, RuleID: "r-1", Data: map[string]any{"cases": []string{"c-fail", "c-win"}}})
	for i, p := range v.Paired.Pairs[:4] {
		data := map[string]any{"pair": p.Number, "kind": p.Kind, "read": true, "counted": i, "cap": 30, "e_gain": 1.5, "e_harm": 0.5, "threshold": 20.0}
		switch {
		case p.Excluded != "":
			data["excluded"] = p.Excluded
		case p.Kind == evidence.Win:
			data["guard"], data["e_guard"] = p.Guard, 1.0
		default:
			data["metric"], data["control"], data["treatment"], data["credit"] = p.Metric, 0.64, 1.0, p.Graded
		}
		emit(event.Event{Type: event.ValidationPair, RuleID: "r-1", CaseID: p.CaseID, Data: data})
	}
	d.pump()
	d.sees(PaneValidation, "2 pairs: 2 better, 0 worse, 1 left out", "evidence of a gain 1.5", "3 of at most 30 pairs")
	d.goldens("paired-running", PaneValidation)

	d.put(func(tx *store.Tx) error {
		if err := tx.PutVerdict(v); err != nil {
			return err
		}
		if err := tx.PutRule(rule.Rule{ID: "r-1", CreatedAt: "2026-03-16T12:00:00Z", Text: "Pass the reason code.", Status: rule.Active, Scope: "refunds"}); err != nil {
			return err
		}
		return tx.Emit(event.Event{Type: event.ValidationVerdict, RuleID: "r-1", Data: map[string]any{"outcome": "promote", "verdict_id": "v-1", "reason": v.Reason}})
	})
	d.activity(Activity{})
	d.pump()
	d.sees(PaneValidation, "promoted by replay: better in 7 of 7 pairs", "control", "It is active; nothing to do")
	d.goldens("paired-promoted", PaneValidation)
	p := d.panes[PaneValidation]
	p.Do(d.ctx, action.Toggle)
	d.sees(PaneValidation, "one in 20 tests", "gain 28", "left out: provider", "test 3 of the project")
	d.goldens("paired-numbers", PaneValidation)
	p.Do(d.ctx, action.Toggle)
	d.sees(PaneValidation, "7 better, 0 worse")
}
