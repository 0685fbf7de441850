package layout_test

import (
	"fmt"
	"testing"

	"vise/tui/layout"
)

func tree() layout.Node {
	attention := leaf("attention", 1)
	attention.Collapse = 3
	scores := leaf("scores", 1)
	scores.Collapse, scores.MinW = 2, 40
	turns := leaf("turns", 1)
	turns.Collapse = 1
	return layout.Split(layout.Columns, 1,
		layout.Split(layout.Stack, 1, leaf("sessions", 2), attention),
		layout.Split(layout.Stack, 3,
			layout.Split(layout.Columns, 1, turns, scores),
			leaf("trace", 2)))
}

func TestArrange(t *testing.T) {
	for _, c := range []struct {
		name  string
		w, h  int
		focus string
		zoom  bool
		want  string
	}{
		{"by weight", 200, 58, "sessions", false,
			"sessions 0,0 50x38 attention 0,38 50x20 turns 50,0 75x19 scores 125,0 75x19 trace 50,19 150x39 "},
		{"zoom", 200, 58, "trace", true, "trace 0,0 200x58 "},
		{"the last to matter gives way", 60, 20, "sessions", false,
			"sessions 0,0 16x20 turns 16,0 44x6 trace 16,6 44x14 "},
		{"never the focus", 60, 20, "scores", false,
			"sessions 0,0 16x20 scores 16,0 44x6 trace 16,6 44x14 "},
		{"one pane is left", 20, 5, "attention", false, "attention 0,0 20x5 "},
		{"less than a pane's minimum", 5, 2, "trace", false, "trace 0,0 5x2 "},
		{"a focus of another tree", 200, 58, "journal", true, "sessions 0,0 200x58 "},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := ""
			for _, p := range layout.Arrange(tree(), layout.Rect{W: c.w, H: c.h}, c.focus, c.zoom) {
				got += fmt.Sprintf("%s %d,%d %dx%d ", p.Pane, p.Rect.X, p.Rect.Y, p.Rect.W, p.Rect.H)
			}
			if got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

func TestFormOf(t *testing.T) {
	for _, c := range []struct {
		w, h int
		want layout.Form
	}{{39, 40, layout.TooSmall}, {120, 11, layout.TooSmall}, {40, 12, layout.Single}, {80, 24, layout.Single},
		{99, 60, layout.Single}, {100, 26, layout.Wide}, {400, 120, layout.Wide}} {
		if got := layout.FormOf(c.w, c.h); got != c.want {
			t.Errorf("FormOf(%d, %d) = %v, want %v", c.w, c.h, got, c.want)
		}
	}
}

// Whatever the size: the rectangles tile the area, none is negative, the focus is
// there, and with room for all minimums nobody is missing.
func FuzzArrange(f *testing.F) {
	f.Add(200, 58, 0, false)
	f.Add(20, 5, 3, false)
	f.Add(400, 120, 4, true)
	f.Fuzz(func(t *testing.T, w, h, focus int, zoom bool) {
		if w < 1 || h < 1 || w > 500 || h > 200 {
			return
		}
		names := tree().Panes()
		name := names[((focus%len(names))+len(names))%len(names)]
		placed := layout.Arrange(tree(), layout.Rect{W: w, H: h}, name, zoom)
		covered := make([]int, w*h)
		found := false
		for _, p := range placed {
			if p.Rect.W < 0 || p.Rect.H < 0 {
				t.Fatalf("%+v is negative", p)
			}
			found = found || p.Pane == name
			for y := p.Rect.Y; y < p.Rect.Y+p.Rect.H; y++ {
				for x := p.Rect.X; x < p.Rect.X+p.Rect.W; x++ {
					covered[y*w+x]++
				}
			}
			if len(placed) > 1 && (p.Rect.W < 16 || p.Rect.H < 4) {
				t.Errorf("%+v is under its minimum beside others", p)
			}
		}
		for i, n := range covered {
			if n != 1 {
				t.Fatalf("cell %d,%d is covered %d times by %+v", i%w, i/w, n, placed)
			}
		}
		if !found {
			t.Fatalf("the focus %s is not in %+v", name, placed)
		}
		if all := w >= 16+16+40 && h >= 8 && !zoom; all && len(placed) != len(names) {
			t.Errorf("%dx%d has room for all, shows %d panes", w, h, len(placed))
		}
	})
}

func BenchmarkArrange(b *testing.B) {
	b.ReportAllocs()
	root := tree()
	for b.Loop() {
		layout.Arrange(root, layout.Rect{W: 200, H: 58}, "trace", false)
	}
}

// leaf makes a node of one pane.
func leaf(pane string, weight int) layout.Node { return layout.Node{Pane: pane, Weight: weight} }
