package md

import (
	"strings"

	"github.com/charmbracelet/x/ansi"
)

const reset = "\x1b[m"

// settle makes rows of what glamour wrote. Only its own colour sequences stay;
// hyperlinks and anything else that begins with ESC are dropped, text passes clean
// once more. Rows too wide for the pane are broken, each is closed in itself,
// blank rows at both ends are dropped.
func settle(out string, width int, clean func(string) string) []string {
	out = ansi.Hardwrap(strip(out, func(s string) string { return clean(unveil(s)) }), width, true)
	var rows []string
	open := "" // the sequences since the last reset
	for line := range strings.SplitSeq(out, "\n") {
		start := open
		open = after(line, open)
		line = trimBlank(line)
		if start != "" { // a style that goes on does not colour the margin
			body := strings.TrimLeft(line, " ")
			line = line[:len(line)-len(body)] + start + body
		}
		if open != "" || start != "" {
			line += reset
		}
		rows = append(rows, line)
	}
	blank := func(s string) bool { return strings.TrimSpace(ansi.Strip(s)) == "" }
	for len(rows) > 0 && blank(rows[0]) {
		rows = rows[1:]
	}
	for len(rows) > 0 && blank(rows[len(rows)-1]) {
		rows = rows[:len(rows)-1]
	}
	for i, row := range rows {
		if blank(row) {
			rows[i] = ""
		}
	}
	return rows
}

// strip keeps SGR sequences and newlines, hands text to clean and drops other sequences.
func strip(s string, clean func(string) string) string {
	var b strings.Builder
	b.Grow(len(s))
	for s != "" {
		i := strings.IndexByte(s, '\x1b')
		if i < 0 {
			b.WriteString(clean(s))
			break
		}
		b.WriteString(clean(s[:i]))
		seq := sequence(s[i:])
		if sgr(seq) {
			b.WriteString(seq)
		}
		s = s[i+len(seq):]
	}
	return b.String()
}

// sequence is the escape sequence that s begins with.
func sequence(s string) string {
	if len(s) < 2 {
		return s
	}
	switch s[1] {
	case '[':
		for i := 2; i < len(s); i++ {
			if s[i] >= 0x40 && s[i] <= 0x7e {
				return s[:i+1]
			}
			if s[i] < 0x20 || s[i] > 0x7e {
				return s[:i]
			}
		}
		return s
	case ']', 'P', 'X', '^', '_':
		for i := 2; i < len(s); i++ {
			if s[i] == '\a' {
				return s[:i+1]
			}
			if s[i] == '\x1b' {
				if i+1 < len(s) && s[i+1] == '\\' {
					return s[:i+2]
				}
				return s[:i]
			}
		}
		return s
	}
	return s[:1]
}

func sgr(seq string) bool {
	if len(seq) < 3 || seq[1] != '[' || seq[len(seq)-1] != 'm' {
		return false
	}
	return strings.Trim(seq[2:len(seq)-1], "0123456789;:") == ""
}

// after is the style that is open behind a line which began with open.
func after(line, open string) string {
	for {
		i := strings.IndexByte(line, '\x1b')
		if i < 0 {
			return open
		}
		seq := sequence(line[i:])
		line = line[i+len(seq):]
		if p := seq[2 : len(seq)-1]; p == "" || p == "0" {
			open = ""
		} else {
			open += seq
		}
	}
}

// trimBlank drops the padding that glamour leaves at line ends, sequences of it included.
func trimBlank(line string) string {
	end, i := 0, 0
	closed := ""
	for i < len(line) {
		switch c := line[i]; {
		case c == '\x1b':
			seq := sequence(line[i:])
			i += len(seq)
			if end > 0 && (seq == reset || seq == "\x1b[0m") && closed == "" {
				closed = seq
			}
		case c == ' ':
			i++
		default:
			i++
			end, closed = i, ""
		}
	}
	return line[:end] + closed
}
