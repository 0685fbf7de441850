package tui

import (
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"vise/tui/action"
	"vise/tui/layout"
	"vise/tui/style"
)

// paneCalled is a pane as messages call it: with the key that goes there.
func paneCalled(id PaneID) string { return digit(number1(id)) + " " + paneNames[id] }

// elsewhere answers a key that means nothing in this pane but something in another.
func (a *App) elsewhere(key string) tea.Cmd {
	if !a.ready() {
		return nil
	}
	for _, act := range a.reg.All() {
		if act.Scope == action.Pane && slices.Contains(act.Keys, key) {
			return a.say(style.Dim, key+": "+belongs(act))
		}
	}
	return nil
}

// belongs says in which panes an action is.
func belongs(act action.Action) string {
	var at []string
	for _, p := range act.Panes {
		at = append(at, paneCalled(PaneID(p)))
	}
	return act.Title + " belongs to " + strings.Join(at, " and ")
}

// nothing answers an action that the pane with the focus has no use for.
func (a *App) nothing(id action.ID) tea.Cmd {
	act, ok := a.reg.Action(id)
	if !ok || id == action.Escape {
		return nil
	}
	if len(act.Panes) > 0 && !act.For(string(a.focus)) {
		return a.say(style.Dim, belongs(act))
	}
	return a.say(style.Dim, "\""+act.Title+"\" means nothing in "+paneCalled(a.focus))
}

// idleTime says why there is no going back or forward in time; "" when there is.
func (a *App) idleTime(id action.ID) string {
	switch a.view {
	case debugView:
		p, ok := a.panes[PaneTurns].(*turnsPane)
		if !ok {
			return ""
		}
		before, after := p.list.More()
		n, at := p.list.Len(), p.list.Index()
		switch {
		case n == 0:
			return "there are no turns to go through"
		case id == action.Back && at == 0 && !before:
			return "this is the first turn"
		case id == action.Forward && at == n-1 && !after:
			return "this is the last turn"
		}
	case repairView:
		if a.ctx.Scope.Episode == "" {
			return "there is no repair to go through yet"
		}
	}
	return ""
}

// zoomless says why nothing is to be zoomed; "" when something is.
func (a *App) zoomless() string {
	if layout.FormOf(a.w, a.h) == layout.Single {
		return "this pane fills the screen"
	}
	return ""
}

// cancelling is what is said while an activity ends that a person stopped.
func cancelling(k ActivityKind) string { return "cancelling the " + string(k) }

// ended replaces the message that something is being cancelled when it was.
func (a *App) ended(was Activity) {
	if a.toast.text == cancelling(was.Kind) {
		a.toast.text = "the " + string(was.Kind) + " was cancelled"
	}
}
