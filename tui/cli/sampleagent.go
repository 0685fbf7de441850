package cli

import (
	"time"

	"github.com/spf13/cobra"

	"vise/replay/sample"
)

// sampleAgentCmd is the other end of the demo: a scripted toy agent that speaks ACP.
func (a *app) sampleAgentCmd() *cobra.Command {
	var noise float64
	var fault string
	var faultTurn int
	var envDelay time.Duration
	var keep string
	var modes bool
	c := &cobra.Command{
		Use: "sample-agent", Short: "The scripted toy agent of the demo (ACP on stdio)", Args: cobra.NoArgs, Hidden: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if noise < 0 || noise > 1 {
				return usagef("--noise %v: give a probability from 0 to 1", noise)
			}
			return sample.Run(cmd.Context(), a.in, a.out, a.errw, sample.Options{Noise: noise, Seed: a.getenv("VISE_RUN_SEED"),
				Fault: sample.Fault(fault), FaultTurn: faultTurn, EnvDelay: envDelay, Keep: keep, Modes: modes, Environ: a.env})
		},
	}
	c.Flags().Float64Var(&noise, "noise", 0, "probability of a random failure per refund, drawn from VISE_RUN_SEED")
	c.Flags().StringVar(&fault, "fault", "", "misbehave in one turn, for tests of those who drive agents")
	c.Flags().IntVar(&faultTurn, "fault-turn", 0, "the turn, from 0")
	c.Flags().DurationVar(&envDelay, "env-delay", 0, "time that the environment takes to come up, in the first turn")
	c.Flags().StringVar(&keep, "keep", "", "folder in which sessions are kept, so that they can be loaded")
	c.Flags().BoolVar(&modes, "modes", false, "offer two modes, desk and terse")
	return c
}
