package themes

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Color is an sRGB colour, or one of the terminal's own colours, whose look only
// the person at the terminal knows.
type Color struct {
	R, G, B uint8
	// Own is 0 for an sRGB colour, 1 to 16 for colour Own-1 of the terminal's palette,
	// and Default for the terminal's default colour. R, G and B are unused then.
	Own uint8
}

// Default as Color.Own: the terminal's default text or background colour.
const Default = 17

// ownNames are the sixteen colours of a terminal in their order (ECMA-48 SGR 30-37,
// and 90-97 for the bright ones).
var ownNames = []string{"black", "red", "green", "yellow", "blue", "magenta", "cyan", "white"}

// ParseColor reads #rrggbb, "ansi:NAME", "ansi:bright-NAME" with one of the eight
// names, or "default".
func ParseColor(s string) (Color, error) {
	if s == "default" {
		return Color{Own: Default}, nil
	}
	if name, ok := strings.CutPrefix(s, "ansi:"); ok {
		dim, bright := strings.CutPrefix(name, "bright-")
		if i := slices.Index(ownNames, dim); i >= 0 {
			if bright {
				i += len(ownNames)
			}
			return Color{Own: uint8(i + 1)}, nil
		}
		return Color{}, fmt.Errorf("%q is no colour of a terminal; write ansi: and %s, or ansi:bright- and one of them", s, strings.Join(ownNames, ", "))
	}
	if len(s) != 7 || s[0] != '#' {
		return Color{}, fmt.Errorf("%q is no colour; write #rrggbb", s)
	}
	n, err := strconv.ParseUint(s[1:], 16, 24)
	if err != nil {
		return Color{}, fmt.Errorf("%q is no colour; write #rrggbb", s)
	}
	return Color{R: uint8(n >> 16), G: uint8(n >> 8), B: uint8(n)}, nil
}

// Known reports whether the program knows how the colour looks.
func (c Color) Known() bool { return c.Own == 0 }

// String is the colour as a theme file writes it.
func (c Color) String() string {
	switch {
	case c.Own == Default:
		return "default"
	case c.Own > 8:
		return "ansi:bright-" + ownNames[c.Own-9]
	case c.Own > 0:
		return "ansi:" + ownNames[c.Own-1]
	}
	return fmt.Sprintf("#%02x%02x%02x", c.R, c.G, c.B)
}

// SGR is the parameter of the sequence that selects the colour for text, or for the
// background.
func (c Color) SGR(background bool) string {
	first := 30
	if background {
		first = 40
	}
	switch {
	case c.Own == Default:
		return strconv.Itoa(first + 9)
	case c.Own > 8:
		return strconv.Itoa(first + 60 + int(c.Own) - 9)
	case c.Own > 0:
		return strconv.Itoa(first + int(c.Own) - 1)
	}
	return fmt.Sprintf("%d;2;%d;%d;%d", first+8, c.R, c.G, c.B)
}

// Luminance is the relative luminance in [0,1] (WCAG 2.2) of a known colour.
func (c Color) Luminance() float64 {
	lin := func(v uint8) float64 {
		x := float64(v) / 255
		if x <= 0.04045 {
			return x / 12.92
		}
		return math.Pow((x+0.055)/1.055, 2.4)
	}
	return 0.2126*lin(c.R) + 0.7152*lin(c.G) + 0.0722*lin(c.B)
}

// Contrast is the contrast ratio of two known colours, 1 to 21 (WCAG 2.2).
func Contrast(a, b Color) float64 {
	x, y := a.Luminance(), b.Luminance()
	if x < y {
		x, y = y, x
	}
	return (x + 0.05) / (y + 0.05)
}
