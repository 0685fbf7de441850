package tui

import (
	"regexp"
	"strings"
)

// glance bounds what a row shows of a long text, in runes.
const glance = 200

// firstLine is what a list shows of a long text: its first line, or of JSON, which
// may be laid out over many lines, its beginning without the layout.
func firstLine(s string) string {
	s = strings.TrimSpace(s)
	if laidOut.MatchString(s) {
		s = compact(s)
	}
	if i := strings.IndexByte(s, '\n'); i >= 0 {
		s = s[:i]
	}
	n := 0
	for i := range s {
		if n++; n > glance {
			return s[:i]
		}
	}
	return s
}

// laidOut is how JSON begins that is laid out over lines: a bracket, and the next
// token after a line break.
var laidOut = regexp.MustCompile("^[{\\[][ \t\r]*\n\\s*[-\"{}\\[\\]0-9tfn]")

// compact takes the white space between the tokens out of the beginning of a JSON
// text. It reads no more than a row can show, however long the text is, and so does
// not parse it: what is no JSON comes out with its white space folded.
func compact(s string) string {
	var b strings.Builder
	quoted, escaped, gap := false, false, false
	for _, c := range []byte(s) {
		if b.Len() > 4*glance {
			break
		}
		space := c == ' ' || c == '\t' || c == '\n' || c == '\r'
		if space && (!quoted || c != ' ') {
			gap = true
			continue
		}
		if gap && (quoted || between(b.String(), c)) {
			b.WriteByte(' ')
		}
		gap = false
		b.WriteByte(c)
		switch {
		case escaped:
			escaped = false
		case quoted && c == '\\':
			escaped = true
		case c == '"':
			quoted = !quoted
		}
	}
	return strings.ToValidUTF8(b.String(), "")
}

// between reports whether white space between two bytes parts words: in JSON it does not.
func between(before string, next byte) bool {
	const marks = "{}[],:\""
	return before != "" && !strings.ContainsRune(marks, rune(before[len(before)-1])) && !strings.ContainsRune(marks, rune(next))
}
