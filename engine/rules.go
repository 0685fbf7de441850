package engine

import (
	"context"
	"fmt"
	"strings"

	"vise/engine/event"
	"vise/engine/guard"
	"vise/engine/repair"
	"vise/engine/rule"
	"vise/store"
)

// Reasons of a rule's status that are a person's.
const (
	byPerson         = "by a person: "
	restoredByPerson = "restored by a person"
)

// RetireRule retires a live rule on a person's word.
func (h *Harness) RetireRule(ctx context.Context, id, why string) error {
	return h.moveRule(ctx, "retire", id, func(r *rule.Rule) (event.Event, error) {
		if !r.Live() {
			return event.Event{}, fmt.Errorf("rule %s is %s already", id, r.Status)
		}
		r.Status, r.Reason = rule.Retired, byPerson+guard.Line(why, 300)
		return event.Event{Type: event.RuleRetire, RuleID: id, Data: map[string]any{"by": "person", "reason": guard.Line(why, 300)}}, nil
	})
}

// RestoreRule makes a retired rule a candidate again, with a new trial. Only
// validation can make it active.
func (h *Harness) RestoreRule(ctx context.Context, id string) error {
	return h.moveRule(ctx, "restore", id, func(r *rule.Rule) (event.Event, error) {
		if r.Live() {
			return event.Event{}, fmt.Errorf("rule %s is %s", id, r.Status)
		}
		r.Status, r.Reason, r.VerdictID, r.Flag = rule.Candidate, restoredByPerson, "", nil
		trial := rule.Trial{StartedAt: h.now(), TracksReads: true}
		if r.Trial != nil {
			trial.BaselineBreachedSessions, trial.BaselineSessions = r.Trial.BaselineBreachedSessions, r.Trial.BaselineSessions
			trial.BaselineWindow = r.Trial.BaselineWindow
		}
		r.Trial = &trial
		return event.Event{Type: event.RuleRestore, RuleID: id, Data: map[string]any{"by": "person"}}, nil
	})
}

// TakeBackMove makes a rule again what it was before a person retired or restored it:
// the newest version of another status, with its reason, verdict, flag and trial. A rule
// does not come back into force when another was promoted since its retirement: evidence
// has judged that one without it.
func (h *Harness) TakeBackMove(ctx context.Context, id string) error {
	err := h.store.Update(ctx, func(tx *store.Tx) error {
		r, ok, err := tx.Rule(id)
		if err != nil {
			return err
		}
		if !ok {
			return fmt.Errorf("no rule %q; vise rules ls lists them", id)
		}
		if r.Reason != restoredByPerson && !strings.HasPrefix(r.Reason, byPerson) {
			return fmt.Errorf("rule %s is %s, and no person moved it there: there is nothing to take back", id, r.Status)
		}
		versions, err := tx.RuleVersions(id)
		if err != nil {
			return err
		}
		i := len(versions) - 1
		for i >= 0 && versions[i].Status == r.Status {
			i--
		}
		if i < 0 {
			return fmt.Errorf("rule %s was never anything but %s", id, r.Status)
		}
		was := versions[i]
		e := event.Event{Type: event.RuleRestore, RuleID: id, Data: map[string]any{"by": "person", "status": string(was.Status), "taken_back": true}}
		switch was.Status {
		case rule.Active:
			if err := nonePromotedSince(tx, id); err != nil {
				return err
			}
		case rule.Retired:
			e.Type, e.Data["reason"] = event.RuleRetire, was.Reason
		}
		if err := tx.PutRule(was); err != nil {
			return err
		}
		return tx.Emit(e)
	})
	if err != nil {
		return fmt.Errorf("take back the move of a rule: %w", err)
	}
	return nil
}

// nonePromotedSince reports an error when a rule was promoted after the last retirement
// of a rule.
func nonePromotedSince(tx *store.Tx, id string) error {
	const looked = 10_000
	last, err := tx.LastEvents(looked, event.RuleRetire, event.RulePromote)
	if err != nil {
		return err
	}
	for _, e := range last {
		if e.Type == event.RuleRetire && e.RuleID == id {
			return nil
		}
		if e.Type == event.RulePromote {
			return fmt.Errorf("rule %s was promoted since %s was retired: it comes back as a candidate only (vise rules restore %s), and evidence decides", e.RuleID, id, id)
		}
	}
	return fmt.Errorf("the retirement of %s is too long ago: it comes back as a candidate only (vise rules restore %s)", id, id)
}

// EditRule stores a person's wording of a rule as a new candidate, which validation
// judges like any other; the rule that it comes from stays what it is. why may be "".
func (h *Harness) EditRule(ctx context.Context, id, text, why string) (rule.Rule, error) {
	var r rule.Rule
	err := h.store.Update(ctx, func(tx *store.Tx) error {
		from, ok, err := tx.Rule(id)
		if err != nil {
			return err
		}
		if !ok {
			return fmt.Errorf("no rule %q; vise rules ls lists them", id)
		}
		r, err = repair.Reword(tx, repairConfig(h.cfg), h.red, from, repair.Edit{Text: text, Why: why, ID: h.store.NewID("r"), Now: h.now()})
		return err
	})
	if err != nil {
		return rule.Rule{}, fmt.Errorf("edit rule: %w", err)
	}
	return r, nil
}

func (h *Harness) moveRule(ctx context.Context, op, id string, move func(*rule.Rule) (event.Event, error)) error {
	left := false
	err := h.store.Update(ctx, func(tx *store.Tx) error {
		r, ok, err := tx.Rule(id)
		if err != nil {
			return err
		}
		if !ok {
			return fmt.Errorf("no rule %q; vise rules ls lists them", id)
		}
		e, err := move(&r)
		if err != nil {
			return err
		}
		if err := tx.PutRule(r); err != nil {
			return err
		}
		left = !r.Live()
		return tx.Emit(e)
	})
	if err != nil {
		return fmt.Errorf("%s rule: %w", op, err)
	}
	if left {
		h.valid.Withdraw(id)
	}
	return nil
}
