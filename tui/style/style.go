// Package style turns a theme into cells: precomputed escape prefixes for every
// role, one width function for the whole program, and rows of exactly w cells.
//
// Every text that reaches a cell passes through here and is made harmless here
// (guard.Visible), so that nothing recorded can drive the terminal, whichever
// pane forgot about it.
package style

import (
	"strings"

	"vise/themes"
)

// Role is what a piece of the screen means; see package themes.
type Role = themes.Role

// The roles of package themes under shorter names.
const (
	Text       = themes.Text
	Dim        = themes.Dim
	Faint      = themes.Faint
	Strong     = themes.Strong
	Accent     = themes.Accent
	Bad        = themes.Bad
	Good       = themes.Good
	Warn       = themes.Warn
	Info       = themes.Info
	Heading    = themes.Heading
	Title      = themes.Title
	TitleOn    = themes.TitleOn
	Key        = themes.Key
	KeyText    = themes.KeyText
	Header     = themes.Header
	SpanLLM    = themes.SpanLLM
	SpanTool   = themes.SpanTool
	SpanAgent  = themes.SpanAgent
	SpanChain  = themes.SpanChain
	Number     = themes.Number
	Spark      = themes.Spark
	MDHead     = themes.MDHead
	MDCode     = themes.MDCode
	MDLink     = themes.MDLink
	MDQuote    = themes.MDQuote
	SynKey     = themes.SynKey
	SynText    = themes.SynText
	SynNum     = themes.SynNum
	SynNote    = themes.SynNote
	Added      = themes.Added
	Removed    = themes.Removed
	Border     = themes.Border
	BorderOn   = themes.BorderOn
	Track      = themes.Track
	Cursor     = themes.Cursor
	CursorIdle = themes.CursorIdle
	Match      = themes.Match
	Panel      = themes.Panel
)

// Plain is the ground of a row that is not marked: the terminal's own background.
const Plain = Role(0)

// Reset ends every styled segment.
const Reset = "\x1b[m"

// Options say how a theme is drawn.
type Options struct {
	// NoColor keeps bold, underline and reverse and leaves every colour out (NO_COLOR).
	NoColor bool
	// ASCII uses no character outside ASCII for marks and lines.
	ASCII bool
	// Words uses words for marks and no lines at all.
	Words bool
	// Graphemes: the terminal reported mode 2027, so that widths are those of
	// grapheme clusters; else those of wcwidth.
	Graphemes bool
	// Fill paints the theme's background into every cell: for a theme whose
	// appearance is not that of the terminal.
	Fill bool
	// Links: the terminal takes hyperlinks (OSC 8).
	Links bool
	// Epoch is part of every cache key that depends on the style.
	Epoch uint64
}

// Style is a theme ready to draw with. It is never changed: another theme is
// another Style with another epoch.
type Style struct {
	Glyphs Glyphs
	theme  *themes.Theme
	o      Options
	prefix [themes.RoleCount][grounds]string
}

const grounds = 1 + int(themes.Panel-themes.Cursor) + 1

// slot is the place of a ground in the prefix table: 0 is Plain.
func slot(ground Role) int {
	if ground.Ground() {
		return int(ground-themes.Cursor) + 1
	}
	return 0
}

// New precomputes a style.
func New(t *themes.Theme, o Options) *Style {
	s := &Style{theme: t, o: o, Glyphs: Unicode}
	switch {
	case o.Words:
		s.Glyphs = Words
	case o.ASCII:
		s.Glyphs = ASCII
	}
	for r := range themes.RoleCount {
		s.prefix[r][0] = s.sgr(Role(r), Plain)
		for g := themes.Cursor; g <= themes.Panel; g++ {
			s.prefix[r][slot(g)] = s.sgr(Role(r), g)
		}
	}
	return s
}

// sgr is the escape sequence that a segment starts with.
func (s *Style) sgr(role, ground Role) string {
	look := s.theme.Roles[role]
	under := themes.Look{}
	if ground.Ground() {
		under = s.theme.Roles[ground]
	}
	reverse, underline := look.Reverse || under.Reverse, look.Underline || under.Underline
	if s.o.NoColor {
		reverse = reverse || ground == Cursor
		underline = underline || ground == CursorIdle || ground == Match
	}
	var p []string
	for _, a := range []struct {
		on   bool
		code string
	}{{look.Bold || under.Bold, "1"}, {look.Italic || under.Italic, "3"}, {underline, "4"}, {reverse, "7"}} {
		if a.on {
			p = append(p, a.code)
		}
	}
	if !s.o.NoColor {
		fg, bg := look.Fg, look.Bg
		if under.Fg != nil {
			fg = under.Fg
		}
		if ground.Ground() {
			bg = under.Bg
		}
		if bg == nil && s.o.Fill {
			bg = &s.theme.Background
		}
		if fg != nil && fg.Own != themes.Default {
			p = append(p, fg.SGR(false))
		}
		if bg != nil && bg.Own != themes.Default {
			p = append(p, bg.SGR(true))
		}
	}
	if len(p) == 0 {
		return ""
	}
	return "\x1b[" + strings.Join(p, ";") + "m"
}

// Theme is the theme the style draws.
func (s *Style) Theme() *themes.Theme { return s.theme }

// Options are those the style was made with.
func (s *Style) Options() Options { return s.o }

// Epoch changes with every change of look; cache keys carry it.
func (s *Style) Epoch() uint64 { return s.o.Epoch }

// Look is how a role is drawn, for renderers that want colours instead of cells.
func (s *Style) Look(r Role) themes.Look { return s.theme.Roles[r] }

// Prefix is the escape sequence a segment of the role on the ground starts with;
// Reset ends it. It is empty when there is nothing to say.
func (s *Style) Prefix(role, ground Role) string { return s.prefix[role][slot(ground)] }

// Paint styles one text without measuring it. The text is made harmless first.
func (s *Style) Paint(role Role, text string) string { return s.PaintOn(role, Plain, text) }

// PaintOn is Paint on a ground.
func (s *Style) PaintOn(role, ground Role, text string) string {
	text = s.Clean(text)
	p := s.Prefix(role, ground)
	if p == "" || text == "" {
		return text
	}
	return p + text + Reset
}
