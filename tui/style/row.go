package style

import (
	"strconv"
	"strings"
)

// Row builds one row of exactly w cells from segments. Make it with Style.Row,
// put segments left to right, take it with String. What does not fit is cut with
// an ellipsis; what is missing is filled.
type Row struct {
	s      *Style
	b      strings.Builder
	w      int
	used   int
	ground Role
	link   string
}

// Row starts a row of w cells on a ground: Plain, Cursor, CursorIdle, Match or Panel.
func (s *Style) Row(w int, ground Role) *Row {
	r := &Row{s: s, w: max(0, w), ground: ground}
	r.b.Grow(w + 64)
	return r
}

// Link makes what is put from here on a hyperlink to an address, "" ends it. Where the
// terminal takes none nothing changes. The address must have no control characters.
func (r *Row) Link(address string) *Row {
	if r.s.o.Links {
		r.link = address
	}
	return r
}

// Left is the number of cells that are still free.
func (r *Row) Left() int { return r.w - r.used }

// Put appends a text as far as it fits.
func (r *Row) Put(role Role, text string) *Row { return r.PutOn(role, r.ground, text) }

// PutOn is Put on a ground of its own: a search hit within the row.
func (r *Row) PutOn(role, ground Role, text string) *Row {
	r.put(role, ground, r.s.Cut(r.s.Clean(text), r.Left()))
	return r
}

// Cell appends a text in exactly w cells, at the left of them. Where marks are words
// nothing aligns: the cell is as wide as its text needs, and a gap follows.
func (r *Row) Cell(role Role, text string, w int) *Row {
	w = min(w, r.Left())
	if w <= 0 {
		return r
	}
	if r.s.o.Words {
		text = r.s.Cut(r.s.Clean(text), max(w-gap, wordCell))
		n := r.s.Width(text)
		return r.Put(role, text).Space(max(gap, w-n))
	}
	text = r.s.Cut(r.s.Clean(text), w)
	n := w - r.s.Width(text)
	r.put(role, r.ground, text)
	return r.Space(n)
}

// Right appends a text in exactly w cells, at the right of them: numbers align.
func (r *Row) Right(role Role, text string, w int) *Row {
	w = min(w, r.Left())
	if w <= 0 {
		return r
	}
	if r.s.o.Words {
		text = r.s.Cut(r.s.Clean(text), max(w, wordCell))
		return r.Space(max(gap, w-r.s.Width(text))).Put(role, text)
	}
	text = r.s.Cut(r.s.Clean(text), w)
	r.Space(w - r.s.Width(text))
	r.put(role, r.ground, text)
	return r
}

// gap is what tells two columns apart where marks are words; wordCell is what a word
// may take in a narrower column there.
const (
	gap      = 2
	wordCell = 14
)

// Int is Right for a whole number.
func (r *Row) Int(role Role, n, w int) *Row { return r.Right(role, strconv.Itoa(n), w) }

// Space appends n empty cells.
func (r *Row) Space(n int) *Row {
	n = min(n, r.Left())
	if n <= 0 {
		return r
	}
	r.put(Text, r.ground, Spaces(n))
	return r
}

// Fill appends empty cells until only n are left: what follows stands at the right end.
func (r *Row) Fill(n int) *Row { return r.Space(r.Left() - n) }

// Styled appends a text that is styled already and known to be safe (markdown
// rendered by our own renderer), as far as it fits.
func (r *Row) Styled(text string) *Row {
	text = r.s.Cut(text, r.Left())
	r.b.WriteString(text)
	r.b.WriteString(Reset)
	r.used += r.s.Width(text)
	return r
}

func (r *Row) put(role, ground Role, text string) {
	if text == "" {
		return
	}
	if r.link != "" && strings.TrimLeft(text, " ") != "" {
		r.b.WriteString("\x1b]8;;" + r.link + "\x1b\\")
		defer r.b.WriteString("\x1b]8;;\x1b\\")
	}
	if p := r.s.Prefix(role, ground); p != "" {
		r.b.WriteString(p)
		r.b.WriteString(text)
		r.b.WriteString(Reset)
	} else {
		r.b.WriteString(text)
	}
	r.used += r.s.Width(text)
}

// String fills the row and returns it.
func (r *Row) String() string {
	r.Space(r.Left())
	return r.b.String()
}

// Blank is an empty row of w cells.
func (s *Style) Blank(w int) string {
	if s.Prefix(Text, Plain) == "" || !s.o.Fill {
		return Spaces(w)
	}
	return s.Row(w, Plain).String()
}

// Grounded puts the theme's background under every cell of a frame that has none of its
// own, when the style paints it: rows are made in many places, and one blank that is left
// out is a hole, one text of a light theme unreadable on a dark terminal.
func (s *Style) Grounded(frame string) string {
	ground := s.Prefix(Text, Plain)
	if !s.o.Fill || s.o.NoColor || ground == "" {
		return frame
	}
	return ground + strings.NewReplacer(Reset, Reset+ground, "\x1b[0m", Reset+ground, "\n", "\n"+ground).Replace(frame) + Reset
}

// Fit makes exactly h rows of w cells out of rows that have w cells already: it
// drops those too many and adds empty ones.
func (s *Style) Fit(rows []string, w, h int) []string {
	if len(rows) > h {
		return rows[:max(0, h)]
	}
	for len(rows) < h {
		rows = append(rows, s.Blank(w))
	}
	return rows
}
