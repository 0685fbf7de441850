package cli

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"

	"vise/engine/event"
)

// Plain text (--plain) is for programs that cut columns and for people who listen: a tab
// between two columns, no column that is padded, no lines drawn, no signs where a word
// will do. The columns of a command are always the same.

// padded is a verb that aligns; wideGap is a gap that does. Precision is kept.
var (
	padded  = regexp.MustCompile(`%-?[0-9]+(\.[0-9]+)?([a-zA-Z]) *`)
	wideGap = regexp.MustCompile(` {2,}`)
	indent  = regexp.MustCompile(`(?m)^ +`)
)

// marks are signs with the words that they mean; a dash that joins two numbers stays one.
var marks = strings.NewReplacer("✓", "ok", "✗", "failed", "✕", "failed", " → ", " to ", "→ ", "result\t", "│ ", "", "│", "", " · ", "\t", "…", "...", "×", "x",
	"≥", "at least", "–", "-")

// plainFormat is a format without what aligns.
func plainFormat(format string) string {
	nested := ""
	if indent.MatchString(format) {
		nested = "\t" // what belongs to the line before it
	}
	format = strings.TrimLeft(format, " ")
	format = padded.ReplaceAllStringFunc(format, func(verb string) string {
		v := padded.FindStringSubmatch(verb)
		if strings.HasSuffix(verb, " ") {
			return "%" + v[1] + v[2] + "\t"
		}
		return "%" + v[1] + v[2]
	})
	format = strings.ReplaceAll(format, "\tms", " ms") // a unit belongs to its number
	return nested + wideGap.ReplaceAllString(marks.Replace(format), "\t")
}

// plainCell is a value of a column: a word for a sign, one line as one line. Blocks of
// text stay as they were written.
func plainCell(s string) string {
	if strings.Contains(s, "\n") {
		return s
	}
	if s = strings.TrimSpace(s); s == "–" || s == "-" {
		return "none"
	}
	return wideGap.ReplaceAllString(marks.Replace(s), "\t")
}

// plainTable writes rows under a header, cells with a tab between them.
func (o *output) plainTable(header []string, rows [][]string) error {
	var b bytes.Buffer
	for _, r := range append([][]string{header}, rows...) {
		for i, c := range r {
			if i > 0 {
				b.WriteByte('\t')
			}
			b.WriteString(strings.ReplaceAll(plainCell(c), "\t", " "))
		}
		b.WriteByte('\n')
	}
	return o.write(b.Bytes())
}

// plainEvent is a journal event in columns: time, type, session, turn, notice, episode,
// rule, case, run, and its sentence; an empty one where an id does not apply.
func plainEvent(e event.Event, clock string) string {
	turn := ""
	if e.TurnIndex != nil {
		turn = fmt.Sprint(*e.TurnIndex)
	}
	text := sentence(e)
	if text == "" {
		text = dataWords(e)
	}
	cells := []string{e.At.Local().Format(clock), string(e.Type), e.SessionID, turn, e.NoticeID, e.EpisodeID, e.RuleID, e.CaseID, e.RunID, text}
	for i, c := range cells {
		if c != "" {
			cells[i] = strings.ReplaceAll(plainCell(show(c, 400)), "\t", "; ")
		}
	}
	return strings.Join(cells, "\t")
}
