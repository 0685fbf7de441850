package tui

import (
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"vise/tui/style"
)

// overlay is a card over the panes. The topmost one gets all keys.
type overlay interface {
	// Key handles a key; the overlay closes itself through App.close.
	Key(a *App, k tea.KeyPressMsg) tea.Cmd
	// Card returns title and rows of w cells each, at most h of them, and where the
	// text cursor is within them (x < 0: none).
	Card(a *App, w, h int) (title string, rows []string, x, y int)
}

// paster is an overlay with a text input.
type paster interface {
	Paste(a *App, m tea.PasteMsg) tea.Cmd
}

// wide is an overlay that takes all the width there is.
type wide interface{ Wide() }

// openLate opens a card that had to be read first, unless something else was begun
// meanwhile: what is typed then is that one's.
func (a *App) openLate(o overlay) tea.Cmd {
	if len(a.overlays) > 0 || a.search != nil && a.search.typing || a.filtering != nil {
		return nil
	}
	return a.open(o)
}

func (a *App) open(o overlay) tea.Cmd {
	a.overlays = append(a.overlays, o)
	a.touch()
	return nil
}

// close takes the topmost overlay away.
func (a *App) close() tea.Cmd {
	if n := len(a.overlays); n > 0 {
		a.overlays = a.overlays[:n-1]
	}
	a.touch()
	return nil
}

// splice draws an overlay into the rows of the frame, in the middle.
func (a *App) splice(rows []string, o overlay) []string {
	s := a.ctx.Style
	w := min(a.w-4, 84)
	if _, ok := o.(wide); ok {
		w = a.w - 4
	}
	h := max(3, min(a.h-4, 30))
	title, inner, cx, cy := o.Card(a, w-4, h-2)
	if len(inner) > h-2 {
		inner = inner[:h-2]
	}
	g := s.Glyphs.Box
	x, y := (a.w-w)/2, max(0, (a.h-len(inner)-2)/3)
	card := make([]string, 0, len(inner)+2)
	top := s.Row(w, style.Panel).Put(style.BorderOn, g.TopLeft+g.H).Put(style.TitleOn, " "+title+" ")
	card = append(card, top.Put(style.BorderOn, strings.Repeat(g.H, max(0, top.Left()-1))+g.TopRight).String())
	side := s.PaintOn(style.BorderOn, style.Panel, g.V)
	gap := s.PaintOn(style.Text, style.Panel, " ")
	for _, r := range inner {
		card = append(card, side+gap+r+gap+side)
	}
	card = append(card, s.Row(w, style.Panel).Put(style.BorderOn, g.BottomLeft+strings.Repeat(g.H, max(0, w-2))+g.BottomRight).String())
	for i, c := range card {
		if y+i >= len(rows) {
			break
		}
		rows[y+i] = lay(s, rows[y+i], c, x, w, a.w)
	}
	if cx >= 0 {
		a.cursorAt = tea.NewCursor(x+2+cx, y+1+cy)
	}
	return rows
}

// lay puts w styled cells over a styled row of total cells at x. A wide character that the
// edge would cut becomes a space.
func lay(s *style.Style, row, over string, x, w, total int) string {
	// Not ansi.CutWc: in x/ansi 0.11.9 it cuts the wrong end.
	head, tail := ansi.TruncateWc, ansi.TruncateLeftWc
	if s.Options().Graphemes {
		head, tail = ansi.Truncate, ansi.TruncateLeft
	}
	left, right := head(row, x, ""), tail(row, x+w, "")
	left += style.Reset + style.Spaces(x-s.Width(left))
	right = style.Reset + style.Spaces(total-x-w-s.Width(right)) + right
	return left + over + right + style.Reset
}
