package vhs

import (
	"fmt"
	"html"
	"image/color"
	"strings"

	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/vt"
)

// Size of a cell in the picture, in px, and its colours where a cell has none.
const (
	cellW, cellH = 9, 19
	paper, ink   = "#171717", "#dddddd"
)

// drawSVG draws the screen: a rectangle per coloured background, then each glyph pinned to its cell.
func drawSVG(t *vt.Emulator) string {
	var back, text strings.Builder
	for y := range t.Height() {
		for x := 0; x < t.Width(); {
			c := t.CellAt(x, y)
			if c == nil || c.Width == 0 {
				x++
				continue
			}
			fg, bg := cellColours(c.Style)
			if bg != "" {
				fmt.Fprintf(&back, `<rect x="%d" y="%d" width="%d" height="%d" fill="%s"/>`+"\n", x*cellW, y*cellH, c.Width*cellW, cellH, bg)
			}
			if strings.TrimSpace(c.Content) != "" {
				fmt.Fprintf(&text, `<text x="%d" y="%d" fill="%s"%s>%s</text>`+"\n",
					x*cellW, y*cellH+14, fg, cellAttributes(c.Style), html.EscapeString(c.Content))
			}
			x += c.Width
		}
	}
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" `+
		`font-family="JetBrains Mono,DejaVu Sans Mono,monospace" font-size="15">`+"\n"+
		`<rect width="100%%" height="100%%" fill="%s"/>`+"\n", t.Width()*cellW, t.Height()*cellH, paper) +
		back.String() + text.String() + "</svg>\n"
}

func cellColours(s uv.Style) (fg, bg string) {
	fg = ink
	if s.Fg != nil {
		fg = hex(s.Fg)
	}
	if s.Bg != nil {
		bg = hex(s.Bg)
	}
	if s.Attrs&uv.AttrReverse != 0 {
		if bg == "" {
			bg = paper
		}
		fg, bg = bg, fg
	}
	return fg, bg
}

func cellAttributes(s uv.Style) string {
	var b strings.Builder
	for _, a := range []struct {
		on   bool
		text string
	}{
		{s.Attrs&uv.AttrBold != 0, ` font-weight="bold"`},
		{s.Attrs&uv.AttrItalic != 0, ` font-style="italic"`},
		{s.Attrs&uv.AttrFaint != 0, ` opacity="0.6"`},
		{s.Underline != 0, ` text-decoration="underline"`},
	} {
		if a.on {
			b.WriteString(a.text)
		}
	}
	return b.String()
}

func hex(c color.Color) string {
	r, g, b, _ := c.RGBA()
	return fmt.Sprintf("#%02x%02x%02x", r>>8, g>>8, b>>8)
}
