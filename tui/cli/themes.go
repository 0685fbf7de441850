package cli

import (
	"errors"
	"fmt"
	"math"
	"os"

	"github.com/spf13/cobra"

	"vise/engine/config"
	"vise/themes"
)

// themeInfo is a theme in the list.
type themeInfo struct {
	Name       string `json:"name"`
	Appearance string `json:"appearance"`
	Pair       string `json:"pair,omitempty"`
	About      string `json:"about,omitempty"`
	// Contrast is the lowest contrast ratio of text on any ground; absent where the
	// colours are the terminal's own.
	Contrast float64 `json:"contrast,omitempty"`
	// File is where an own theme was read from; absent for those of the program.
	File string `json:"file,omitempty"`
	// Poor is which text of an own theme is hard to read.
	Poor []string `json:"poor,omitempty"`
}

func (a *app) themesCmd() *cobra.Command {
	c := &cobra.Command{
		Use: "themes", Short: "List the themes of the workbench", Args: cobra.NoArgs,
		Long: "Themes are TOML files: those of the program and those in the folder themes beside the user's configuration\n" +
			"(read again while the workbench runs, whenever one is saved). ui.theme in vise.toml names one; auto follows the\n" +
			"terminal with dark and light, auto:NAME with NAME and its pair. vise themes show NAME prints the file of one.",
		RunE: func(*cobra.Command, []string) error {
			list, err := themes.All(a.screen("", config.Default()).ThemeDir)
			var rows [][]string
			for _, t := range list {
				least := math.Floor(t.Least()*100) / 100
				if a.json {
					if oerr := a.out.object("vise.theme/1", themeInfo{t.Name, string(t.Appearance), t.Pair, t.About, least, t.File, t.Poor}); oerr != nil {
						return oerr
					}
					continue
				}
				for _, poor := range t.Poor {
					a.note("vise: hard to read: %s", show(poor, 400))
				}
				contrast := "the terminal's"
				if least > 0 {
					contrast = fmt.Sprintf("%.1f:1", least)
				}
				rows = append(rows, []string{show(t.Name, 60), string(t.Appearance), show(t.Pair, 60), contrast, show(t.About, 100)})
			}
			if !a.json {
				err = errors.Join(err, a.out.table([]string{"THEME", "FOR", "PAIR", "CONTRAST", "ABOUT"}, rows))
			}
			if err != nil {
				return fmt.Errorf("themes: %w", err)
			}
			return a.out.err
		},
	}
	c.AddCommand(&cobra.Command{
		Use: "show NAME", Short: "Print the file of a theme: the start of one of your own", Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			list, err := themes.All(a.screen("", config.Default()).ThemeDir)
			t := themes.Named(list, args[0])
			if t == nil {
				return errors.Join(usagef("themes show: there is no theme %q; vise themes lists them", args[0]), err)
			}
			var raw []byte
			if t.File == "" {
				raw, err = themes.Source(t.Name)
			} else {
				raw, err = os.ReadFile(t.File)
			}
			if err != nil {
				return fmt.Errorf("themes show: %w", err)
			}
			if a.json {
				return a.out.object("vise.theme_file/1", map[string]string{"name": t.Name, "toml": string(raw)})
			}
			return a.out.write([]byte(block(string(raw))))
		},
	})
	return c
}
