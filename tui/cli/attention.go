package cli

import (
	"strconv"

	"github.com/spf13/cobra"

	"vise/engine/episode"
	"vise/store"
	"vise/tui"
	"vise/tui/action"
)

func (a *app) attentionCmd() *cobra.Command {
	return &cobra.Command{
		Use: "attention", Short: "What waits for a person, each with what to do", Args: cobra.NoArgs,
		Long: "Paused repair, notices that need a person, failed repairs, a stopped budget, damaged records, flagged rules,\n" +
			"offered wins, patches to decide and candidates that no evidence has judged: the pane Attention of the workbench.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := a.openRead(cmd.Context())
			if err != nil {
				return err
			}
			defer s.Close()
			var list []tui.AttentionItem
			if err := s.View(func(tx *store.Tx) (err error) {
				// Read through an owner, what runs is in its hands; without one it was cut off.
				list, err = tui.Waiting(tx, tui.Offered, func(e episode.Episode) bool { return e.Status == episode.Running && !s.Owner() })
				return err
			}); err != nil {
				return err
			}
			cfg, origins, err := a.load()
			if err != nil {
				return err
			}
			keys, err := action.Default().Bind(cfg.UI.Keys, keyPlace(cfg, origins))
			if err != nil {
				return err
			}
			for i := range list {
				list[i].Do = keys.Text(list[i].Do)
			}
			return a.list("vise.attention/1", len(list), func(i int) any { return list[i] }, "nothing waits for you",
				[]string{"KIND", "SESSION", "TURN", "NOTICE", "EPISODE", "RULE", "RUN", "WHAT", "TO DO"}, func(i int) []string {
					x := list[i]
					turn := ""
					if x.SessionID != "" {
						turn = strconv.Itoa(x.TurnIndex)
					}
					return []string{x.Kind, show(x.SessionID, 60), turn, x.NoticeID, x.EpisodeID, x.RuleID, x.RunID, show(x.Text, 160), show(x.Do, 120)}
				})
		},
	}
}
