package cli

import (
	"github.com/spf13/cobra"

	"vise/engine/evidence"
	"vise/engine/validate"
)

func (a *app) validateCmd() *cobra.Command {
	var untilIdle bool
	var id string
	c := &cobra.Command{
		Use: "validate", Short: "Let evidence decide the candidates", Args: cobra.NoArgs,
		Long: "Run one validation round over all candidates: matching failing cases and protected wins are replayed\n" +
			"through your agent with only that candidate visible, and the change of the scores decides. With\n" +
			"--until-idle rounds go on until nothing more can be decided. Exit code 4: candidates remain undecided.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx := cmd.Context()
			if untilIdle && id != "" {
				return usagef("validate: --until-idle and --rule exclude each other")
			}
			return a.withHarness(ctx, needs{mayAgent: true, narrate: true}, func(h *harness) error {
				var rounds []validate.Round
				var err error
				switch {
				case id != "":
					var r validate.Round
					r, err = h.Validate(ctx, id)
					rounds = append(rounds, r)
				case untilIdle:
					rounds, err = h.ValidateUntilIdle(ctx)
				default:
					var r validate.Round
					r, err = h.Validate(ctx)
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
	c.Flags().StringVar(&id, "rule", "", "only this candidate")
	return c
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
			if err := a.out.object("vise.verdict/1", v); err != nil {
				return err
			}
			continue
		}
		a.out.printf("")
		a.out.printf("rule %s", id)
		a.printVerdict(v)
	}
	if len(order) == 0 && !a.json {
		a.out.printf("no candidates to validate")
	}
	if open > 0 {
		return &exitErr{exitInconclusive, undecided(open)}
	}
	return a.out.err
}
