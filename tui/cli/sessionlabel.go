package cli

import (
	"context"
	"strconv"

	"github.com/spf13/cobra"

	"vise/engine/trace"
	"vise/store"
)

// called is what a session is called: pinned or not, the name that a person gave it, and
// the title of the recording.
func called(h trace.Session) string {
	s := show(h.Title, 48)
	if h.Name != "" {
		s = show(h.Name, 60)
		if h.Title != "" {
			s += " (" + show(h.Title, 48) + ")"
		}
	}
	if h.Pinned {
		s = "pinned: " + s
	}
	return s
}

func (a *app) sessionsRename() *cobra.Command {
	return &cobra.Command{
		Use: "rename SESSION NAME", Short: "Call a session by a name of yours; \"\" takes the name away", Args: cobra.ExactArgs(2),
		Long: "The id stays what it is; the name stands beside it wherever the session is named, and finds it where it is the only\n" +
			"one of that name.",
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withSession(cmd.Context(), args[0], func(h *harness, head trace.Session) error {
				if _, err := h.RenameSession(cmd.Context(), head.ID, args[1]); err != nil {
					return err
				}
				a.done("renamed", head.ID)
				return nil
			})
		},
	}
}

func (a *app) sessionsPin(on bool) *cobra.Command {
	use, short, done := "pin SESSION...", "Keep sessions at the top of lists", "pinned"
	if !on {
		use, short, done = "unpin SESSION...", "Let sessions take their place in time again", "unpinned"
	}
	return &cobra.Command{
		Use: use, Short: short, Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			for _, id := range args {
				if err := a.withSession(cmd.Context(), id, func(h *harness, head trace.Session) error {
					if _, err := h.PinSession(cmd.Context(), head.ID, on); err != nil {
						return err
					}
					a.done(done, head.ID)
					return nil
				}); err != nil {
					return err
				}
			}
			return nil
		},
	}
}

// withSession opens the project for writing and finds a session in it.
func (a *app) withSession(ctx context.Context, id string, fn func(*harness, trace.Session) error) error {
	return a.withHarness(ctx, needs{}, func(h *harness) error {
		var head trace.Session
		if err := h.store.View(func(tx *store.Tx) (err error) {
			head, err = findSession(tx, id)
			return err
		}); err != nil {
			return err
		}
		return fn(h, head)
	})
}

func (a *app) sessionsRm() *cobra.Command {
	return &cobra.Command{
		Use: "rm SESSION...", Short: "Remove sessions; until vise store gc they can be restored", Args: cobra.MinimumNArgs(1),
		Long: "A removed session is in no list any more. Its turns and scores stay until vise store gc, or store.retention, takes\n" +
			"them; until then vise sessions restore brings it back. Cases and rules made from it stay in any case.",
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withHarness(cmd.Context(), needs{}, func(h *harness) error {
				for _, id := range args {
					if err := h.RemoveSession(cmd.Context(), id); err != nil {
						return err
					}
					a.done("removed", id)
				}
				a.note("vise: vise sessions restore brings back what was removed, until vise store gc")
				return nil
			})
		},
	}
}

func (a *app) sessionsRestore() *cobra.Command {
	return &cobra.Command{
		Use: "restore SESSION...", Short: "Bring back sessions that were removed", Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withHarness(cmd.Context(), needs{}, func(h *harness) error {
				for _, id := range args {
					if err := h.RestoreSession(cmd.Context(), id); err != nil {
						return err
					}
					a.done("restored", id)
				}
				return nil
			})
		},
	}
}

// listRemoved lists what can be restored.
func (a *app) listRemoved(ctx context.Context) error {
	s, err := a.openRead(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	var list []store.Removed
	if err := s.View(func(tx *store.Tx) (err error) {
		list, err = tx.RemovedSessions()
		return err
	}); err != nil {
		return err
	}
	return a.list("vise.removed_session/1", len(list), func(i int) any { return list[i] }, "nothing was removed that can come back",
		[]string{"SESSION", "REMOVED", "TURNS", "TITLE"}, func(i int) []string {
			r := list[i]
			return []string{show(r.ID, 128), r.Removed.Local().Format("2006-01-02 15:04"), strconv.Itoa(r.Counts.Turns), called(r.Session)}
		})
}
