package validate

import (
	"context"
	"fmt"

	"vise/engine/event"
	"vise/engine/evidence"
	"vise/store"
)

// planned tells whoever watches which cases are going to be replayed.
func (v *Validator) planned(ctx context.Context, ruleID string, cases []evidence.Case) error {
	ids := make([]string, len(cases))
	for i, c := range cases {
		ids[i] = c.ID
	}
	return v.progress(ctx, event.Event{RuleID: ruleID, Data: map[string]any{"cases": ids}})
}

// replayed tells what one replay brought before all of them are decided together.
func (v *Validator) replayed(ctx context.Context, ruleID string, x evidence.Replayed) error {
	data := map[string]any{"baseline": x.Case.Baseline, "scores": x.Scores, "deltas": evidence.Deltas(x.Case.Baseline, x.Scores), "read": x.Read}
	if x.Error != "" {
		data["error"] = short(x.Error, 300)
	}
	return v.progress(ctx, event.Event{RuleID: ruleID, CaseID: x.Case.ID, RunID: x.RunID, Data: data})
}

func (v *Validator) progress(ctx context.Context, e event.Event) error {
	e.Type = event.ValidationProgress
	if err := v.Store.Bulk(ctx, func(tx *store.Tx) error { return tx.Emit(e) }); err != nil {
		return fmt.Errorf("validate rule %s: %w", e.RuleID, err)
	}
	return nil
}
