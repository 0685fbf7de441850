package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"vise/engine/episode"
	"vise/engine/repair"
	"vise/store"
)

func (a *app) episodesCmd() *cobra.Command {
	c := &cobra.Command{Use: "episodes", Short: "Repair episodes, step by step"}
	c.AddCommand(a.episodesLs(), a.episodesShow(), a.episodesRun(), a.episodesDiff(), a.episodesFork(), a.episodesAccept(), a.episodesRm())
	return c
}

func (a *app) episodesLs() *cobra.Command {
	return &cobra.Command{
		Use: "ls", Short: "List episodes, newest first", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := a.openRead(cmd.Context())
			if err != nil {
				return err
			}
			defer s.Close()
			var list []episode.Episode
			if err := s.View(func(tx *store.Tx) (err error) {
				list, err = tx.Episodes(store.Window{})
				return err
			}); err != nil {
				return err
			}
			return a.list("vise.episode/1", len(list), func(i int) any { return list[i] }, "no episodes yet",
				[]string{"EPISODE", "STATUS", "SESSION", "TURN", "ATTEMPTS", "RULE", "FORK OF"}, func(i int) []string {
					e := list[i]
					of := ""
					if e.Fork != nil {
						of = fmt.Sprintf("%s:%d", e.Fork.Of, e.Fork.Turn)
					}
					return []string{e.ID, string(e.Status), show(e.SessionID, 60), strconv.Itoa(e.TurnIndex), strconv.Itoa(e.Attempts), e.CandidateID, of}
				})
		},
	}
}

func (a *app) episodesShow() *cobra.Command {
	var messages bool
	c := &cobra.Command{
		Use: "show EPISODE", Short: "Show an episode: every model turn and tool call", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := a.openRead(cmd.Context())
			if err != nil {
				return err
			}
			defer s.Close()
			var e episode.Episode
			var steps []episode.Step
			if err := s.View(func(tx *store.Tx) error {
				var ok bool
				if e, ok, err = tx.Episode(args[0]); err != nil {
					return err
				}
				if !ok {
					return fmt.Errorf("no episode %q; vise episodes ls lists them", args[0])
				}
				steps, err = tx.Steps(e.ID)
				return err
			}); err != nil {
				return err
			}
			if messages {
				return a.printMessages(repair.Transcript(slices.DeleteFunc(steps, func(s episode.Step) bool { return s.Attempt != e.Attempts })))
			}
			if a.json {
				if err := a.out.object("vise.episode/1", e); err != nil {
					return err
				}
				for _, st := range steps {
					if err := a.out.object("vise.step/1", st); err != nil {
						return err
					}
				}
				return nil
			}
			a.printEpisode(e, steps)
			return a.out.err
		},
	}
	c.Flags().BoolVar(&messages, "messages", false, "the conversation of its newest attempt instead, message by message, numbered")
	return c
}

func (a *app) printEpisode(e episode.Episode, steps []episode.Step) {
	a.out.printf("%s  %s  session %s turn %d  attempts %d", e.ID, e.Status, show(e.SessionID, 128), e.TurnIndex, e.Attempts)
	if e.Fork != nil {
		a.out.printf("%s", forkWords(e))
		a.forkDecision(e)
	}
	for _, st := range steps {
		a.out.printf("")
		if st.Kept && e.Fork != nil {
			a.out.printf("attempt %d, turn %d  (kept from %s)", st.Attempt, st.Turn, e.Fork.Of)
		} else {
			a.out.printf("attempt %d, turn %d  (%d in, %d out)", st.Attempt, st.Turn, st.Usage.Input, st.Usage.Output)
		}
		if st.Reasoning != "" {
			a.out.printf("  thought  %s", show(st.Reasoning, 200))
		}
		if st.Text != "" {
			a.out.printf("  text     %s", show(st.Text, 200))
		}
		for _, c := range st.Calls {
			mark := "✓"
			switch {
			case !c.Ran:
				mark = "–"
			case !c.OK:
				mark = "✗"
			}
			a.out.printf("  %s %s %s", mark, show(c.Name, 40), show(c.Arguments, 300))
			if len(c.Result) > 0 {
				var compact json.RawMessage = c.Result
				a.out.printf("    → %s", show(string(compact), 240))
			}
		}
		if st.Error != "" {
			a.out.printf("  error    %s", show(st.Error, 300))
		}
	}
	if r := e.Result; r != nil {
		a.out.printf("")
		a.out.printf("ended %s after %d turns and %d tool calls (model %s) %s", r.Status, r.Turns, r.ToolCalls, show(r.Model, 60), show(r.Error, 300))
	}
}

func (a *app) episodesRun() *cobra.Command {
	var breaks []string
	c := &cobra.Command{
		Use: "run [EPISODE...]", Short: "Repair pending notices now (all of them without an argument)",
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, b, err := breakAt(cmd.Context(), breaks)
			if err != nil {
				return err
			}
			return a.withHarness(cmd.Context(), needs{repair: true, narrate: true, stepper: b.stepper()}, func(h *harness) error {
				return a.broke(b, h, a.runEpisodes(ctx, h, args))
			})
		},
	}
	c.Flags().StringArrayVar(&breaks, "break", nil, breakHelp)
	return c
}

// runEpisodes repairs the episodes named, all that are pending without a name.
func (a *app) runEpisodes(ctx context.Context, h *harness, ids []string) error {
	if !h.RepairOn() {
		return fmt.Errorf("repair is off: set repair.model in vise.toml, e.g. \"builtin/heuristic\" (free, no network)")
	}
	if len(ids) == 0 {
		// A killed process may have left turns that raise notices yet.
		if _, err := h.ScoreBacklog(ctx); err != nil {
			return err
		}
		var err error
		if ids, err = h.PendingEpisodes(ctx); err != nil {
			return err
		}
		if len(ids) == 0 {
			if _, paused, err := a.tellPaused(h); err != nil || paused {
				return err
			}
			a.note("no notice is pending; an episode that failed too often is run again by name: vise episodes run EPISODE")
			return nil
		}
	}
	failed := 0
	for _, id := range ids {
		r, err := h.RunRepair(ctx, id)
		if err != nil {
			return err
		}
		if !r.Status.Success() {
			failed++
		}
	}
	if failed > 0 {
		return fmt.Errorf("%d of %d episodes failed; vise episodes show EPISODE says why", failed, len(ids))
	}
	return nil
}
