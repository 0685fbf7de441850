package layout_test

import (
	"testing"

	"pgregory.net/rapid"

	"vise/tui/layout"
)

func sizeOf(placed []layout.Placed, pane string) layout.Rect {
	for _, p := range placed {
		if p.Pane == pane {
			return p.Rect
		}
	}
	return layout.Rect{}
}

// A pane grows at the cost of its neighbour, whichever side its divider is on.
func TestBesideAndShift(t *testing.T) {
	area := layout.Rect{W: 200, H: 58}
	for _, c := range []struct {
		pane string
		dir  layout.Direction
		n    int
		want int // change in cells
	}{
		{"sessions", layout.Columns, 4, 4}, {"trace", layout.Columns, 4, 4}, {"trace", layout.Columns, -4, -4}, {"turns", layout.Columns, 6, 6},
		{"scores", layout.Columns, 6, 6}, {"sessions", layout.Stack, 3, 3}, {"attention", layout.Stack, 3, 3}, {"turns", layout.Stack, 2, 2},
		{"trace", layout.Stack, -200, -20}, {"sessions", layout.Columns, 500, 94},
	} {
		placed := layout.Arrange(tree(), area, c.pane, false)
		d, sign, ok := layout.Beside(tree(), placed, c.pane, c.dir)
		if !ok {
			t.Fatalf("%s has no divider", c.pane)
		}
		w := layout.Shift(tree(), placed, d, sign*c.n)
		next := layout.Arrange(tree().Weighted(layout.Weights{d.Path: w}), area, c.pane, false)
		a, b := sizeOf(placed, c.pane), sizeOf(next, c.pane)
		got := b.W - a.W
		if c.dir == layout.Stack {
			got = b.H - a.H
		}
		if c.n != -200 && got != c.want || c.n == -200 && got >= 0 {
			t.Errorf("%s by %d: changed by %d, want %d", c.pane, c.n, got, c.want)
		}
	}
}

func TestFavoured(t *testing.T) {
	area := layout.Rect{W: 200, H: 58}
	r := sizeOf(layout.Arrange(tree().Favoured("scores"), area, "scores", false), "scores")
	if r.W < 100 || r.H < 40 {
		t.Errorf("the favoured pane has %dx%d", r.W, r.H)
	}
}

// Whatever is dragged wherever: the panes tile the area.
func TestShiftTiles(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		area := layout.Rect{W: rapid.IntRange(20, 400).Draw(t, "w"), H: rapid.IntRange(5, 120).Draw(t, "h")}
		focus := rapid.SampledFrom(tree().Panes()).Draw(t, "focus")
		w := layout.Weights{}
		for range rapid.IntRange(1, 8).Draw(t, "n") {
			root := tree().Weighted(w)
			placed := layout.Arrange(root, area, focus, false)
			cells := 0
			for i, p := range placed {
				cells += p.Rect.W * p.Rect.H
				if p.Rect.W < 0 || p.Rect.H < 0 {
					t.Fatalf("%+v", p)
				}
				for _, q := range placed[:i] {
					if q.Rect.X < p.Rect.X+p.Rect.W && p.Rect.X < q.Rect.X+q.Rect.W && q.Rect.Y < p.Rect.Y+p.Rect.H && p.Rect.Y < q.Rect.Y+q.Rect.H {
						t.Fatalf("%+v and %+v overlap", p, q)
					}
				}
			}
			if cells != area.W*area.H {
				t.Fatalf("%d cells are covered of %dx%d", cells, area.W, area.H)
			}
			if ds := layout.Dividers(root, placed); len(ds) > 0 {
				d := rapid.SampledFrom(ds).Draw(t, "divider")
				if s := layout.Shift(root, placed, d, rapid.IntRange(-300, 300).Draw(t, "by")); s != nil {
					w[d.Path] = s
				}
			}
		}
	})
}
