package themes

import (
	"fmt"
	"math"
	"strconv"
)

// Color is an sRGB colour.
type Color struct{ R, G, B uint8 }

// ParseColor reads #rrggbb.
func ParseColor(s string) (Color, error) {
	if len(s) != 7 || s[0] != '#' {
		return Color{}, fmt.Errorf("%q is no colour; write #rrggbb", s)
	}
	n, err := strconv.ParseUint(s[1:], 16, 24)
	if err != nil {
		return Color{}, fmt.Errorf("%q is no colour; write #rrggbb", s)
	}
	return Color{uint8(n >> 16), uint8(n >> 8), uint8(n)}, nil
}

// Hex is the colour as #rrggbb.
func (c Color) Hex() string { return fmt.Sprintf("#%02x%02x%02x", c.R, c.G, c.B) }

// Luminance is the relative luminance in [0,1] (WCAG 2.2).
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

// Contrast is the contrast ratio of two colours, 1 to 21 (WCAG 2.2).
func Contrast(a, b Color) float64 {
	x, y := a.Luminance(), b.Luminance()
	if x < y {
		x, y = y, x
	}
	return (x + 0.05) / (y + 0.05)
}
