package cli

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"vise/engine/evidence"
	"vise/engine/validate"
)

func (a *app) validateCmd() *cobra.Command {
	var untilIdle, actives bool
	var id string
	var o validate.Options
	c := &cobra.Command{
		Use: "validate", Short: "Let evidence decide the candidates", Args: cobra.NoArgs,
		Long: "Run one validation round over all candidates: matching failing cases and protected wins are replayed\n" +
			"through your agent without and with that candidate, and the difference of the outcomes decides\n" +
			"(validate.evidence says how). With --until-idle rounds go on until nothing more can be decided. A test\n" +
			"that is cut off by --budget or by a signal goes on where it was. Exit code 4: candidates remain undecided.\n" +
			"--actives tests the rules in force again, each left out of its control runs: one that does harm is retired,\n" +
			"one that does not help any more is flagged (exit code 3 for both).",
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx := cmd.Context()
			if untilIdle && id != "" {
				return usagef("validate: --until-idle and --rule exclude each other")
			}
			if untilIdle && actives {
				return usagef("validate: --until-idle and --actives exclude each other; until idle makes the queued tests too")
			}
			switch {
			case o.Budget < 0:
				return usagef("validate: --budget %s: give a positive duration, such as 10m", o.Budget)
			case o.Profile != "" && o.Profile != evidence.Full && o.Profile != evidence.Quick:
				return usagef("validate: --profile %q: use full or quick", o.Profile)
			case id != "":
				o.Rules = []string{id}
			}
			return a.withHarness(ctx, needs{agent: actives, mayAgent: true, narrate: true}, func(h *harness) error {
				if actives {
					return a.validateActives(ctx, h, o)
				}
				var rounds []validate.Round
				var err error
				if untilIdle {
					rounds, err = h.ValidateRounds(ctx, o)
				} else {
					var r validate.Round
					r, err = h.ValidateRound(ctx, o)
					rounds = append(rounds, r)
				}
				if err != nil {
					return err
				}
				return a.validated(rounds)
			})
		},
	}
	c.Flags().BoolVar(&untilIdle, "until-idle", false, "run rounds until nothing more can be decided")
	c.Flags().StringVar(&id, "rule", "", "only this candidate; with --actives: only this rule in force")
	c.Flags().BoolVar(&actives, "actives", false, "test the rules in force again, each left out of its control runs")
	c.Flags().DurationVar(&o.Budget, "budget", 0, "time for the round, shared out over the candidates (validate.round_budget)")
	c.Flags().BoolVar(&o.OwnCase, "own-case", false, "accept what the case shows that a rule was written from")
	c.Flags().StringVar(&o.Profile, "profile", "", "full or quick (validate.profile)")
	return c
}

// validateActives tests rules in force again. A rule that was refuted is exit code 3,
// one that stays undecided 4.
func (a *app) validateActives(ctx context.Context, h *harness, o validate.Options) error {
	r, err := h.ValidateActives(ctx, o)
	if err != nil {
		return err
	}
	if len(r.Verdicts) == 0 && r.Stopped == "" && !a.json {
		a.out.printf("no active rules to test")
		return a.out.err
	}
	err = a.validated([]validate.Round{r})
	if n := r.Retired + r.Flagged; n > 0 {
		return gatef("validate: %s of %d in force did not hold: %d retired, %d flagged", counted(n, "rule"), len(r.Verdicts), r.Retired, r.Flagged)
	}
	return err
}

// validated prints the last verdict of every candidate and tells whether one is left undecided.
func (a *app) validated(rounds []validate.Round) error {
	last := map[string]evidence.Verdict{}
	var order []string
	for _, r := range rounds {
		for _, v := range r.Verdicts {
			if _, seen := last[v.RuleID]; !seen {
				order = append(order, v.RuleID)
			}
			last[v.RuleID] = v
		}
	}
	open := 0
	for _, id := range order {
		v := last[id]
		if v.Outcome == evidence.PendingStill {
			open++
		}
		if a.json {
			if err := a.out.object("vise.verdict/1", told(v)); err != nil {
				return err
			}
			continue
		}
		a.out.printf("")
		a.out.printf("rule %s", id)
		a.printVerdict(v, v.Card(), false)
	}
	if said, stopped := validate.Told(rounds); stopped {
		return &exitErr{exitInconclusive, errors.New("validate: " + said)}
	}
	if len(order) == 0 && !a.json {
		a.out.printf("no candidates to validate")
	}
	if open > 0 {
		return &exitErr{exitInconclusive, undecided(open)}
	}
	return a.out.err
}
