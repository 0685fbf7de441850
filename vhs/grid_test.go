package vhs

import "testing"

// TestGrid: measured with VHS v0.10.0, ttyd 1.7.7, Chromium 156 and Debian's fonts.
func TestGrid(t *testing.T) {
	for _, c := range []struct {
		tape       string
		cols, rows int
	}{
		{"", 75, 16},
		{"Set Padding 20\n", 81, 18},
		{"Set FontSize 16\nSet Height 700\nSet Padding 20\n", 113, 30},
		{"Set FontSize 16\nSet Width 1280\nSet Height 720\nSet Padding 20\nSet FontFamily \"DejaVu Sans Mono\"\n", 121, 35},
		{"Set FontSize 14\nSet Height 700\nSet Padding 0\nSet LetterSpacing 0\nSet LineHeight 1.2\n", 146, 32},
		{"Set FontSize 18\nSet Width 1400\nSet Height 800\nSet Padding 30\nSet Margin 20\nSet WindowBar Colorful\n", 115, 28},
		{"Set FontSize 20\nSet Width 1000\nSet Height 500\nSet Padding 10\nSet LetterSpacing 0\n", 86, 18},
		{"Set FontSize 15\nSet Width 1000\nSet Height 500\nSet Padding 10\n", 95, 23},
		{"Set FontSize 25\nSet Width 1000\nSet Height 500\nSet Padding 10\n", 59, 13},
		{"Set FontSize 20\nSet Height 720\nSet Padding 20\n", 94, 25},
		{"Set FontFamily \"Unheard Of\"\n", 75, 16},
	} {
		cols, rows := mustParse(t, c.tape+"Type \"x\"\n").Settings.Grid()
		if cols != c.cols || rows != c.rows {
			t.Errorf("%q: %d x %d, VHS has %d x %d", c.tape, cols, rows, c.cols, c.rows)
		}
	}
}
