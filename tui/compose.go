package tui

import (
	"strings"

	"vise/tui/layout"
	"vise/tui/style"
)

// box is a pane within its border, cached until something it shows changes.
type box struct {
	rows []string
	key  boxKey
}

type boxKey struct {
	w, h    int
	version uint64
	epoch   uint64
	focus   bool
	number  int
}

// thumber is a pane with a list that is longer than the pane is high.
type thumber interface{ Thumb() (at, length int) }

// marker is a pane that shows in its scroll bar where a search has matches.
type marker interface {
	// Marks are rows of the pane's inside, in order.
	Marks() []int
}

// boxed returns exactly h rows of w cells: the border with title, badge and scroll
// bar around the pane's rows.
func boxed(b *box, s *style.Style, p Pane, number, w, h int, focus bool) []string {
	key := boxKey{w, h, p.Version(), s.Epoch(), focus, number}
	if b.rows != nil && b.key == key {
		return b.rows
	}
	b.key = key
	if w < 4 || h < 3 {
		b.rows = s.Fit(nil, w, h)
		return b.rows
	}
	line, title := style.Border, style.Title
	if focus {
		line, title = style.BorderOn, style.TitleOn
	}
	g := s.Glyphs.Box
	rows := make([]string, 0, h)

	top := s.Row(w, style.Plain)
	top.Put(line, g.TopLeft)
	mark := " "
	if focus {
		mark = s.Glyphs.Pointer // the focus is more than a colour
	}
	top.Put(title, s.Cut(mark+digit(number)+" "+p.Title(), top.Left()-3)+" ")
	badge := p.Badge()
	room := top.Left() - 2
	if badge != "" && room > 6 {
		badge = " " + s.Cut(s.Clean(badge), room-3) + " "
	} else {
		badge = ""
	}
	n := max(0, top.Left()-s.Width(badge)-2)
	top.Put(line, strings.Repeat(g.H, n))
	top.Put(title, badge)
	top.Put(line, strings.Repeat(g.H, max(0, top.Left()-1)))
	top.Put(line, g.TopRight)
	rows = append(rows, top.String())

	marks := map[int]bool{}
	if m, ok := p.(marker); ok {
		for _, row := range m.Marks() {
			marks[row] = true
		}
	}
	left := s.PaintOn(line, style.Plain, g.V)
	thumbAt, thumbLen := 0, 0
	if t, ok := p.(thumber); ok {
		thumbAt, thumbLen = t.Thumb()
	}
	thumb := s.PaintOn(style.BorderOn, style.Plain, g.Thumb)
	hit := s.PaintOn(style.Accent, style.Plain, g.Hit)
	inner := p.Rows()
	for i := range h - 2 {
		row, edge := s.Blank(w-2), left
		if i < len(inner) {
			row = inner[i]
		}
		if thumbLen > 0 && i >= thumbAt && i < thumbAt+thumbLen {
			edge = thumb
		}
		if marks[i] {
			edge = hit
		}
		rows = append(rows, left+row+edge) // one allocation of the right size
	}
	bottom := s.Row(w, style.Plain)
	bottom.Put(line, g.BottomLeft+strings.Repeat(g.H, max(0, w-2))+g.BottomRight)
	b.rows = append(rows, bottom.String())
	return b.rows
}

func digit(n int) string {
	if n <= 0 {
		return ""
	}
	return string(rune('0' + n%10))
}

// body writes the placed boxes row by row: they tile the area, so every row is
// those that cover it, from left to right.
func body(out *strings.Builder, area layout.Rect, placed []layout.Placed, rows [][]string) {
	for y := area.Y; y < area.Y+area.H; y++ {
		if y > area.Y {
			out.WriteByte('\n')
		}
		for x := area.X; x < area.X+area.W; {
			next := x
			for i, p := range placed {
				if p.Rect.Contains(x, y) {
					out.WriteString(rows[i][y-p.Rect.Y])
					next = x + p.Rect.W
					break
				}
			}
			if next == x {
				break
			}
			x = next
		}
	}
}
