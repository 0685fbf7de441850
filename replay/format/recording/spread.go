package recording

import "encoding/json"

// Bounds of a record that is printed over several lines.
const (
	maxSpreadLines = 1 << 20
	maxSpreadBytes = 64 << 20
	maxDepth       = 10_000 // levels of nesting that encoding/json reads
)

// nesting follows the brackets of a text line by line.
type nesting struct {
	depth, deepest int
	text           bool // in the middle of a text
	over           bool // the outermost bracket was closed
}

// feed takes one more line; false when the text goes on behind its outermost bracket.
func (n *nesting) feed(line []byte) bool {
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case n.text:
			if c == '\\' {
				i++
			} else if c == '"' {
				n.text = false
			}
		case c == ' ' || c == '\t' || c == '\r':
		case n.over:
			return false
		case c == '"':
			n.text = true
		case c == '{' || c == '[':
			n.depth++
			n.deepest = max(n.deepest, n.depth)
		case c == '}' || c == ']':
			n.depth--
			n.over = n.depth <= 0
		}
	}
	return true
}

// spread starts to collect a record that is printed over several lines, if the held
// text may be the beginning of one: it breaks off between two values.
func (l *lineReader) spread() {
	var n nesting
	if n.feed(l.held) && !n.text && !n.over && n.depth > 0 {
		l.nest = &n
	}
}

// collect takes the next line of such a record; false when the line is none of it:
// an object at the very start of a line is the next record.
func (l *lineReader) collect(ln line) (bool, error) {
	if ln.long > 0 || len(ln.data) > 0 && ln.data[0] == '{' ||
		l.count >= maxSpreadLines || len(l.held)+len(ln.data) > maxSpreadBytes || !l.nest.feed(ln.data) || l.nest.text {
		l.nest = nil
		l.flush("record is cut off")
		return false, nil
	}
	l.held = append(append(l.held, '\n'), ln.data...)
	l.heldAt.Bytes = int(ln.offset-l.heldAt.Offset) + len(ln.data)
	l.count++
	if !l.nest.over {
		return true, nil
	}
	l.nest = nil
	whole, at := l.held, l.heldAt
	if !json.Valid(whole) {
		l.flush("not JSON, printed over several lines")
		return true, nil
	}
	l.held = nil
	ok, err := l.try(whole, at.Line, at.Offset, false, true)
	if ok {
		l.spreads++
	}
	return true, err
}
