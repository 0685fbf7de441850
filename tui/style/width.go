package style

import (
	"strings"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
	"github.com/clipperhouse/uax29/v2/graphemes"

	"vise/engine/guard"
)

// Width is the number of cells a text takes, styled or not. It is the only width
// function of the program and follows the renderer: wcwidth, or grapheme clusters
// once the terminal has reported mode 2027.
func (s *Style) Width(text string) int {
	if n, ok := narrow(text); ok {
		return n
	}
	if s.o.Graphemes {
		return ansi.StringWidth(text)
	}
	return ansi.StringWidthWc(text)
}

// Cut shortens a text to at most w cells; a text that was cut ends in an ellipsis.
func (s *Style) Cut(text string, w int) string {
	if w <= 0 {
		return ""
	}
	if s.Width(text) <= w {
		return text
	}
	if plainASCII(text) {
		return text[:max(0, w-s.Width(s.Glyphs.Ellipsis))] + s.Glyphs.Ellipsis
	}
	if strings.IndexByte(text, '\x1b') >= 0 {
		if s.o.Graphemes {
			return ansi.Truncate(text, w, s.Glyphs.Ellipsis)
		}
		return ansi.TruncateWc(text, w, s.Glyphs.Ellipsis)
	}
	room, used, end := w-s.Width(s.Glyphs.Ellipsis), 0, 0
	for seg := graphemes.FromString(text); seg.Next(); {
		n := s.Width(seg.Value())
		if used+n > room {
			break
		}
		used, end = used+n, seg.End()
	}
	return text[:end] + s.Glyphs.Ellipsis
}

// CutLeft shortens a text to at most w cells by its beginning.
func (s *Style) CutLeft(text string, w int) string {
	have := s.Width(text)
	if w <= 0 {
		return ""
	}
	if have <= w {
		return text
	}
	e := s.Glyphs.Ellipsis
	if s.o.Graphemes {
		return ansi.TruncateLeft(text, have-w+1, e)
	}
	return ansi.TruncateLeftWc(text, have-w+1, e)
}

// Pad fills a text with spaces to w cells and cuts a longer one.
func (s *Style) Pad(text string, w int) string {
	text = s.Cut(text, w)
	if n := w - s.Width(text); n > 0 {
		return text + Spaces(n)
	}
	return text
}

// Clean makes a text safe for one row: control characters, escapes and hidden
// characters become visible, line ends and tabs become spaces, and clusters on
// whose width terminals disagree (emoji joined or selected) get one safe form.
func (s *Style) Clean(text string) string {
	if _, ok := narrow(text); ok {
		return text
	}
	text = guard.Visible(text)
	if strings.ContainsAny(text, "\n\t") {
		text = strings.NewReplacer("\n", " ", "\t", " ").Replace(text)
	}
	if s.o.Graphemes || !strings.ContainsAny(text, "\u200d\ufe0f\ufe0e") && !hasModifier(text) {
		return text
	}
	var b strings.Builder
	seg := graphemes.FromString(text)
	for seg.Next() {
		c := seg.Value()
		if len(c) < 4 || ansi.StringWidth(c) == ansi.StringWidthWc(c) && !strings.Contains(c, "\u200d") {
			b.WriteString(c)
			continue
		}
		r, n := utf8.DecodeRuneInString(c)
		if strings.ContainsAny(c, "\u200d\ufe0f\ufe0e") || isModifier(c[n:]) {
			b.WriteRune(r) // the picture without its variation
			continue
		}
		b.WriteString(c)
	}
	return b.String()
}

// Emoji skin tones combine with what is before them in some terminals only.
func hasModifier(s string) bool { return strings.ContainsAny(s, "🏻🏼🏽🏾🏿") }

func isModifier(s string) bool {
	r, _ := utf8.DecodeRuneInString(s)
	return r >= 0x1f3fb && r <= 0x1f3ff
}

// plainASCII reports text that is its own safe form with one cell a byte.
func plainASCII(s string) bool {
	for i := range len(s) {
		if s[i] < 0x20 || s[i] >= 0x7f {
			return false
		}
	}
	return true
}

// narrow reports text of harmless characters of one cell each, and how many they
// are: most of what the program draws, without the cost of measuring it.
func narrow(s string) (cells int, ok bool) {
	for i := 0; i < len(s); cells++ {
		if c := s[i]; c < utf8.RuneSelf {
			if c < 0x20 || c == 0x7f {
				return 0, false
			}
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		if !narrowRune(r) {
			return 0, false
		}
		i += n
	}
	return cells, true
}

// narrowRune lists Latin letters, punctuation, arrows, operators, lines, blocks and
// the marks of our glyphs. None of them joins with a neighbour.
func narrowRune(r rune) bool {
	switch {
	case r >= 0xa1 && r <= 0xff && r != 0xad, r >= 0x100 && r <= 0x17f, r >= 0x2010 && r <= 0x2015, r >= 0x2018 && r <= 0x2026,
		r >= 0x2190 && r <= 0x2193, r >= 0x2260 && r <= 0x2265, r >= 0x2500 && r <= 0x259f:
		return true
	}
	switch r {
	case '▲', '▸', '▼', '▾', '◆', '○', '●', '◼', '✓', '✕':
		return true
	}
	return false
}

const blanks = "                                                                                                                                "

// Spaces returns n spaces; none for n < 1.
func Spaces(n int) string {
	if n <= 0 {
		return ""
	}
	if n <= len(blanks) {
		return blanks[:n]
	}
	return strings.Repeat(" ", n)
}
