package cli

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"vise/engine"
	"vise/engine/evidence"
	"vise/store"
)

func (a *app) casesCmd() *cobra.Command {
	c := &cobra.Command{Use: "cases", Short: "Captured failures and protected wins"}
	c.AddCommand(a.casesLs(), a.casesShow(), a.casesProtect(), a.casesOffers(), a.casesShrink(), a.casesRm())
	return c
}

func (a *app) casesLs() *cobra.Command {
	var kind string
	c := &cobra.Command{
		Use: "ls", Short: "List cases, oldest first", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch evidence.Kind(kind) {
			case "", evidence.Failure, evidence.Win:
			default:
				return usagef("--kind %q: use failure or win", kind)
			}
			s, err := a.openRead(cmd.Context())
			if err != nil {
				return err
			}
			defer s.Close()
			var cases []evidence.Case
			if err := s.View(func(tx *store.Tx) (err error) {
				cases, err = tx.Cases(evidence.Kind(kind))
				return err
			}); err != nil {
				return err
			}
			return a.list("vise.case/1", len(cases), func(i int) any { return cases[i] },
				"no cases yet; a breach captures one, vise cases protect SESSION makes a win",
				[]string{"CASE", "KIND", "SESSION", "TURN", "REPLAYABLE", "SIGNATURE"}, func(i int) []string {
					k := cases[i]
					return []string{k.ID, string(k.Kind), show(k.SessionID, 60), strconv.Itoa(k.TurnIndex), yes(k.Input != nil), show(strings.Join(k.Signature, " "), 80)}
				})
		},
	}
	c.Flags().StringVar(&kind, "kind", "", "only failure or win")
	return c
}

// list writes records as JSON objects or as a table, with a line for none.
func (a *app) list(schema string, n int, at func(int) any, none string, header []string, row func(int) []string) error {
	if a.json {
		for i := range n {
			if err := a.out.object(schema, at(i)); err != nil {
				return err
			}
		}
		return nil
	}
	if n == 0 {
		a.out.printf("%s", none)
		return a.out.err
	}
	rows := make([][]string, n)
	for i := range n {
		rows[i] = row(i)
	}
	return a.out.table(header, rows)
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

func (a *app) casesShow() *cobra.Command {
	return &cobra.Command{
		Use: "show CASE", Short: "Show a case with its inputs and baseline", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := a.openRead(cmd.Context())
			if err != nil {
				return err
			}
			defer s.Close()
			var k evidence.Case
			if err := s.View(func(tx *store.Tx) error {
				var ok bool
				if k, ok, err = tx.Case(args[0]); err == nil && !ok {
					return fmt.Errorf("no case %q; vise cases ls lists them", args[0])
				}
				return err
			}); err != nil {
				return err
			}
			if a.json {
				return a.out.object("vise.case/1", k)
			}
			a.out.printf("%s  %s  session %s turn %d", k.ID, k.Kind, show(k.SessionID, 128), k.TurnIndex)
			a.out.printf("signature  %s", show(strings.Join(k.Signature, " "), 400))
			a.out.printf("baseline   %s", numbers(k.Baseline, "%.2f"))
			if k.ShrunkFrom != "" {
				a.out.printf("shrunk     from %s", k.ShrunkFrom)
			}
			if k.Notes != "" {
				a.out.printf("notes      %s", show(k.Notes, 400))
			}
			if k.Input == nil {
				a.out.printf("not replayable: no inputs were captured")
				return a.out.err
			}
			for i, in := range k.Input.Turns {
				a.out.printf("input %d    %s", i, show(in, 400))
			}
			return a.out.err
		},
	}
}

func (a *app) casesProtect() *cobra.Command {
	force := false
	c := &cobra.Command{
		Use: "protect SESSION[:TURN]", Short: "Protect what a session does well against collateral damage of rules",
		Long: "Make a win case of a session up to a turn (the last one by default). Validation replays wins beside the\n" +
			"failing cases: a rule that makes any metric of a win worse is retired. A turn that alerts is no win and is refused.\n" +
			"There is one win for the same inputs: protecting another session of them renews it.",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			session, turn := args[0], -1
			if at := strings.LastIndexByte(args[0], ':'); at >= 0 { // ids may hold colons
				i, err := strconv.Atoi(args[0][at+1:])
				if err != nil || i < 0 {
					return usagef("cases protect %q: write SESSION or SESSION:TURN with a turn number from 0 (of an id that ends in :WORD the turn has to be told)", args[0])
				}
				session, turn = args[0][:at], i
			}
			return a.withHarness(cmd.Context(), needs{}, func(h *harness) error {
				k, err := h.ProtectCase(cmd.Context(), session, turn, force)
				if err != nil {
					return err
				}
				if a.json {
					return a.out.object("vise.case/1", k)
				}
				a.out.printf("protected %s: session %s up to turn %d (%s)", k.ID, show(k.SessionID, 128), k.TurnIndex, numbers(k.Baseline, "%.2f"))
				if k.Renews != "" {
					a.out.printf("it was the win of session %s, which has the same inputs; its baseline is that of this session now", show(k.Renews, 128))
				}
				return a.out.err
			})
		},
	}
	c.Flags().BoolVar(&force, "force", false, "protect a turn that alerts all the same")
	return c
}

func (a *app) casesOffers() *cobra.Command {
	var dismiss string
	c := &cobra.Command{
		Use: "offers", Short: "List sessions that are worth protecting as wins", Args: cobra.NoArgs,
		Long: "A session is offered when it ended without a notice although it, or an earlier run of the same inputs, had\n" +
			"alerted before. vise cases protect SESSION accepts the offer, --dismiss SESSION declines it.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if dismiss != "" {
				return a.withHarness(cmd.Context(), needs{}, func(h *harness) error {
					if err := h.DismissOffer(cmd.Context(), dismiss); err != nil {
						return err
					}
					a.done("dismissed", dismiss)
					return nil
				})
			}
			s, err := a.openRead(cmd.Context())
			if err != nil {
				return err
			}
			defer s.Close()
			var list []engine.Offer
			if err := s.View(func(tx *store.Tx) (err error) {
				list, err = engine.Offers(tx)
				return err
			}); err != nil {
				return err
			}
			return a.list("vise.offer/1", len(list), func(i int) any { return list[i] }, "no offers; a session that alerted before and ends well becomes one",
				[]string{"SESSION", "TURN", "AT", "WHY"}, func(i int) []string {
					return []string{show(list[i].SessionID, 60), strconv.Itoa(list[i].Turn), list[i].At, show(list[i].Why, 120)}
				})
		},
	}
	c.Flags().StringVar(&dismiss, "dismiss", "", "take this session off the offers")
	return c
}

func (a *app) casesShrink() *cobra.Command {
	runs := 0
	c := &cobra.Command{
		Use: "shrink CASE", Short: "Find the fewest inputs with which a captured failure still fails", Args: cobra.ExactArgs(1),
		Long: "Leave out inputs of a failing case, run the rest through your agent and keep what still fails (delta debugging).\n" +
			"A smaller set counts only when it fails twice. The smaller case is stored beside the original: replays of it are\n" +
			"cheaper and show the cause more plainly.",
		RunE: func(cmd *cobra.Command, args []string) error {
			if runs < 2 || runs > 1000 {
				return usagef("cases shrink: --runs %d: give a number from 2 to 1000", runs)
			}
			ctx := cmd.Context()
			return a.withHarness(ctx, needs{agent: true}, func(h *harness) error {
				r, err := h.ShrinkCase(ctx, args[0], runs, func(kept int, fails bool) {
					if !a.json {
						a.out.printf("%s: %s", counted(kept, "input"), map[bool]string{true: "still fails", false: "does not fail"}[fails])
					}
				})
				if err != nil {
					return err
				}
				if a.json {
					return a.out.object("vise.shrink/1", r)
				}
				if r.Case == "" {
					a.out.printf("%s stays as it is: %s (%s)", r.From, r.Why, counted(r.Runs, "run"))
					return a.out.err
				}
				least := "; fewer may do, --runs N looks further"
				if r.Minimal {
					least = "; every one of them is needed"
				}
				a.out.printf("%s: %d of %d inputs still fail%s (%s)", r.Case, r.After, r.Before, least, counted(r.Runs, "run"))
				return a.out.err
			})
		},
	}
	c.Flags().IntVar(&runs, "runs", 40, "at most N agent runs")
	return c
}

func (a *app) casesRm() *cobra.Command {
	return &cobra.Command{
		Use: "rm CASE...", Short: "Remove cases", Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withHarness(cmd.Context(), needs{}, func(h *harness) error {
				var errs []error
				for _, id := range args {
					if err := h.RemoveCase(cmd.Context(), id); err != nil {
						errs = append(errs, err)
						continue
					}
					a.done("removed", id)
				}
				return errors.Join(errs...)
			})
		},
	}
}
