package tui

import (
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"vise/engine/guard"
	"vise/tui/style"
	"vise/tui/vtext"
)

// sheet is what all panes share: size, focus, look, version and the rows drawn last.
type sheet struct {
	id      PaneID
	title   string
	badge   string
	w, h    int
	focus   bool
	style   *style.Style
	version uint64
	drawn   uint64
	rows    []string
}

func newSheet(ctx *Context, id PaneID, title string) sheet {
	return sheet{id: id, title: title, style: ctx.Style, version: 1}
}

// ID names the pane.
func (s *sheet) ID() PaneID { return s.id }

// Title is the noun in the border.
func (s *sheet) Title() string { return s.title }

// Badge is the state at the right of the border.
func (s *sheet) Badge() string { return s.badge }

// Version is raised by every change of what is shown.
func (s *sheet) Version() uint64 { return s.version }

func (s *sheet) bump() { s.version++ }

// resize sets the size and tells whether it is another one.
func (s *sheet) resize(w, h int) bool {
	w, h = max(0, w), max(0, h)
	if w == s.w && h == s.h {
		return false
	}
	s.w, s.h = w, h
	s.bump()
	return true
}

// SetFocus tells whether keys go to the pane.
func (s *sheet) SetFocus(on bool) {
	if s.focus != on {
		s.focus = on
		s.bump()
	}
}

// label sets the badge.
func (s *sheet) label(badge string) {
	if s.badge != badge {
		s.badge = badge
		s.bump()
	}
}

// restyle takes over the look of the context; true when it is another one.
func (s *sheet) restyle(ctx *Context) bool {
	if s.style == ctx.Style {
		return false
	}
	s.style = ctx.Style
	s.bump()
	return true
}

// paint returns the rows drawn last, or draws them anew after a change.
func (s *sheet) paint(draw func() []string) []string {
	if s.rows == nil || s.drawn != s.version {
		s.rows, s.drawn = s.style.Fit(draw(), s.w, s.h), s.version
	}
	return s.rows
}

// ground is that of the row under the cursor.
func (s *sheet) ground(selected bool) style.Role {
	switch {
	case !selected:
		return style.Plain
	case s.focus:
		return style.Cursor
	}
	return style.CursorIdle
}

// line starts a row on no particular ground.
func (s *sheet) line() *style.Row { return s.style.Row(s.w, style.Plain) }

// wrapped are rows of a text in one role, indented as a block; limit bounds the
// rows (0 = none) and says when more were left out.
func (s *sheet) wrapped(role style.Role, text string, indent, hang, limit int) []string {
	var out []string
	for line := range strings.SplitSeq(strings.TrimRight(guard.Visible(text), "\n"), "\n") {
		line = s.style.Clean(strings.ReplaceAll(line, "\t", "    "))
		for _, r := range vtext.Wrap(line, max(1, s.w-indent), hang, s.style.Width) {
			if limit > 0 && len(out) == limit {
				return append(out, s.line().Space(indent).Put(style.Faint, s.style.Glyphs.Ellipsis+" more").String())
			}
			out = append(out, s.line().Space(indent).Put(role, r).String())
		}
	}
	return out
}

// rule is a hairline with an optional word at its left.
func (s *sheet) rule(word string) string {
	r := s.line()
	if word != "" {
		r.Put(style.Heading, word).Space(1)
	}
	return r.Put(style.Border, strings.Repeat(s.style.Glyphs.Box.H, r.Left())).String()
}

// hint is what an empty pane says: what would fill it, and which key does that.
func (s *sheet) hint(lines ...string) []string {
	var out []string
	for i, l := range lines {
		role := style.Dim
		if i > 0 {
			role = style.Faint
		}
		out = append(out, s.wrapped(role, l, 1, 0, 0)...)
	}
	return out
}

// ready makes lines for a vtext.Text of rows that are drawn already.
func ready(rows []string) []vtext.Line {
	out := make([]vtext.Line, len(rows))
	for i, r := range rows {
		out[i] = vtext.Line{Text: r, Ready: true}
	}
	return out
}

// tag is an id short enough for a row: of a ULID its kind and its end, by which
// ids are told apart.
func tag(id string) string {
	const ulid = 26
	if kind, rest, ok := strings.Cut(id, "-"); ok && len(rest) == ulid {
		return kind + "-" + rest[ulid-6:]
	}
	return id
}

// stamp is the RFC 3339 time of a record as a clock.
func stamp(text string) string {
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return text
	}
	return clock(t)
}

func clock(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.Local().Format("15:04:05")
}

// later sends a message to a pane after a while: panes that wait for something
// which no event tells of look again.
func later(pane PaneID, name string, after time.Duration) tea.Cmd {
	return tea.Tick(after, func(time.Time) tea.Msg { return wake{pane, name} })
}

// wake is the message of later.
type wake struct {
	pane PaneID
	name string
}

// For is the pane that waits.
func (w wake) For() PaneID { return w.pane }

// failed tells of an error in the footer; nil for none.
func failed(err error, what string) tea.Cmd {
	if err == nil {
		return nil
	}
	return func() tea.Msg { return sayMsg{what + ": " + err.Error(), style.Bad} }
}
