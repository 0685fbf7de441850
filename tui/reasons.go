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
	var at []string
	for _, act := range a.reg.All() {
		if act.Scope == action.Pane && slices.Contains(act.Keys, key) {
			at = append(at, livesIn(act))
		}
	}
	if len(at) == 0 {
		return nil
	}
	return a.say(style.Dim, key+" is for "+strings.Join(at, ", "))
}

// livesIn says in which panes an action is, and what it does there.
func livesIn(act action.Action) string {
	var at []string
	for _, p := range act.Panes {
		at = append(at, paneCalled(PaneID(p)))
	}
	return strings.Join(at, " and ") + " (" + either(act.Short, act.Title) + ")"
}

// nothing answers an action that the pane with the focus has no use for.
func (a *App) nothing(id action.ID) tea.Cmd {
	act, ok := a.reg.Action(id)
	if !ok || id == action.Escape {
		return nil
	}
	here := paneCalled(a.focus)
	said := here + " has no use for this: " + act.Title
	switch {
	case len(act.Panes) > 0 && !act.For(string(a.focus)):
		said = "this is for " + livesIn(act)
	case id == action.Left || id == action.Right || id == action.Toggle:
		said = "nothing to fold in " + here
	case id == action.Into:
		said = "nothing further to open in " + here + "; " + a.ctx.Key(action.Out) + " goes out"
	case id == action.Out:
		said = "nothing to go out to from " + here
	}
	return a.say(style.Dim, said)
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
		done := " was cancelled"
		if was.Kind == Mending { // it can be taken up where it was; a held one is cancelled for good
			done = " was stopped"
		}
		a.toast.text = "the " + string(was.Kind) + done
	}
}
