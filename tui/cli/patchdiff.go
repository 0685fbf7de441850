package cli

import (
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"vise/engine/patch"
	"vise/store"
	"vise/tui"
)

func (a *app) patchDiff() *cobra.Command {
	return &cobra.Command{
		Use: "diff RUN", Short: "Print the patch as git writes it; of a repaired run, the repaired patch", Args: cobra.ExactArgs(1),
		Long: "Into a file or a pipe the patch is written byte by byte, for git apply in the project's folder: modes,\n" +
			"renames, links, empty files and bytes that are no text included. On a terminal control characters are\n" +
			"shown escaped, and bytes that are no text are not shown.",
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.readBench(cmd.Context(), func(b *patch.Bench, _ *store.Store) error {
				id, err := a.meant(b, args[0])
				if err != nil {
					return err
				}
				if a.json {
					list, err := b.EachDiff(id)
					if err != nil {
						return err
					}
					for d := range list {
						if err := a.out.object("vise.patch_diff/1", d); err != nil {
							return err
						}
					}
					return a.out.err
				}
				return a.printPatch(b, id)
			})
		},
	}
}

// printPatch writes a run's patch: as it is, or readable when the reader is a terminal.
func (a *app) printPatch(b *patch.Bench, id string) error {
	g, err := b.Git(id)
	if err != nil {
		return err
	}
	r, err := b.Run(id)
	if err != nil {
		return err
	}
	for _, p := range slices.Sorted(maps.Keys(r.Unseen)) {
		a.note("%s is not in the patch: %s", show(p, 200), show(r.Unseen[p], 200))
	}
	for _, p := range g.Lost {
		a.note("git keeps only whether %s may be run, not its other permission bits; vise patch apply keeps them", show(p, 200))
	}
	if !tui.IsTerminalOut(a.out.w) {
		return g.Encode(rawOutput{a.out})
	}
	for p, err := range g.Parts {
		if err != nil {
			return err
		}
		a.out.printf("%s", block(strings.TrimRight(p.Head+p.Text, "\n")))
		if p.Binary {
			a.out.printf("(bytes that are no text, or a long one: not shown)")
		}
	}
	return a.out.err
}

// rawOutput writes to standard output as it is: bytes for a program, not a person.
type rawOutput struct{ o *output }

// Write returns the first error of the output.
func (w rawOutput) Write(b []byte) (int, error) { return len(b), w.o.write(b) }
