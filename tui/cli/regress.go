package cli

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"vise/engine/evidence"
)

func (a *app) regressCmd() *cobra.Command {
	sample := -1
	c := &cobra.Command{
		Use: "regress", Short: "Replay all cases with the active rules and compare with the stored scores", Args: cobra.NoArgs,
		Long: "Replay the protected wins and the captured failures, newest first, with the active rules in force. A case that\n" +
			"got worse is run twice more and judged by the median. Active rules whose cases got worse are flagged; they\n" +
			"stay in force. All turns of a replay count: the last one, and the means of the offline evaluator over all. Exit\n" +
			"code 3: something got worse, cases exist and none could be replayed, or a score of a case could not be compared.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx := cmd.Context()
			if cmd.Flags().Changed("sample") && sample < 0 {
				return usagef("regress: --sample %d: give a number from 0 (all) on", sample)
			}
			return a.withHarness(ctx, needs{mayAgent: true}, func(h *harness) error {
				if sample < 0 {
					sample = h.cfg.Regress.Sample
				}
				r, err := h.Regress(ctx, sample, func(c evidence.CaseResult) {
					if a.json {
						_ = a.out.object("vise.regression_case/1", c)
						return
					}
					a.out.printf("%-10s  %s %-7s  %s", c.Status, c.CaseID, c.Kind, show(caseChanges(c), 400))
				})
				if err != nil {
					return err
				}
				if a.json {
					if err := a.out.object("vise.regression/1", r); err != nil {
						return err
					}
				}
				a.out.printf("%s: %d replayed, %d improved, %d unchanged, %d regressed, %d skipped", counted(r.Total, "case"), r.Replayed, r.Improved, r.Unchanged, r.Regressed, r.Skipped)
				for _, id := range r.Flagged {
					a.out.printf("flagged: rule %s stays in force; vise rules show %s says why, vise validate --actives tests it", id, id)
				}
				for _, id := range r.Cleared {
					a.out.printf("cleared: rule %s; the cases of its flag are unharmed now", id)
				}
				switch {
				case r.Regressed > 0:
					return gatef("regress: %d of %s got worse", r.Regressed, counted(r.Replayed, "replayed case"))
				case r.Uncompared > 0:
					return gatef("regress: %s not fully comparable with the stored scores, so nothing is known about %s; repair the evaluator or the verifier; when it was changed on purpose, score the session again (vise replay --recorded SESSION) and protect it again (vise cases protect SESSION)", counted(r.Uncompared, "case"), them(r.Uncompared))
				case !r.Clean:
					return gatef("regress: nothing was replayed, so this shows nothing; see the reasons above")
				}
				return a.out.err
			})
		},
	}
	c.Flags().IntVar(&sample, "sample", -1, "at most N cases; 0 = all (default: regress.sample)")
	return c
}

// caseChanges is what a replay moved, or why there is none.
func caseChanges(c evidence.CaseResult) string {
	var parts []string
	for _, m := range slices.Sorted(maps.Keys(c.Deltas)) {
		if c.Deltas[m] != 0 {
			parts = append(parts, fmt.Sprintf("%s %.2f → %.2f", m, c.Baseline[m], c.Scores[m]))
		}
	}
	for _, m := range c.Means {
		if m.After != m.Before && c.Deltas[m.Metric] == 0 { // the last turn held, others did not
			parts = append(parts, m.String())
		}
	}
	if len(parts) == 0 && c.Reason == "" {
		return "no score moved"
	}
	if why := c.Reason; why != "" {
		if !strings.Contains(why, " ") { // a code
			why = strings.ReplaceAll(why, "_", " ")
		}
		parts = append(parts, why)
	}
	return strings.Join(parts, ", ")
}

// them is the pronoun of a number of things.
func them(n int) string {
	if n == 1 {
		return "it"
	}
	return "them"
}
