package cli

import (
	"github.com/spf13/cobra"

	"vise/engine"
	"vise/store"
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
	}, &cobra.Command{
		Use: "backup FILE", Short: "Copy the store, as it is now, to a new file; works beside a running vise", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := a.openRead(cmd.Context())
			if err != nil {
				return err
			}
			defer s.Close()
			r, err := s.Backup(cmd.Context(), a.path(args[0]))
			if err != nil {
				return err
			}
			if a.json {
				return a.out.object("vise.store_backup/1", r)
			}
			a.out.printf("%s: %d keys up to event %d, %d bytes", show(r.File, 200), r.Keys, r.LastSeq, r.Bytes)
			return a.out.err
		},
	}, &cobra.Command{
		Use: "restore FILE", Short: "Make the project's store from a backup; nothing is overwritten", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			cfg, _, err := a.load()
			if err != nil {
				return err
			}
			r, rep, err := store.Restore(cmd.Context(), a.storeOptions(cfg, nil), a.path(args[0]))
			if err != nil {
				return err
			}
			if a.json {
				err = a.out.object("vise.store_restore/1", struct {
					store.BackupReport
					Verify store.VerifyReport `json:"verify"`
				}{r, rep})
			} else {
				a.out.printf("%d keys up to event %d are back from %s", r.Keys, r.LastSeq, show(r.File, 200))
				for _, line := range rep.Lines() {
					a.out.printf("%s", show(line, 240))
				}
				err = a.out.err
			}
			if err == nil && !rep.OK() {
				return gatef("store restore: the store is back, with the problems that it had when the backup was made")
			}
			return err
		},
	}, &cobra.Command{
		Use: "gc", Short: "Remove for good: removed sessions, what is older than store.retention, what nothing refers to", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.withHarness(cmd.Context(), needs{}, func(h *harness) error {
				old, err := h.Expire(cmd.Context(), 0)
				if err != nil {
					return err
				}
				// What had gone when the project was opened went by the same setting.
				old.Sessions, old.Steps = old.Sessions+h.AgedOut.Sessions, old.Steps+h.AgedOut.Steps
				emptied, err := h.EmptyTrash(cmd.Context())
				if err != nil {
					return err
				}
				r, err := h.store.GC(cmd.Context())
				if err != nil {
					return err
				}
				if a.json {
					return a.out.object("vise.store_gc/1", struct {
						engine.Expired
						Removed int `json:"removed_sessions"`
						store.GCReport
					}{old, emptied, r})
				}
				if emptied > 0 {
					a.out.printf("removed %s for good", counted(emptied, "removed session"))
				}
				a.out.printf("removed %s and %s by age", counted(old.Sessions, "session"), counted(old.Steps, "repair step"))
				a.out.printf("removed %s, %s, %s", counted(r.Stages, "unfinished turn"), counted(r.Blobs, "unused blob"), counted(r.Index, "lost index key"))
				a.out.printf("rewrote %s", counted(r.Files, "value log file"))
				return a.out.err
			})
		},
	})
	return c
}
