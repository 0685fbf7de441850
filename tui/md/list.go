package md

import (
	"regexp"
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// itemMark stands behind the bullet or the number of an item until hang has seen it. It
// has no width, and no text has it: what is rendered was made visible before.
const itemMark = "\u2060"

// marker is what an item of a list begins with on the screen: the margin, and a bullet
// or a number.
var marker = regexp.MustCompile(`^( *)([^ ]+` + itemMark + ` )`)

// hang indents the rows that an item of a list goes on with: glamour begins them under
// the marker, where they look like items of their own. The rows of an item are put
// together again and wrapped behind the marker.
func hang(out string, width int) string {
	if !strings.Contains(out, itemMark) {
		return out
	}
	rows := strings.Split(out, "\n")
	var b []string
	for i := 0; i < len(rows); i++ {
		m := marker.FindStringSubmatch(ansi.Strip(rows[i]))
		if m == nil {
			b = append(b, rows[i])
			continue
		}
		margin, lead := len(m[1]), ansi.StringWidth(m[2])
		item := trimBlank(rows[i])
		n := i + 1
		for ; n < len(rows); n++ {
			text := ansi.Strip(rows[n])
			body := strings.TrimLeft(text, " ")
			if body == "" || len(text)-len(body) != margin || marker.MatchString(text) {
				break
			}
			item += " " + trimMargin(trimBlank(rows[n]))
		}
		if n == i+1 && ansi.StringWidth(item) <= width {
			b = append(b, rows[i])
			continue
		}
		i = n - 1
		room := max(1, width-margin-lead)
		body := ansi.TruncateLeft(item, margin+lead, "")
		head := strings.Repeat(" ", margin) + m[2]
		if at := strings.Index(item, strings.TrimRight(m[2], " ")); at >= 0 {
			head = item[:at] + m[2] // with its colour
		}
		for k, row := range strings.Split(ansi.Wrap(body, room, ""), "\n") {
			if k == 0 {
				b = append(b, head+row)
			} else {
				b = append(b, strings.Repeat(" ", margin+lead)+row)
			}
		}
	}
	return strings.ReplaceAll(strings.Join(b, "\n"), itemMark, "")
}

// trimMargin drops the blanks that a styled row begins with.
func trimMargin(row string) string {
	text := ansi.Strip(row)
	return ansi.TruncateLeft(row, len(text)-len(strings.TrimLeft(text, " ")), "")
}
