package tui

import (
	"strings"

	"github.com/alecthomas/chroma/v2"
	"github.com/alecthomas/chroma/v2/lexers"

	"vise/tui/style"
)

// Bounds of highlighting: it runs where rows are made, and a line of a patch may be
// anything.
const (
	highlightLines = 200 // lines of a patch that are coloured by their syntax
	highlightLine  = 400 // bytes of one
)

// highlighter colours lines of one file by its language, which its name tells. A line
// is taken by itself: what a token began lines before is not known in a patch.
type highlighter struct{ lexer chroma.Lexer }

func highlight(path string) highlighter {
	l := lexers.Match(path)
	if l == nil {
		return highlighter{}
	}
	return highlighter{chroma.Coalesce(l)}
}

// piece is a part of a line with its role.
type piece struct {
	role style.Role
	text string
}

// pieces cuts a line into its tokens; plain is the role of those without one of their
// own. The texts together are the line.
func (h highlighter) pieces(line string, plain style.Role) []piece {
	if h.lexer == nil || len(line) > highlightLine {
		return []piece{{plain, line}}
	}
	tokens, err := h.lexer.Tokenise(nil, line)
	if err != nil {
		return []piece{{plain, line}}
	}
	var out []piece
	for t := tokens(); t != chroma.EOF; t = tokens() {
		text := strings.TrimRight(t.Value, "\n")
		if text == "" {
			continue
		}
		role := plain
		switch c := t.Type; {
		case c.InCategory(chroma.Comment):
			role = style.SynNote
		case c.InCategory(chroma.Keyword), c == chroma.NameBuiltin, c == chroma.NameTag, c == chroma.NameDecorator:
			role = style.SynKey
		case c.InSubCategory(chroma.LiteralNumber):
			role = style.SynNum
		case c.InCategory(chroma.Literal):
			role = style.SynText
		}
		out = append(out, piece{role, text})
	}
	return out
}
