package tui

import (
	tea "charm.land/bubbletea/v2"

	"vise/tui/action"
	"vise/tui/layout"
	"vise/tui/style"
)

// cells by which a key moves a divider.
const (
	stepW = 4
	stepH = 2
)

// tree is the arrangement of the view with the sizes that a person gave it.
func (a *App) tree() layout.Node {
	root := a.viewDef().root.Weighted(a.shape[a.view])
	if a.half {
		root = root.Favoured(string(a.focus))
	}
	return root
}

// resize makes the pane with the focus wider, narrower, taller or lower.
func (a *App) resize(id action.ID) tea.Cmd {
	dir, by := layout.Columns, stepW
	switch id {
	case action.Narrower:
		by = -stepW
	case action.Taller:
		dir, by = layout.Stack, stepH
	case action.Lower:
		dir, by = layout.Stack, -stepH
	}
	d, sign, ok := layout.Beside(a.tree(), a.placed, string(a.focus), dir)
	if !ok {
		return a.say(style.Dim, "this pane has all the room in that direction")
	}
	if !a.shift(d, sign*by, true) {
		return a.say(style.Dim, "a pane is as small as it gets")
	}
	return nil
}

// shift moves a divider; undoable says that it is a change of its own.
func (a *App) shift(d layout.Divider, by int, undoable bool) bool {
	sizes := layout.Shift(a.tree(), a.placed, d, by)
	if sizes == nil {
		return false
	}
	before := a.shape[a.view]
	after := layout.Weights{}
	for path, w := range before {
		after[path] = w
	}
	after[d.Path] = sizes
	if undoable {
		a.did(act{Kind: actLayout, Target: string(a.view), Before: actValue{Sizes: before}, After: actValue{Sizes: after}})
	}
	a.shape[a.view] = after
	a.half = false
	a.arrange()
	return true
}

// level gives all panes of the view their first sizes again.
func (a *App) level() tea.Cmd {
	before := a.shape[a.view]
	if len(before) == 0 && !a.half {
		return a.say(style.Dim, "the panes have their first sizes")
	}
	if len(before) > 0 {
		a.did(act{Kind: actLayout, Target: string(a.view), Before: actValue{Sizes: before}})
	}
	delete(a.shape, a.view)
	a.half = false
	a.arrange()
	return nil
}

// grab finds the divider under the pointer: the button that goes down there moves it.
func (a *App) grab(x, y int) (layout.Divider, bool) {
	for _, d := range layout.Dividers(a.tree(), a.placed) {
		if d.Holds(x, y) {
			return d, true
		}
	}
	return layout.Divider{}, false
}

// pull moves the divider that is held to where the pointer is.
func (a *App) pull(x, y int) {
	h := a.held
	to := x
	if h.divider.Dir == layout.Stack {
		to = y
	}
	if !h.moved {
		if to == h.from {
			return
		}
		h.moved, h.before = true, a.shape[a.view]
	}
	// The divider's place is read anew: it may have stopped before the pointer did.
	for _, d := range layout.Dividers(a.tree(), a.placed) {
		if d.Path == h.divider.Path && d.At == h.divider.At {
			edge := d.Before.X + d.Before.W - 1
			if d.Dir == layout.Stack {
				edge = d.Before.Y + d.Before.H - 1
			}
			a.shift(d, to-edge, false)
			return
		}
	}
}

// grip is what a pressed button holds.
type grip struct {
	divider layout.Divider
	onLine  bool
	from    int // where the pointer was, in the divider's direction
	moved   bool
	before  layout.Weights
}

// drop ends the dragging of a divider.
func (a *App) drop() {
	if h := a.held; h != nil && h.moved {
		a.did(act{Kind: actLayout, Target: string(a.view), Before: actValue{Sizes: h.before}, After: actValue{Sizes: a.shape[a.view]}})
	}
	a.held = nil
}
