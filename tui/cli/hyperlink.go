package cli

import (
	"bytes"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"vise/engine/link"
	"vise/tui"
)

// hyperlinks reports whether ids in text are to be hyperlinks (OSC 8): standard output is
// a terminal that takes them, and colours are not refused. A pipe never gets them.
func (a *app) hyperlinks() bool {
	if a.json || a.plain || a.noColor || a.linear || !tui.IsTerminal(a.in, a.out.w) {
		return false
	}
	return tui.Config{Env: a.env}.Hyperlinks()
}

// linkColumns are the headers of columns of ids, with the kind of what they name.
var linkColumns = map[string]string{"SESSION": "session", "RULE": "rule", "NOTICE": "notice", "EPISODE": "episode", "CASE": "case", "VERDICT": "verdict", "RUN": "run"}

// linkedTable makes the ids in a laid out table hyperlinks. The columns stay where they
// are: a hyperlink takes no cell.
func (o *output) linkedTable(header []string, rows [][]string, text []byte) []byte {
	if !o.links {
		return text
	}
	lines := bytes.Split(text, []byte("\n"))
	for i, row := range rows {
		if i+1 >= len(lines) {
			break
		}
		var b strings.Builder
		rest := string(lines[i+1])
		for j, cell := range row {
			at := strings.Index(rest, cell)
			if at < 0 {
				break
			}
			b.WriteString(rest[:at])
			rest = rest[at+len(cell):]
			kind := ""
			if j < len(header) {
				kind = linkColumns[header[j]]
			}
			if kind == "" || cell == "" || strings.ContainsAny(cell, " …") {
				b.WriteString(cell)
				continue
			}
			b.WriteString(ansi.SetHyperlink(link.Of(kind, cell)) + cell + ansi.ResetHyperlink())
		}
		lines[i+1] = []byte(b.String() + rest)
	}
	return bytes.Join(lines, []byte("\n"))
}
