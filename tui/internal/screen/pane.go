package screen

import (
	"strings"
)

// Pane is a pane of the workbench on the screen, found by the title in its border.
type Pane struct {
	s    *Screen
	name string
}

// Pane names a pane: "Trace".
func (s *Screen) Pane(name string) Pane { return Pane{s, name} }

// Has waits until the pane is there and shows a text.
func (p Pane) Has(text string) Pane {
	p.s.t.Helper()
	p.s.until("pane "+p.name+" to show "+text, func() bool { return strings.Contains(p.Text(), text) })
	return p
}

// Lacks waits until the pane is there without a text.
func (p Pane) Lacks(text string) Pane {
	p.s.t.Helper()
	p.s.until("pane "+p.name+" without "+text, func() bool { t := p.Text(); return t != "" && !strings.Contains(t, text) })
	return p
}

// Focused waits until the pane has the focus: its title bears the mark.
func (p Pane) Focused() Pane {
	p.s.t.Helper()
	p.s.until("pane "+p.name+" to have the focus", func() bool {
		_, _, _, _, focus := p.find()
		return focus
	})
	return p
}

// Text is what the pane shows within its border, with its title as the first line;
// "" when it is not on the screen.
func (p Pane) Text() string {
	x, y, w, h, _ := p.find()
	if w == 0 {
		return ""
	}
	grid := p.s.grid()
	var out []string
	for r := y; r < y+h; r++ {
		out = append(out, strings.TrimRight(strings.Join(grid[r][x+1:x+w-1], ""), " "))
	}
	return strings.Join(out, "\n")
}

// Place is the pane's rectangle with its border.
func (p Pane) Place() (x, y, w, h int) {
	x, y, w, h, _ = p.find()
	return x, y, w, h
}

func (s *Screen) grid() [][]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	w, h := s.emu.Width(), s.emu.Height()
	out := make([][]string, h)
	for y := range out {
		out[y] = make([]string, w)
		for x := range w {
			if c := s.emu.CellAt(x, y); c != nil && c.Content != "" {
				out[y][x] = c.Content
			} else if c == nil || c.Width > 0 {
				out[y][x] = " "
			}
		}
	}
	return out
}

// find looks for a top border "╭ 3 Trace ", then for the corners that belong to it.
func (p Pane) find() (x, y, w, h int, focus bool) {
	grid := p.s.grid()
	for y, row := range grid {
		for x, c := range row {
			if c != "╭" {
				continue
			}
			end := x + 1
			for end < len(row) && row[end] != "╮" {
				end++
			}
			if end == len(row) {
				break
			}
			title := strings.Join(row[x+1:end], "")
			// mark, digit, blank, name
			if r := []rune(title); len(r) < 4 || !strings.HasPrefix(string(r[3:]), p.name) {
				continue
			}
			for bottom := y + 1; bottom < len(grid); bottom++ {
				if grid[bottom][x] == "╰" {
					return x, y, end - x + 1, bottom - y + 1, row[x+1] == "▸"
				}
			}
		}
	}
	return 0, 0, 0, 0, false
}
