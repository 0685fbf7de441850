package cli

import (
	"strconv"

	"github.com/spf13/cobra"

	"vise/engine"
	"vise/engine/evidence"
	"vise/store"
)

func (a *app) sessionsDiff() *cobra.Command {
	return a.diff("diff SESSION SESSION", "Put two runs side by side: turns aligned, what differs marked", "; reads of rules are left out", engine.SessionsBeside)
}

func (a *app) episodesDiff() *cobra.Command {
	return a.diff("diff EPISODE EPISODE", "Put the newest runs of two repairs side by side: what differs is marked", "", engine.EpisodesBeside)
}

// diff is the command of two runs side by side; left says what is not compared.
func (a *app) diff(use, short, left string, beside func(*store.Tx, string, string) ([]evidence.Beside, error)) *cobra.Command {
	var only bool
	c := &cobra.Command{
		Use: use, Short: short, Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := a.openRead(cmd.Context())
			if err != nil {
				return err
			}
			defer s.Close()
			var rows []evidence.Beside
			if err := s.View(func(tx *store.Tx) error {
				rows, err = beside(tx, args[0], args[1])
				return err
			}); err != nil {
				return err
			}
			first := evidence.FirstDifference(rows)
			if only {
				kept := rows[:0:0]
				for _, r := range rows {
					if r.What != "" {
						kept = append(kept, r)
					}
				}
				rows = kept
			}
			if err := a.list("vise.beside/1", len(rows), func(i int) any { return rows[i] }, "nothing differs", []string{"TURN", "CALL", "DIFFERS", "A", "B"}, func(i int) []string {
				r := rows[i]
				call := "answer"
				switch {
				case r.CallA > 0 && r.CallB > 0 && r.CallA != r.CallB:
					call = strconv.Itoa(r.CallA) + "/" + strconv.Itoa(r.CallB)
				case r.CallA > 0 || r.CallB > 0:
					call = strconv.Itoa(max(r.CallA, r.CallB))
				}
				return []string{strconv.Itoa(r.Turn), call, r.What, show(side(r.A), 70), show(side(r.B), 70)}
			}); err != nil {
				return err
			}
			if first < 0 && !only {
				a.note("vise: nothing differs%s", left)
			}
			return nil
		},
	}
	c.Flags().BoolVar(&only, "only", false, "only what differs")
	return c
}

// side is what one of two runs did there.
func side(s string) string {
	if s == "" {
		return "-"
	}
	return s
}
