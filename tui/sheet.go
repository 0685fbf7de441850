package tui

import (
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"vise/engine/guard"
	"vise/tui/style"
	"vise/tui/vtext"
)

// sheet is a surface with title and badge, and the rows that panes of records are
// made of.
type sheet struct {
	surface
	title string
	badge string
}

func newSheet(id PaneID, title string) sheet { return sheet{surface: surface{id: id}, title: title} }

// Title is the noun in the border.
func (s *sheet) Title() string { return s.title }

// Badge is the state at the right of the border.
func (s *sheet) Badge() string { return s.badge }

// label sets the badge.
func (s *sheet) label(badge string) {
	if s.badge != badge {
		s.badge = badge
		s.bump()
	}
}

// see keeps the context; true when the look is another one, at the first call too.
func (s *sheet) see(ctx *Context, c Change) bool {
	first := s.ctx == nil
	s.ctx = ctx
	if first || c.Style {
		s.bump()
		return true
	}
	return false
}

// st is the present look; only after the first Apply.
func (s *sheet) st() *style.Style { return s.ctx.Style }

// line starts a row on no particular ground.
func (s *sheet) line() *style.Row { return s.st().Row(s.w, style.Plain) }

// part is a sheet of another width for a part of a row.
func (s *sheet) part(w int) *sheet { return &sheet{surface: surface{ctx: s.ctx, w: w}} }

// asText is a hang by which wrapped rows go on behind the line's own indentation.
const asText = -1

// wrapped are rows of a text in one role, indented as a block; limit bounds the
// rows (0 = none) and says when more were left out.
func (s *sheet) wrapped(role style.Role, text string, indent, hang, limit int) []string {
	var out []string
	for line := range strings.SplitSeq(strings.TrimRight(guard.Visible(text), "\n"), "\n") {
		line = s.st().Clean(strings.ReplaceAll(line, "\t", "    "))
		by := hang
		if hang == asText {
			by = len(line) - len(strings.TrimLeft(line, " "))
			if by > 0 {
				by += 2
			}
		}
		for _, r := range vtext.Wrap(line, max(1, s.w-indent), by, s.st().Width) {
			if limit > 0 && len(out) == limit {
				return append(out, s.line().Space(indent).Put(style.Faint, s.st().Glyphs.Ellipsis+" more").String())
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
	return r.Put(style.Border, strings.Repeat(s.st().Glyphs.Box.H, r.Left())).String()
}

// hint is what an empty pane says: what would fill it, and which key does that.
func (s *sheet) hint(lines ...string) []string {
	var out []string
	for i, l := range lines {
		role := style.Dim
		if i > 0 {
			role = style.Faint
		}
		out = append(out, s.wrapped(role, s.ctx.Text(l), 1, 0, 0)...)
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
