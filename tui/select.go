package tui

import (
	"strings"
	"time"
	"unicode"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"vise/tui/layout"
	"vise/tui/style"
)

// marking is text that the mouse has marked in a pane, in cells of its inside. The end
// is included. It ends with the next key, click or turn of the wheel.
type marking struct {
	pane       PaneID
	from, to   cell
	on         bool // something is marked
	down       bool // the button is held
	clicks     int  // 2 marks words, 3 rows
	at         time.Time
	start, end cell // what the first click marked, by words or rows
}

type cell struct{ x, y int }

func (c cell) before(d cell) bool { return c.y < d.y || c.y == d.y && c.x < d.x }

// doubleClick is the longest time between two clicks of a double click.
const doubleClick = 400 * time.Millisecond

// markStart takes a press inside a pane: the beginning of a marking, or its second or
// third click.
func (a *App) markStart(id PaneID, x, y int) {
	m, now := &a.marked, a.ctx.Now()
	again := m.pane == id && m.from == (cell{x, y}) && now.Sub(m.at) <= doubleClick && m.clicks < 3
	clicks := 1
	if again {
		clicks = m.clicks + 1
	}
	*m = marking{pane: id, from: cell{x, y}, to: cell{x, y}, down: true, clicks: clicks, at: now}
	if clicks > 1 {
		m.start, m.end = a.unit(m.from)
		m.on = m.start != m.end || clicks == 3
	}
	a.touch()
}

// unit is the word, or for a triple click the row, around a cell.
func (a *App) unit(c cell) (from, to cell) {
	row := a.plainRow(a.marked.pane, c.y)
	if a.marked.clicks == 3 {
		return cell{0, c.y}, cell{max(0, len(row)-1), c.y}
	}
	word := func(x int) bool {
		if x < 0 || x >= len(row) {
			return false
		}
		r := []rune(row[x])
		return len(r) == 0 || unicode.IsLetter(r[0]) || unicode.IsDigit(r[0]) || strings.ContainsRune("_-./:@#", r[0])
	}
	from, to = c, c
	if !word(c.x) {
		return from, to
	}
	for word(from.x - 1) {
		from.x--
	}
	for word(to.x + 1) {
		to.x++
	}
	return from, to
}

// plainRow are the cells of a row of a pane; the second cell of a wide character is "".
func (a *App) plainRow(id PaneID, y int) []string {
	rows := a.panes[id].Rows()
	if y < 0 || y >= len(rows) {
		return nil
	}
	s := a.ctx.Style
	var out []string
	text := strings.TrimRight(ansi.Strip(rows[y]), " ")
	for text != "" {
		cluster, n := ansi.FirstGraphemeCluster(text, ansi.WcWidth)
		if s.Options().Graphemes {
			cluster, n = ansi.FirstGraphemeCluster(text, ansi.GraphemeWidth)
		}
		text = text[len(cluster):]
		out = append(out, cluster)
		for range n - 1 {
			out = append(out, "")
		}
	}
	return out
}

// markTo moves the end of the marking while the button is held.
func (a *App) markTo(x, y int) {
	m := &a.marked
	p := a.placedPane(m.pane)
	if !m.down || p == nil {
		return
	}
	in := p.Rect.Inside()
	m.to = cell{max(0, min(x-in.X, in.W-1)), max(0, min(y-in.Y, in.H-1))}
	m.on = m.on || m.to != m.from
	a.touch()
}

func (a *App) placedPane(id PaneID) *layout.Placed {
	for i := range a.placed {
		if PaneID(a.placed[i].Pane) == id {
			return &a.placed[i]
		}
	}
	return nil
}

// span is what is marked, its ends in order.
func (a *App) span() (from, to cell) {
	m := a.marked
	if m.clicks < 2 {
		if from, to = m.from, m.to; to.before(from) {
			from, to = to, from
		}
		return from, to
	}
	f, t := a.unit(m.to)
	from, to = m.start, m.end
	if f.before(from) {
		from = f
	}
	if to.before(t) {
		to = t
	}
	return from, to
}

// markEnd copies what is marked when the button goes up.
func (a *App) markEnd() tea.Cmd {
	m := &a.marked
	if !m.down {
		return nil
	}
	m.down = false
	if !m.on {
		return nil
	}
	return a.clip(a.markedText())
}

// markedText is the marked text without styles; rows end where their text ends.
func (a *App) markedText() string {
	from, to := a.span()
	var out []string
	for y := from.y; y <= to.y; y++ {
		row := a.plainRow(a.marked.pane, y)
		x0, x1 := 0, len(row)
		if y == from.y {
			x0 = min(from.x, len(row))
		}
		if y == to.y {
			x1 = min(to.x+1, len(row))
		}
		out = append(out, strings.TrimRight(strings.Join(row[x0:max(x0, x1)], ""), " "))
	}
	return strings.Join(out, "\n")
}

// unmark ends the marking.
func (a *App) unmark() {
	if a.marked.on {
		a.touch()
	}
	a.marked.on, a.marked.down = false, false
}

// highlight draws what is marked into the rows of a pane's box.
func (a *App) highlight(box []string) []string {
	from, to := a.span()
	s := a.ctx.Style
	out := append([]string(nil), box...)
	for y := from.y; y <= to.y && y+1 < len(out)-1; y++ {
		row := a.plainRow(a.marked.pane, y)
		x0, x1 := 0, len(row)
		if y == from.y {
			x0 = min(from.x, len(row))
		}
		if y == to.y {
			x1 = min(to.x+1, len(row))
		}
		if text := strings.Join(row[x0:max(x0, x1)], ""); text != "" {
			w := s.Width(out[y+1])
			out[y+1] = lay(s, out[y+1], s.PaintOn(style.Strong, style.Match, text), x0+1, s.Width(text), w)
		}
	}
	return out
}
