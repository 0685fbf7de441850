package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"vise/engine"
	"vise/engine/evidence"
	"vise/store"
)

func (a *app) noiseCmd() *cobra.Command {
	o := engine.NoiseOptions{}
	var last bool
	c := &cobra.Command{
		Use: "noise", Short: "Measure how much scores scatter when nothing changes", Args: cobra.NoArgs,
		Long: "Evaluate stored turns again and, with --runs N, run cases N times through your agent without any\n" +
			"candidate. Shows the standard deviation and the flip rate of every metric, and which metrics may decide:\n" +
			"one that flips in more than 20 % of pairs, or that scores an agent which does nothing as well as yours, may\n" +
			"only inform. The result is stored: with gate.mode = auto the gate goes by it.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx := cmd.Context()
			if last {
				return a.lastNoise(cmd)
			}
			for _, f := range []struct {
				name      string
				n, lo, hi int
			}{{"turns", o.Turns, 1, 1000}, {"repeats", o.Repeats, 2, 20}, {"cases", o.Cases, 1, 100}, {"runs", o.Runs, 0, 100}} {
				if f.n < f.lo || f.n > f.hi {
					return usagef("noise: --%s %d: give a number from %d to %d", f.name, f.n, f.lo, f.hi)
				}
			}
			if o.Runs == 1 {
				return usagef("noise: --runs 1 shows no scatter; give at least 2, or 0 for none")
			}
			return a.withHarness(ctx, needs{agent: o.Runs > 0}, func(h *harness) error {
				m, err := h.MeasureNoise(ctx, o)
				if err != nil {
					return err
				}
				return a.printNoise(m)
			})
		},
	}
	c.Flags().IntVar(&o.Turns, "turns", 20, "evaluate at most N stored turns again, the newest sessions first")
	c.Flags().IntVar(&o.Repeats, "repeats", 3, "evaluations of each turn")
	c.Flags().IntVar(&o.Runs, "runs", 0, "run each case N times through your agent")
	c.Flags().IntVar(&o.Cases, "cases", 3, "with --runs: at most N cases, the newest first")
	c.Flags().BoolVar(&last, "last", false, "show the last measurement instead of measuring")
	return c
}

func (a *app) lastNoise(cmd *cobra.Command) error {
	s, err := a.openRead(cmd.Context())
	if err != nil {
		return err
	}
	defer s.Close()
	var m evidence.Measured
	var ok bool
	if err := s.View(func(tx *store.Tx) (err error) {
		m, ok, err = tx.Noise()
		return err
	}); err != nil {
		return err
	}
	if !ok {
		return fmt.Errorf("nothing was measured yet; vise noise measures")
	}
	return a.printNoise(m)
}

func (a *app) printNoise(m evidence.Measured) error {
	if a.json {
		return a.out.object("vise.noise/1", m)
	}
	a.out.printf("evaluator %s · %s, %s each · measured %s", show(m.EvaluatedBy, 80), counted(m.Turns, "stored turn"), counted(m.Repeats, "evaluation"), m.At)
	if m.Runs > 0 {
		a.out.printf("agent %s · %s, %s each, %d failed and left out", show(m.Agent, 80), counted(m.Cases, "case"), counted(m.Runs, "run"), m.Failed)
	} else {
		a.out.printf("the agent was not run; --runs N measures its part")
	}
	part := func(n *evidence.MetricNoise) (sd, flips string) {
		if n == nil {
			return "–", "–"
		}
		return fmt.Sprintf("%.3f", n.SD), fmt.Sprintf("%.0f %%", 100*n.Flips)
	}
	rows := make([][]string, len(m.Readings))
	for i, r := range m.Readings {
		sd, flips := part(r.Evaluator)
		asd, aflips := part(r.Agent)
		mean, idle := "–", "–"
		if r.Evaluator != nil {
			mean = fmt.Sprintf("%.2f", r.Evaluator.Mean)
		}
		if r.Idle != nil {
			idle = fmt.Sprintf("%.2f", *r.Idle)
		}
		may := "decides"
		if !r.Decides {
			may = "informs: " + r.Why
		}
		rows[i] = []string{r.Metric, sd, flips, mean, idle, asd, aflips, may}
	}
	return a.out.table([]string{"METRIC", "EVALUATOR SD", "FLIPS", "MEAN", "IDLE AGENT", "AGENT SD", "FLIPS", "MAY"}, rows)
}
