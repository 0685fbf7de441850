package cli

import (
	"github.com/spf13/cobra"
)

func (a *app) storeCmd() *cobra.Command {
	c := &cobra.Command{Use: "store", Short: "Look after the project's store"}
	c.AddCommand(&cobra.Command{
		Use: "stats", Short: "Counts and sizes", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := a.openRead(cmd.Context())
			if err != nil {
				return err
			}
			defer s.Close()
			st, err := s.Stats()
			if err != nil {
				return err
			}
			if a.json {
				return a.out.object("vise.store_stats/1", st)
			}
			for _, line := range st.Lines() {
				a.out.printf("%s", line)
			}
			return a.out.err
		},
	}, &cobra.Command{
		Use: "verify", Short: "Check every record, index and blob", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := a.openRead(cmd.Context())
			if err != nil {
				return err
			}
			defer s.Close()
			rep, err := s.Verify(cmd.Context())
			if err != nil {
				return err
			}
			if a.json {
				if err := a.out.object("vise.store_verify/1", rep); err != nil {
					return err
				}
			} else {
				for _, line := range rep.Lines() {
					a.out.printf("%s", show(line, 240))
				}
			}
			if !rep.OK() {
				return gatef("store verify: problems found; the records named above are quarantined or can be imported again")
			}
			return nil
		},
	})
	return c
}
