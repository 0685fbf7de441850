package cli

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"vise/engine/link"
	"vise/store"
	"vise/tui"
)

// linkInfo is a link with what it stands for.
type linkInfo struct {
	tui.Link
	Found bool `json:"found"`
	// Command prints what the link shows.
	Command string `json:"command"`
}

func (a *app) openCmd() *cobra.Command {
	return &cobra.Command{
		Use: "open LINK", Short: "Open the workbench at a link", Args: cobra.ExactArgs(1),
		Long: "LINK is what L copies in the workbench: vise://session/ID/turn/7?pane=trace&line=42, and likewise for\n" +
			"episode, rule, case, verdict, notice and run; the objects of --json have theirs as link.\n" +
			"With --json, or where there is no terminal, it says whether the project has the place and which command prints it.",
		RunE: func(cmd *cobra.Command, args []string) error {
			l, err := link.Parse(args[0])
			if err != nil {
				return usagef("%w", err)
			}
			if !a.json && tui.IsTerminal(a.in, a.out.w) {
				cfg, origins, err := a.load()
				if err != nil {
					return err
				}
				return a.openWorkbench(cmd.Context(), cfg, opening{name: filepath.Base(cfg.Root), link: &l, keys: keyPlace(cfg, origins)})
			}
			return a.tellLink(cmd.Context(), l)
		},
	}
}

func (a *app) tellLink(ctx context.Context, l tui.Link) error {
	s, err := a.openRead(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	info := linkInfo{Link: l}
	if err := s.View(func(tx *store.Tx) (err error) {
		info.Found, info.Command, err = tui.FindLink(tx, l)
		return err
	}); err != nil {
		return err
	}
	if !info.Found {
		return fmt.Errorf("open: this project has no %s", show(l.String(), 200))
	}
	if a.json {
		return a.out.object("vise.link/1", info)
	}
	a.out.printf("%s", show(info.Command, 300))
	return a.out.err
}
