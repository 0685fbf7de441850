package tui

import (
	"slices"

	tea "charm.land/bubbletea/v2"

	"vise/tui/action"
	"vise/tui/layout"
)

// viewDef returns the current view.
func (a *App) viewDef() viewDef {
	i := slices.IndexFunc(a.views, func(v viewDef) bool { return v.id == a.view })
	return a.views[max(0, i)]
}

// show switches to a view and focuses a pane of it; "" takes the one that had the
// focus there before.
func (a *App) show(id viewID, focus PaneID) tea.Cmd {
	if a.view != id {
		a.focused[a.view] = a.focus
		a.view, a.zoom, a.half = id, false, false
		if focus == "" {
			focus = a.focused[id]
		}
	}
	if def := a.viewDef(); focus == "" && !def.root.Has(string(a.focus)) {
		focus = def.first
	}
	if focus != "" {
		a.setFocus(focus)
	}
	a.touch()
	a.arrange()
	return nil
}

// goTo focuses a pane, in the view that has it.
func (a *App) goTo(id PaneID) tea.Cmd {
	if !a.viewDef().root.Has(string(id)) {
		return a.show(home(a.views, id), id)
	}
	a.setFocus(id)
	a.arrange()
	return nil
}

// setFocus moves the focus.
func (a *App) setFocus(id PaneID) {
	if p := a.panes[a.focus]; p != nil {
		p.SetFocus(false)
	}
	if id != a.focus && a.search != nil {
		if s, ok := a.panes[a.focus].(Searcher); ok {
			s.Search(a.ctx, "") // its marks end with it
		}
		a.search = nil
	}
	a.focus = id
	a.panes[id].SetFocus(true)
	a.touch()
}

// inOrder are the panes of the view in the order of their numbers.
func (a *App) inOrder() []PaneID {
	var out []PaneID
	for _, id := range paneOrder {
		if a.viewDef().root.Has(string(id)) {
			out = append(out, id)
		}
	}
	return out
}

// cycle focuses the next pane of the view in the order of their numbers.
func (a *App) cycle(dir int) tea.Cmd {
	list := a.inOrder()
	i := slices.Index(list, a.focus)
	a.setFocus(list[((i+dir)%len(list)+len(list))%len(list)])
	a.arrange()
	return nil
}

// drill goes from sessions to turns to the trace, and back.
func (a *App) drill(dir int) tea.Cmd {
	path := []PaneID{PaneSessions, PaneTurns, PaneTrace}
	i := slices.Index(path, a.focus)
	switch next := i + dir; {
	case i >= 0 && next >= 0 && next < len(path):
		return a.goTo(path[next])
	case dir > 0:
		return a.nothing(action.Into)
	}
	return a.nothing(action.Out)
}

// arrange places the panes for the size, the view, the focus and the zoom.
func (a *App) arrange() {
	if !a.ready() {
		a.placed = nil
		return
	}
	switch layout.FormOf(a.w, a.h) {
	case layout.TooSmall:
		a.placed = nil
	case layout.Single:
		a.area = layout.Rect{Y: 2, W: a.w, H: a.h - 3}
		a.placed = []layout.Placed{{Pane: string(a.focus), Rect: a.area}}
	case layout.Wide:
		a.area = layout.Rect{Y: 1, W: a.w, H: a.h - 2}
		a.placed = layout.Arrange(a.tree(), a.area, string(a.focus), a.zoom)
	}
	for _, p := range a.placed {
		in := p.Rect.Inside()
		a.panes[PaneID(p.Pane)].SetSize(in.W, in.H)
	}
	a.touch()
}
