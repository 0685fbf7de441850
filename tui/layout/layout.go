// Package layout places panes: a pure function of a split tree, a size, the focus
// and the zoom. It knows nothing of what the panes show.
package layout

// Sizes in cells at which the form of the screen changes.
const (
	// MinW and MinH are the smallest screen that is drawn at all.
	MinW, MinH = 40, 12
	// WideW and WideH are the smallest screen that shows panes side by side;
	// below, one pane is open under a strip of names.
	WideW, WideH = 100, 26
)

// Rect is a rectangle of cells.
type Rect struct{ X, Y, W, H int }

// Contains reports whether a cell lies in the rectangle.
func (r Rect) Contains(x, y int) bool { return x >= r.X && x < r.X+r.W && y >= r.Y && y < r.Y+r.H }

// Inside is the rectangle within a border of one cell.
func (r Rect) Inside() Rect {
	return Rect{r.X + 1, r.Y + 1, max(0, r.W-2), max(0, r.H-2)}
}

// Direction says how the children of a node lie.
type Direction int

// Side by side, or one below the other.
const (
	Columns Direction = iota
	Stack
)

// Node is a pane or a split. A node without children is a pane.
type Node struct {
	Pane     string
	Dir      Direction
	Children []Node
	// Weight is the node's share among its siblings; 0 counts as 1.
	Weight int
	// MinW and MinH of a pane, its border included; 0 = 16 and 4.
	MinW, MinH int
	// Collapse orders what gives way when there is no room: the highest first.
	Collapse int
}

// Split makes a node of children.
func Split(dir Direction, weight int, children ...Node) Node {
	return Node{Dir: dir, Weight: weight, Children: children}
}

// Panes lists the panes of a tree in reading order.
func (n Node) Panes() []string {
	if len(n.Children) == 0 {
		return []string{n.Pane}
	}
	var out []string
	for _, c := range n.Children {
		out = append(out, c.Panes()...)
	}
	return out
}

// Has reports whether a pane is in the tree.
func (n Node) Has(pane string) bool {
	if len(n.Children) == 0 {
		return n.Pane == pane
	}
	for _, c := range n.Children {
		if c.Has(pane) {
			return true
		}
	}
	return false
}

// Form is the shape of the whole screen.
type Form int

// The forms.
const (
	TooSmall Form = iota
	Single        // one pane under a strip of names
	Wide          // panes side by side
)

// FormOf is the form that a screen of w by h cells takes.
func FormOf(w, h int) Form {
	switch {
	case w < MinW || h < MinH:
		return TooSmall
	case w < WideW || h < WideH:
		return Single
	}
	return Wide
}

// Placed is a pane with its place, border included.
type Placed struct {
	Pane string
	Rect Rect
}

// Arrange places the panes of a tree in an area. Zoom gives the whole area to the
// focus. What does not fit gives way, the highest Collapse first, never the focus.
// The rectangles tile the area exactly.
func Arrange(root Node, area Rect, focus string, zoom bool) []Placed {
	if area.W <= 0 || area.H <= 0 {
		return nil
	}
	if !root.Has(focus) {
		focus = root.Panes()[0]
	}
	if zoom {
		return []Placed{{focus, area}}
	}
	for {
		w, h := root.min()
		if w <= area.W && h <= area.H {
			break
		}
		next, ok := root.without(root.victim(focus))
		if !ok {
			break // the focus alone is left: it gets what there is
		}
		root = next
	}
	return root.place(area, nil)
}

// min is the least room a node needs.
func (n Node) min() (w, h int) {
	if len(n.Children) == 0 {
		w, h = n.MinW, n.MinH
		if w == 0 {
			w = 16
		}
		if h == 0 {
			h = 4
		}
		return w, h
	}
	for _, c := range n.Children {
		cw, ch := c.min()
		if n.Dir == Columns {
			w, h = w+cw, max(h, ch)
		} else {
			w, h = max(w, cw), h+ch
		}
	}
	return w, h
}

// victim is the pane that gives way next: the highest Collapse, the last among equals.
func (n Node) victim(focus string) string {
	best, rank := "", -1
	var visit func(Node)
	visit = func(n Node) {
		for _, c := range n.Children {
			visit(c)
		}
		if len(n.Children) == 0 && n.Pane != focus && n.Collapse >= rank {
			best, rank = n.Pane, n.Collapse
		}
	}
	visit(n)
	return best
}

// without is the tree less a pane; ok is false when nothing would be left or changed.
func (n Node) without(pane string) (Node, bool) {
	if pane == "" || len(n.Children) == 0 {
		return n, false
	}
	var kept []Node
	changed := false
	for _, c := range n.Children {
		if len(c.Children) == 0 && c.Pane == pane {
			changed = true
			continue
		}
		if len(c.Children) > 0 {
			next, ok := c.without(pane)
			if ok {
				changed = true
				if len(next.Children) == 0 && next.Pane == "" {
					continue
				}
				c = next
			}
		}
		kept = append(kept, c)
	}
	n.Children = kept
	return n, changed
}

// place gives every pane its rectangle.
func (n Node) place(area Rect, out []Placed) []Placed {
	if len(n.Children) == 0 {
		return append(out, Placed{n.Pane, area})
	}
	room := area.W
	if n.Dir == Stack {
		room = area.H
	}
	at := 0
	for i, size := range n.share(room) {
		r := Rect{area.X + at, area.Y, size, area.H}
		if n.Dir == Stack {
			r = Rect{area.X, area.Y + at, area.W, size}
		}
		out = n.Children[i].place(r, out)
		at += size
	}
	return out
}

// share divides room by weight; nobody gets less than its minimum while there is
// enough for all. The shares add up to room.
func (n Node) share(room int) []int {
	k := len(n.Children)
	sizes, mins, fixed := make([]int, k), make([]int, k), make([]bool, k)
	for i, c := range n.Children {
		w, h := c.min()
		mins[i] = w
		if n.Dir == Stack {
			mins[i] = h
		}
	}
	for {
		left, weights := room, 0
		for i, c := range n.Children {
			if fixed[i] {
				left -= sizes[i]
			} else {
				weights += max(1, c.Weight)
			}
		}
		again := false
		for i, c := range n.Children {
			if fixed[i] {
				continue
			}
			sizes[i] = left * max(1, c.Weight) / max(1, weights)
			if sizes[i] < mins[i] {
				sizes[i], fixed[i], again = mins[i], true, true
				break
			}
		}
		if !again {
			break
		}
	}
	// What rounding left over goes to the last that is not at its minimum; what is
	// too much (less room than the minimums) is taken from the end.
	sum := 0
	for _, s := range sizes {
		sum += s
	}
	for i := k - 1; i >= 0 && sum < room; i-- {
		if !fixed[i] || i == 0 {
			sizes[i] += room - sum
			sum = room
		}
	}
	for i := k - 1; i >= 0 && sum > room; i-- {
		cut := min(sizes[i], sum-room)
		sizes[i] -= cut
		sum -= cut
	}
	return sizes
}
