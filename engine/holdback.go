package engine

import (
	"context"
	"fmt"
	"slices"

	"vise/engine/event"
	"vise/engine/evidence"
	"vise/engine/guard"
	"vise/engine/rule"
	"vise/engine/score"
	"vise/engine/trace"
	"vise/store"
)

// heldBack bounds how many of the newest promotions are held back at a time.
const heldBack = 50

func holdbackName(ruleID string) string { return "holdback/" + ruleID }

// Holdback returns the state of a rule's holdback; false when it has none.
func Holdback(tx *store.Tx, ruleID string) (hb evidence.Holdback, ok bool, err error) {
	ok, err = tx.State(holdbackName(ruleID), &hb)
	return hb, ok, err
}

// HoldbackWords says in a line how a holdback stands.
func HoldbackWords(hb evidence.Holdback) string {
	s := fmt.Sprintf("%d live sessions with the rule, %d without; %d pairs, E for gain %.3g, for harm %.3g of %d", hb.With, hb.Without, len(hb.Graded), hb.Gain, hb.Loss, evidence.HoldbackE)
	switch hb.Ended {
	case evidence.HoldbackHarm:
		return s + "; it did harm and was retired"
	case evidence.HoldbackHelp:
		return s + "; it helps and is not hidden any more"
	case evidence.HoldbackNoHarm:
		return s + "; no harm was shown, it is not hidden any more"
	}
	return s + "; it goes on"
}

// holdbacks are the running ones: of active rules that paired evidence promoted. Where
// agent and evaluator are deterministic nothing is left to find out, and a rule that
// a person or the seed's rule let in has no test to go on with.
func (h *Harness) holdbacks(tx *store.Tx) ([]evidence.Holdback, error) {
	if h.cfg.Validate.Holdback <= 0 || h.cfg.Validate.Evidence == "seed" {
		return nil, nil
	}
	promoted, err := tx.LastEvents(heldBack, event.RulePromote)
	if err != nil {
		return nil, err
	}
	var out []evidence.Holdback
	seen := map[string]bool{}
	for _, e := range promoted {
		if seen[e.RuleID] {
			continue
		}
		seen[e.RuleID] = true
		r, ok, err := tx.Rule(e.RuleID)
		if err != nil {
			return nil, err
		}
		if !ok || r.Status != rule.Active || r.VerdictID == "" {
			continue
		}
		v, ok, err := tx.Verdict(r.VerdictID)
		if err != nil {
			return nil, err
		}
		if !ok || v.Evidence != "paired" {
			continue
		}
		hb, ok, err := Holdback(tx, r.ID)
		if err != nil {
			return nil, err
		}
		if !ok || hb.VerdictID != v.ID { // a new promotion begins a new one
			hb = evidence.Holdback{RuleID: r.ID, VerdictID: v.ID, Started: v.At.UTC().Format(timeText), Hidden: []evidence.Live{}, Shown: []evidence.Live{}, Graded: []float64{}, Gain: 1, Loss: 1}
		}
		if hb.Ended == evidence.HoldbackRunning {
			out = append(out, hb)
		}
	}
	return out, nil
}

// Hidden draws the rules that a live session does not see, so that what promoted them
// goes on being tested: validate.holdback is the share of sessions.
func (h *Harness) Hidden(_ context.Context, s trace.Session) ([]string, error) {
	var ids []string
	if err := h.store.View(func(tx *store.Tx) error {
		list, err := h.holdbacks(tx)
		for _, hb := range list {
			if evidence.Hides(h.cfg.Validate.Seed, s.ID, hb.RuleID, h.cfg.Validate.Holdback) {
				ids = append(ids, hb.RuleID)
			}
		}
		return err
	}); err != nil {
		return nil, fmt.Errorf("draw the holdback of session %s: %w", s.ID, err)
	}
	slices.Sort(ids)
	return ids, nil
}

// observeHoldback takes a live session that ended by itself into the holdbacks of the
// rules, and retires one that did harm.
func (h *Harness) observeHoldback(tx *store.Tx, s trace.Session) error {
	if s.Origin != trace.Live || s.ReplayOf == "" {
		return nil // what a person's own agent may see was never drawn (vise serve)
	}
	list, err := h.holdbacks(tx)
	if err != nil || len(list) == 0 {
		return err
	}
	reports, err := tx.Reports(s.ID, 0, 0)
	if err != nil {
		return err
	}
	m, _, err := tx.Noise()
	if err != nil {
		return err
	}
	for _, hb := range list {
		if s.Started.UTC().Format(timeText) < hb.Started {
			continue // it began before the rule was promoted
		}
		r, _, err := tx.Rule(hb.RuleID)
		if err != nil {
			return err
		}
		metric, value, ok := sessionOutcome(r, reports)
		if !ok {
			continue // nothing was scored: no information
		}
		scale := evidence.DefaultScale
		if x, found := m.Reading(metric); found && x.Agent != nil && m.EvaluatedBy == h.identity() {
			scale = evidence.Scale(x.Agent.SD, x.Agent.Enough())
		}
		hb = hb.Observe(slices.Contains(s.RulesHidden, hb.RuleID), evidence.Live{SessionID: s.ID, Of: s.ReplayOf, Value: value}, scale)
		if err := tx.PutState(holdbackName(r.ID), hb); err != nil {
			return err
		}
		if hb.Ended == evidence.HoldbackRunning {
			continue
		}
		if err := h.endHoldback(tx, r, hb, metric); err != nil {
			return err
		}
	}
	return nil
}

// observeReads notes in the forward trials of candidates that a live session which
// they observe has read them.
func (h *Harness) observeReads(tx *store.Tx, s trace.Session) error {
	if s.Origin != trace.Live {
		return nil
	}
	for _, id := range s.RulesRead {
		r, ok, err := tx.Rule(id)
		if err != nil {
			return err
		}
		if !ok || r.Status != rule.Candidate || r.Trial == nil || !evidence.ObserveRead(r.Trial, s.ID) {
			continue
		}
		if err := tx.PutRule(r); err != nil {
			return err
		}
	}
	return nil
}

// sessionOutcome is the mean over a session's turns of the first metric in the order
// of trust that was scored.
func sessionOutcome(r rule.Rule, reports []score.Report) (metric string, value float64, ok bool) {
	for _, m := range append(evidence.Preference(r, nil), score.TaskCompletion) {
		sum, n := 0.0, 0
		for _, rep := range reports {
			for _, s := range rep.Scores {
				if s.Metric == m && s.Value != nil {
					sum, n = sum+*s.Value, n+1
				}
			}
		}
		if n > 0 {
			return m, sum / float64(n), true
		}
	}
	return "", 0, false
}

// endHoldback journals how a holdback ended and retires the rule when it did harm.
func (h *Harness) endHoldback(tx *store.Tx, r rule.Rule, hb evidence.Holdback, metric string) error {
	what := map[string]string{
		evidence.HoldbackHarm:   "live sessions went better without it",
		evidence.HoldbackHelp:   "live sessions went better with it; it is not hidden any more",
		evidence.HoldbackNoHarm: "live sessions show no harm; it is not hidden any more",
	}[hb.Ended]
	reason := fmt.Sprintf("%s on %s: %d pairs of sessions, E for gain %.3g, for harm %.3g", what, metric, len(hb.Graded), hb.Gain, hb.Loss)
	data := map[string]any{"outcome": hb.Ended, "pairs": len(hb.Graded), "gain": hb.Gain, "loss": hb.Loss, "with": hb.With, "without": hb.Without, "reason": reason}
	if hb.Ended != evidence.HoldbackHarm {
		return tx.Emit(event.Event{Type: event.HoldbackEnded, RuleID: r.ID, Data: data})
	}
	v := evidence.Verdict{ID: h.store.NewID("v"), RuleID: r.ID, At: h.store.Now(), Outcome: evidence.Retire, Validator: "holdback", Evidence: "paired",
		Reason: reason, Cases: []evidence.CaseResult{}, Agent: h.valid.Agent, EvaluatedBy: h.valid.EvaluatedBy, Applied: true}
	if err := tx.PutVerdict(v); err != nil {
		return err
	}
	r.Status, r.Reason, r.VerdictID = rule.Retired, guard.Line(reason, 300), v.ID
	if err := tx.PutRule(r); err != nil {
		return err
	}
	if err := tx.Emit(event.Event{Type: event.HoldbackEnded, RuleID: r.ID, Data: data}); err != nil {
		return err
	}
	return tx.Emit(event.Event{Type: event.RuleRetire, RuleID: r.ID, Data: map[string]any{"scope": r.Scope, "validator": v.Validator, "reason": r.Reason, "verdict_id": v.ID}})
}
