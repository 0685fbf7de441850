package cli

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"vise/engine/notice"
	"vise/store"
)

func (a *app) noticesCmd() *cobra.Command {
	c := &cobra.Command{Use: "notices", Short: "What the harness noticed"}
	c.AddCommand(a.noticesLs(), a.noticesShow(), a.noticesAck(), a.noticesResume())
	return c
}

func (a *app) noticesLs() *cobra.Command {
	var pending bool
	c := &cobra.Command{
		Use: "ls", Short: "List notices, newest first", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := a.openRead(cmd.Context())
			if err != nil {
				return err
			}
			defer s.Close()
			var list []notice.Notice
			if err := s.View(func(tx *store.Tx) error {
				all, err := tx.Notices(store.Window{})
				for _, n := range all {
					if !pending || n.Status == notice.Pending {
						list = append(list, n)
					}
				}
				return err
			}); err != nil {
				return err
			}
			return a.list("vise.notice/1", len(list), func(i int) any { return list[i] }, "no notices",
				[]string{"NOTICE", "SEVERITY", "STATUS", "SESSION", "TURN", "SIGNATURES"}, func(i int) []string {
					n := list[i]
					status := string(n.Status)
					if n.Resolution != nil {
						status = n.Resolution.Kind
					}
					return []string{n.ID, string(n.Severity), status, show(n.SessionID, 60), strconv.Itoa(n.TurnIndex), show(strings.Join(n.Signatures, " "), 80)}
				})
		},
	}
	c.Flags().BoolVar(&pending, "pending", false, "only pending notices")
	return c
}

func (a *app) noticesShow() *cobra.Command {
	return &cobra.Command{
		Use: "show NOTICE", Short: "Show a notice with its scores and reasons", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := a.openRead(cmd.Context())
			if err != nil {
				return err
			}
			defer s.Close()
			var n notice.Notice
			if err := s.View(func(tx *store.Tx) error {
				var ok bool
				if n, ok, err = tx.Notice(args[0]); err == nil && !ok {
					return fmt.Errorf("no notice %q; vise notices ls lists them", args[0])
				}
				return err
			}); err != nil {
				return err
			}
			if a.json {
				return a.out.object("vise.notice/1", n)
			}
			a.out.printf("%s  %s  session %s turn %d  %s", n.ID, n.Severity, show(n.SessionID, 128), n.TurnIndex, n.Status)
			a.out.printf("%s", show(n.Summary, 2000))
			for _, m := range n.Metrics {
				v := "–"
				if m.Value != nil {
					v = fmt.Sprintf("%.2f", *m.Value)
				}
				a.out.printf("  %-22s %s  threshold %.2f  %s", m.Name, v, m.Threshold, strings.Join(m.Conditions, "+"))
				for _, why := range m.Reasons {
					a.out.printf("    %s", show(why, 200))
				}
			}
			if r := n.Resolution; r != nil {
				a.out.printf("resolved: %s %s %s", r.Kind, r.RuleID, show(r.Note, 300))
			}
			return a.out.err
		},
	}
}

func (a *app) noticesAck() *cobra.Command {
	var note string
	var undo bool
	c := &cobra.Command{
		Use: "ack NOTICE...", Short: "Acknowledge notices yourself: nothing is repaired for them", Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withHarness(cmd.Context(), needs{}, func(h *harness) error {
				for _, id := range args {
					if undo {
						if err := h.ReopenNotice(cmd.Context(), id); err != nil {
							return err
						}
						a.done("pending", id)
						continue
					}
					if err := h.AckNotice(cmd.Context(), id, note); err != nil {
						return err
					}
					a.done("acknowledged", id)
				}
				return nil
			})
		},
	}
	c.Flags().StringVar(&note, "note", "", "why")
	c.Flags().BoolVar(&undo, "undo", false, "take a person's acknowledgement back: they wait again")
	c.MarkFlagsMutuallyExclusive("note", "undo")
	return c
}

func (a *app) noticesResume() *cobra.Command {
	return &cobra.Command{
		Use: "resume", Short: "Close the circuit breaker and let repair go on", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.withHarness(cmd.Context(), needs{}, func(h *harness) error {
				n, err := h.Resume(cmd.Context())
				if err != nil {
					return err
				}
				if a.json {
					return a.out.object("vise.resume/1", map[string]int{"acknowledged": n})
				}
				a.out.printf("repair goes on; %d notices that asked for a person are acknowledged", n)
				return nil
			})
		},
	}
}
