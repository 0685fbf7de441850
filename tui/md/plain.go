package md

import (
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// Plain wraps text that is already safe for a terminal without rendering it: what a
// pane shows until the rendered rows are there.
func Plain(text string, width int) []string {
	text = strings.ReplaceAll(strings.TrimRight(text, "\n"), "\t", "    ")
	if text == "" {
		return nil
	}
	return strings.Split(ansi.Wrap(text, max(1, width), ""), "\n")
}
