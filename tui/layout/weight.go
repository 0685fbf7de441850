package layout

import "strconv"

// Weights are shares that a person has given to the children of splits, by the path of
// the split: "" is the root, "1.0" the first child of its second child.
type Weights map[string][]int

// Weighted is the tree with shares of a person's; those that do not fit the tree (any
// more) are left out.
func (n Node) Weighted(w Weights) Node { return n.weighted(w, "") }

func (n Node) weighted(w Weights, path string) Node {
	if len(n.Children) == 0 {
		return n
	}
	own := w[path]
	children := make([]Node, len(n.Children))
	for i, c := range n.Children {
		children[i] = c.weighted(w, child(path, i))
		if len(own) == len(children) && own[i] > 0 {
			children[i].Weight = own[i]
		}
	}
	n.Children = children
	return n
}

// Favoured is the tree with most of the room for one pane: every split that holds it
// gives it three quarters.
func (n Node) Favoured(pane string) Node {
	if !n.Has(pane) || len(n.Children) == 0 {
		return n
	}
	others := 0
	for _, c := range n.Children {
		if !c.Has(pane) {
			others += max(1, c.Weight)
		}
	}
	children := make([]Node, len(n.Children))
	for i, c := range n.Children {
		if c.Has(pane) {
			c = c.Favoured(pane)
			c.Weight = max(1, 3*others)
		}
		children[i] = c
	}
	n.Children = children
	return n
}

func child(path string, i int) string {
	if path == "" {
		return strconv.Itoa(i)
	}
	return path + "." + strconv.Itoa(i)
}

// Divider is the line between two neighbours of a split.
type Divider struct {
	Path string // of the split
	At   int    // the child before the line
	Dir  Direction
	// Before and After are the places of the two sides.
	Before, After Rect
}

// Holds reports whether a cell is on the divider: in the border of either side.
func (d Divider) Holds(x, y int) bool {
	if d.Dir == Columns {
		return y >= d.Before.Y && y < d.Before.Y+d.Before.H && (x == d.Before.X+d.Before.W-1 || x == d.After.X)
	}
	return x >= d.Before.X && x < d.Before.X+d.Before.W && (y == d.Before.Y+d.Before.H-1 || y == d.After.Y)
}

// Dividers are the lines between the panes that are placed, outer splits first.
func Dividers(root Node, placed []Placed) []Divider {
	var out []Divider
	var visit func(Node, string)
	visit = func(n Node, path string) {
		last, at := Rect{}, -1
		for i, c := range n.Children {
			r, ok := c.extent(placed)
			if !ok {
				continue
			}
			if at >= 0 {
				out = append(out, Divider{Path: path, At: at, Dir: n.Dir, Before: last, After: r})
			}
			last, at = r, i
		}
		for i, c := range n.Children {
			visit(c, child(path, i))
		}
	}
	visit(root, "")
	return out
}

// extent is the rectangle that the placed panes of a node take together.
func (n Node) extent(placed []Placed) (r Rect, ok bool) {
	for _, p := range placed {
		switch {
		case !n.Has(p.Pane):
		case !ok:
			r, ok = p.Rect, true
		default:
			x, y := max(r.X+r.W, p.Rect.X+p.Rect.W), max(r.Y+r.H, p.Rect.Y+p.Rect.H)
			r.X, r.Y = min(r.X, p.Rect.X), min(r.Y, p.Rect.Y)
			r.W, r.H = x-r.X, y-r.Y
		}
	}
	return r, ok
}

// Shift moves a divider by cells (to the right or down for n > 0), as far as the least
// sizes of its sides allow. It returns the shares of the split; nil when nothing moves.
func Shift(root Node, placed []Placed, d Divider, n int) []int {
	node, ok := root.at(d.Path)
	if !ok {
		return nil
	}
	sizes, shown, weights := make([]int, len(node.Children)), 0, 0
	for i, c := range node.Children {
		r, ok := c.extent(placed)
		if !ok {
			continue
		}
		if sizes[i] = r.W; node.Dir == Stack {
			sizes[i] = r.H
		}
		shown += sizes[i]
		weights += max(1, c.Weight)
	}
	next := -1
	for i := d.At + 1; i < len(sizes) && next < 0; i++ {
		if sizes[i] > 0 {
			next = i
		}
	}
	if next < 0 || sizes[d.At] == 0 {
		return nil
	}
	least := func(i int) int {
		w, h := node.Children[i].min()
		if node.Dir == Stack {
			w = h
		}
		return min(w, sizes[i])
	}
	n = max(least(d.At)-sizes[d.At], min(n, sizes[next]-least(next)))
	if n == 0 {
		return nil
	}
	sizes[d.At] += n
	sizes[next] -= n
	for i, c := range node.Children {
		if sizes[i] == 0 { // hidden: it keeps its share
			sizes[i] = max(1, max(1, c.Weight)*shown/max(1, weights))
		}
	}
	return sizes
}

// Beside is the divider that gives a pane more room in a direction, and the sign by
// which it moves for that; ok is false when it has all there is.
func Beside(root Node, placed []Placed, pane string, dir Direction) (d Divider, sign int, ok bool) {
	for _, x := range Dividers(root, placed) {
		node, found := root.at(x.Path)
		if !found || x.Dir != dir {
			continue
		}
		before, _ := root.at(child(x.Path, x.At))
		switch {
		case before.Has(pane):
			d, sign, ok = x, 1, true // a deeper one comes later and wins
		case node.Has(pane) && (!ok || d.Path != x.Path):
			after := false
			for i := x.At + 1; i < len(node.Children); i++ {
				after = after || node.Children[i].Has(pane)
			}
			if after {
				d, sign, ok = x, -1, true
			}
		case node.Has(pane) && sign < 0:
			d = x // the line just before the pane
		}
	}
	return d, sign, ok
}

// at is the node of a path.
func (n Node) at(path string) (Node, bool) {
	for path != "" {
		i, digits := 0, 0
		for digits < len(path) && path[digits] != '.' {
			i = i*10 + int(path[digits]-'0')
			digits++
		}
		if i < 0 || i >= len(n.Children) {
			return Node{}, false
		}
		n = n.Children[i]
		path = path[min(len(path), digits+1):]
	}
	return n, true
}
