package engine

import (
	"context"
	"fmt"
	"slices"

	"vise/engine/event"
	"vise/engine/evidence"
	"vise/engine/rule"
	"vise/store"
)

// maxJournalled bounds the results that the event of a regression run carries
// (PandaProbe Harness 0.9).
const maxJournalled = 50

// Regression is what a regression run showed.
type Regression struct {
	evidence.RegressionTotals
	// Clean: something was replayed and nothing got worse, or there is no case at all.
	Clean bool `json:"clean"`
	// Flagged are active rules whose cases got worse, Cleared those whose flag fell.
	Flagged []string `json:"flagged"`
	Cleared []string `json:"cleared"`
}

// Regress replays the protected wins and then the captured failures with the active
// rules in force and compares each with its stored scores: wins newest first, then
// failures newest first; sample > 0 keeps that many, 0 all. A case that got worse is
// run twice more and judged by the median, so that one bad run of a noisy agent is no
// regression. The verifier takes part. each is told of every result as it is known.
//
// Active rules of which a case got worse are flagged: they stay in force, and the flag
// falls when a later run shows the same cases unharmed.
func (h *Harness) Regress(ctx context.Context, sample int, each func(evidence.CaseResult)) (Regression, error) {
	fail := func(err error) (Regression, error) { return Regression{}, fmt.Errorf("regress: %w", err) }
	defer h.alone()()
	var cases []evidence.Case
	if err := h.store.View(func(tx *store.Tx) (err error) {
		cases, err = tx.Cases("")
		return err
	}); err != nil {
		return fail(err)
	}
	var seen []evidence.Observed
	for _, c := range evidence.RegressionCases(cases, sample) {
		o, err := h.regressCase(ctx, c)
		if err != nil {
			return fail(err)
		}
		seen = append(seen, o)
		if each != nil {
			each(o.Result)
		}
	}
	results := make([]evidence.CaseResult, len(seen))
	for i, o := range seen {
		results[i] = o.Result
	}
	out := Regression{RegressionTotals: evidence.Totals(results), Flagged: []string{}, Cleared: []string{}}
	out.Clean = out.RegressionTotals.Clean()
	if err := h.store.Update(ctx, func(tx *store.Tx) error {
		out.Flagged, out.Cleared = []string{}, []string{}
		active, err := tx.Rules(rule.Active)
		if err != nil {
			return err
		}
		for _, r := range active {
			flag, clear := evidence.FlagRule(r, seen, h.now())
			if moved, err := setFlag(tx, r, flag, clear); err != nil {
				return err
			} else if moved && flag != nil {
				out.Flagged = append(out.Flagged, r.ID)
			} else if moved {
				out.Cleared = append(out.Cleared, r.ID)
			}
		}
		return tx.Emit(event.Event{Type: event.Regression, Data: map[string]any{
			"total": out.Total, "replayed": out.Replayed, "improved": out.Improved, "unchanged": out.Unchanged, "regressed": out.Regressed,
			"skipped": out.Skipped, "clean": out.Clean, "flagged": out.Flagged, "cleared": out.Cleared, "results": journalled(results)}})
	}); err != nil {
		return fail(err)
	}
	return out, nil
}

// journalled is the bounded form of results in the journal, regressions first.
func journalled(results []evidence.CaseResult) []map[string]any {
	sorted := slices.Clone(results)
	slices.SortStableFunc(sorted, func(a, b evidence.CaseResult) int {
		return b2i(b.Status == evidence.StatusRegressed) - b2i(a.Status == evidence.StatusRegressed)
	})
	out := []map[string]any{}
	for _, r := range sorted[:min(len(sorted), maxJournalled)] {
		x := map[string]any{"case_id": r.CaseID, "status": r.Status, "deltas": r.Deltas}
		if r.Reason != "" {
			x["reason"] = r.Reason
		}
		out = append(out, x)
	}
	return out
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// regressCase replays one case and compares it with its stored scores.
func (h *Harness) regressCase(ctx context.Context, c evidence.Case) (evidence.Observed, error) {
	margins := evidence.Margins{Promote: h.cfg.Validate.PromoteMargin, Regress: h.cfg.Validate.RegressMargin}
	o := evidence.Observed{Case: c}
	if !c.Replayable() || h.replayer == nil {
		o.Result = evidence.JudgeRegression(c, nil, evidence.SkipNoReplay, margins)
		return o, nil
	}
	var runs []map[string]float64
	var spent evidence.CaseResult
	for n := range 1 + evidence.ConfirmRuns {
		r, err := h.rerun(ctx, h.controlJob(c, "regress", n))
		if err != nil {
			return o, err
		}
		o.Read = append(o.Read, r.run.Read...)
		spent.Usage, spent.ElapsedMS = spent.Usage.Add(r.run.Usage), spent.ElapsedMS+r.run.Elapsed.Milliseconds()
		if r.skip == "" || n == 0 {
			spent.RunID, spent.Infrastructure = r.run.RunID, r.run.Infrastructure
			o.Result = evidence.JudgeRegression(c, r.comparable(c), r.skip, margins)
		}
		if r.skip == "" {
			runs = append(runs, r.comparable(c))
			o.Result = evidence.JudgeRegression(c, evidence.Median(runs), "", margins)
		}
		if n == 0 && o.Result.Status != evidence.StatusRegressed {
			break
		}
	}
	if o.Result.Status == evidence.StatusRegressed {
		o.Result.Reason = fmt.Sprintf("median of %d runs", len(runs))
	}
	o.Result.RunID, o.Result.Infrastructure, o.Result.Usage, o.Result.ElapsedMS = spent.RunID, spent.Infrastructure, spent.Usage, spent.ElapsedMS
	return o, nil
}

// setFlag raises or drops the flag of an active rule with its event; moved is false
// when the rule says the same already.
func setFlag(tx *store.Tx, r rule.Rule, flag *rule.Flag, clear bool) (moved bool, err error) {
	e := event.Event{Type: event.RuleFlagged, RuleID: r.ID}
	switch {
	case flag != nil:
		e.Data = map[string]any{"why": flag.Why, "cases": flag.Cases}
	case clear && r.Flag != nil:
		e.Type = event.RuleCleared
		e.Data = map[string]any{"why": r.Flag.Why}
	default:
		return false, nil
	}
	r.Flag = flag
	if err := tx.PutRule(r); err != nil {
		return false, err
	}
	return true, tx.Emit(e)
}
