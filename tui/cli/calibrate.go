package cli

import (
	"fmt"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"vise/engine"
	"vise/engine/score/calibrate"
	"vise/store"
)

func (a *app) calibrateCmd() *cobra.Command {
	var stored bool
	c := &cobra.Command{
		Use: "calibrate [LABELS]", Short: "Compare scores with known outcomes of recorded sessions",
		Long: "Calibrate tells how well scores separate sessions that failed from those that succeeded, beside counts that\n" +
			"cost nothing (turns, model steps, calls, errors, characters). LABELS is a tab-separated file whose first line\n" +
			"names its columns: file and session (the session's id, or its place in the file), label (success or failure),\n" +
			"and, if known, step: where it went wrong, as a span id or the 0-based place in the recording. Without LABELS\n" +
			"the outcomes that the recordings carry themselves are taken. AUC is the probability that a failed session\n" +
			"looks worse than one that succeeded; 0.50 is chance. Sessions are compared within one file where possible.",
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			cfg, _, err := a.load()
			if err != nil {
				return err
			}
			o := engine.CalibrateOptions{Stored: stored || cfg.Evaluate.By != "local", Handoff: cfg.Evaluate.Handoff}
			if len(args) == 1 {
				if o.Labels, err = a.readLabels(args[0]); err != nil {
					return err
				}
			}
			st, err := store.OpenRead(cmd.Context(), a.storeOptions(cfg, nil))
			if err != nil {
				return err
			}
			defer st.Close()
			result, err := engine.Calibrate(cmd.Context(), st, o)
			if err != nil {
				return err
			}
			if result.Labels == 0 {
				return fmt.Errorf("calibrate: no recorded session carries its outcome; name a file with labels, see vise calibrate --help")
			}
			if result.Matched == 0 {
				return fmt.Errorf("calibrate: no label is success or failure of an imported session%s", reasons(result.LeftOut))
			}
			if a.json {
				return a.out.object("vise.calibration/1", result)
			}
			return a.printCalibration(result)
		},
	}
	c.Flags().BoolVar(&stored, "stored", false, "compare the stored scores instead of computing those of the offline evaluator")
	return c
}

func (a *app) readLabels(name string) ([]calibrate.Label, error) {
	f, err := os.Open(a.path(name))
	if err != nil {
		return nil, fmt.Errorf("calibrate: %w", err)
	}
	defer f.Close()
	labels, err := calibrate.ReadLabels(f)
	if err != nil {
		return nil, fmt.Errorf("calibrate: labels %s: %w", name, err)
	}
	return labels, nil
}

func reasons(leftOut map[string]int) string {
	var names []string
	for k := range leftOut {
		names = append(names, k)
	}
	slices.Sort(names)
	s := ""
	for _, k := range names {
		s += fmt.Sprintf("; %d: %s", leftOut[k], show(k, 120))
	}
	return s
}

func (a *app) printCalibration(c engine.Calibration) error {
	a.out.printf("scores of %s; %d of %s used%s", show(c.EvaluatedBy, 100), c.Matched, counted(c.Labels, "label"), reasons(c.LeftOut))
	for _, g := range c.Groups {
		a.out.printf("")
		a.out.printf("%s: %s, %d failed", show(g.Source, 40), counted(g.Sessions, "session"), g.Failures)
		if g.Failures == 0 || g.Failures == g.Sessions {
			a.out.printf("all of one outcome: there is nothing to compare")
			continue
		}
		var rows [][]string
		for _, s := range g.Signals {
			rows = append(rows, signalRow(s))
		}
		if err := a.out.table([]string{"SIGNAL", "N", "AUC", "95 %", "", "BEST LINE", "95 %", "FINDS", "FALSE ALARMS"}, rows); err != nil {
			return err
		}
		if d := g.Lead; d != nil && d.AUC != nil {
			what := fmt.Sprintf("%s against the best count (%s): %+.2f", d.Signal, d.Against, *d.AUC)
			if d.Low != nil {
				what += fmt.Sprintf(" (%+.2f to %+.2f)", *d.Low, *d.High)
				switch {
				case *d.Low > 0:
					what += ": it tells more"
				case *d.High < 0:
					what += ": it tells less"
				default:
					what += ": no difference is shown"
				}
			}
			a.out.printf("%s", what)
		}
	}
	a.out.printf("")
	a.out.printf("A best line was chosen on the sessions that it is judged by here, so FINDS and FALSE ALARMS flatter it. Sessions")
	a.out.printf("of one task are not independent of each other; the intervals do not know that.")
	for _, p := range c.Places {
		a.out.printf("")
		a.out.printf("%s: where it went wrong. Suspects are steps to look at, never a finding.", show(p.Source, 40))
		var rows [][]string
		for _, g := range p.Guesses {
			rows = append(rows, []string{g.Name, fmt.Sprint(g.N), proportion(g.Top1), proportion(g.Top3), proportion(g.Near1)})
		}
		if err := a.out.table([]string{"GUESS", "N", "FIRST IS IT", "AMONG THREE", "AT MOST ONE OFF"}, rows); err != nil {
			return err
		}
	}
	return a.out.err
}

func proportion(s calibrate.Share) string {
	return fmt.Sprintf("%.2f (%.2f–%.2f)", s.Rate, s.Low, s.High)
}

// signalRow is one line of the table. A threshold was chosen on the same sessions
// that it is judged by here.
func signalRow(s engine.Signal) []string {
	row := []string{s.Name, fmt.Sprint(s.Area.N), "–", "", "", "", "", "", ""}
	if s.Area.AUC != nil {
		row[2] = fmt.Sprintf("%.2f", *s.Area.AUC)
	}
	if s.Area.Low != nil {
		row[3] = fmt.Sprintf("%.2f–%.2f", *s.Area.Low, *s.Area.High)
		switch {
		case *s.Area.High < 0.5:
			row[4] = "wrong way"
		case *s.Area.Low <= 0.5:
			row[4] = "chance"
		}
	} else {
		row[4] = "too few"
	}
	if t := s.Threshold; t != nil {
		format := "≤ %.2f"
		digits := "%.2f–%.2f"
		if s.Trivial {
			format, digits = "≥ %.0f", "%.0f–%.0f"
		}
		row[5], row[6] = fmt.Sprintf(format, t.At), fmt.Sprintf(digits, t.Low, t.High)
		row[7], row[8] = fmt.Sprintf("%.2f", t.Sensitivity), fmt.Sprintf("%.2f", 1-t.Specificity)
	}
	return row
}
