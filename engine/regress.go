package engine

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"vise/engine/event"
	"vise/engine/evidence"
	"vise/engine/guard"
	"vise/engine/rule"
	"vise/engine/trace"
	"vise/store"
)

// maxJournalled bounds the results that the event of a regression run carries
// (PandaProbe Harness 0.9).
const maxJournalled = 50

// Regression is what a regression run showed.
type Regression struct {
	evidence.RegressionTotals
	// Clean: something was replayed, all of it could be compared and nothing got worse, or
	// there is no case at all.
	Clean bool `json:"clean"`
	// Flagged are active rules whose cases got worse, Cleared those whose flag fell.
	Flagged []string `json:"flagged"`
	Cleared []string `json:"cleared"`
}

// Regress replays the protected wins and then the captured failures with the active
// rules in force and compares each with its stored scores: wins newest first, then
// failures newest first; sample > 0 keeps that many, 0 all. A case that got worse is
// run twice more and judged by the median, so that one bad run of a noisy agent is no
// regression. Where the offline evaluator scores, the means over all turns count beside
// the last turn. The verifier takes part. A case of whose baseline a metric cannot be
// scored or compared now is skipped, and the run is not clean. each is told of every result as it is known.
// An agent that cannot be started ends the run with an error, and nothing is journalled or flagged.
//
// Active rules of which a case got worse are flagged: they stay in force, and the flag
// falls when a later run shows the same cases unharmed.
func (h *Harness) Regress(ctx context.Context, sample int, each func(evidence.CaseResult)) (Regression, error) {
	fail := func(err error) (Regression, error) { return Regression{}, fmt.Errorf("regress: %w", err) }
	done, err := h.alone(ctx)
	if err != nil {
		return fail(err)
	}
	defer done()
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
			"skipped": out.Skipped, "uncompared": out.Uncompared, "clean": out.Clean, "flagged": out.Flagged, "cleared": out.Cleared, "results": journalled(results)}})
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
			x["reason"] = guard.Line(r.Reason, 300)
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

// regressCase replays one case and compares it with its stored scores, and the means
// over all its turns with those of the recording.
func (h *Harness) regressCase(ctx context.Context, c evidence.Case) (evidence.Observed, error) {
	margins := evidence.Margins{Promote: h.cfg.Validate.PromoteMargin, Regress: h.cfg.Validate.RegressMargin}
	o := evidence.Observed{Case: c}
	if !c.Replayable() || h.replayer == nil {
		o.Result = evidence.JudgeRegression(c, nil, evidence.SkipNoReplay, margins)
		return o, nil
	}
	before, err := h.recordedTurns(c)
	if err != nil {
		return o, err
	}
	var runs []map[string]float64
	var turns []evidence.TurnScores
	var missed []string
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
			o.Result = evidence.JudgeRegression(c, nil, r.skip, margins)
			if r.skip == evidence.SkipScoring {
				o.Result.Withhold(evidence.Uncompared(c, nil, nil, true))
			}
		}
		if r.skip == "" {
			runs = append(runs, r.comparable(c))
			turns = append(turns, h.turnScores(r.run.Session, r.run.Turns))
			missed = append(missed, evidence.Uncompared(c, r.scores, r.by, calledTool(r.run.Turns))...)
			o.Result = evidence.JudgeRegression(c, evidence.Median(runs), "", margins)
			o.Result.WithMeans(evidence.CompareMeans(before, turns, h.replayMetrics()), margins)
			o.Result.Withhold(stillMissed(missed, o.Result.Scores))
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

// recordedTurns are the offline scores of the turns that a case was made from; nil when
// they are not there any more, when inputs were left out of the case, or when another
// evaluator scores.
func (h *Harness) recordedTurns(c evidence.Case) (evidence.TurnScores, error) {
	if c.ShrunkFrom != "" {
		return nil, nil
	}
	var head trace.Session
	var turns []trace.Turn
	if err := h.store.View(func(tx *store.Tx) (err error) {
		var ok bool
		if head, ok, err = tx.Session(c.SessionID); err == nil && ok {
			turns, err = tx.TurnsBefore(c.SessionID, 0, c.TurnIndex+1)
		}
		return err
	}); err != nil {
		return nil, fmt.Errorf("read the recording of case %s: %w", c.ID, err)
	}
	return h.turnScores(head, turns), nil
}

// calledTool tells whether the last turn of a run called any tool.
func calledTool(turns []trace.Turn) bool {
	return len(turns) > 0 && trace.Count(turns[len(turns)-1:]).Calls > 0
}

// stillMissed keeps what was missed of metrics that the runs together do not have either.
func stillMissed(missed []string, scores map[string]float64) []string {
	slices.Sort(missed)
	return slices.DeleteFunc(slices.Compact(missed), func(s string) bool {
		metric, _, _ := strings.Cut(s, " ")
		_, have := scores[metric]
		return have
	})
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
