package tui

import (
	"strings"

	"vise/engine/rule"
	"vise/tui/action"
)

// disabled says why an action is not possible now; "" when it is.
func (a *App) disabled(id action.ID) string { return a.ctx.Text(a.reason(id)) }

func (a *App) reason(id action.ID) string {
	if !a.ready() {
		switch id {
		case action.Up, action.Down, action.Home, action.End, action.Into, action.Quit, action.Suspend, action.Help, action.Themes, action.Redraw, action.Palette:
			return ""
		}
		return "there is no project here: choose one of these"
	}
	if a.cfg.ReadOnly != "" && writing[id] {
		return a.cfg.ReadOnly
	}
	run := a.conductor.Running()
	if starts := id == action.Replay || id == action.Import || id == action.Score || id == action.Agent || id == action.Validate || id == action.ValidateOne; starts && a.ctx.Held != nil {
		return "a repair is held: {run.step} steps, {run.continue} continues, {run.cancel} cancels it"
	}
	switch id {
	case action.Replay:
		if a.ctx.Scope.Session == "" {
			return "no session is selected"
		}
		if why := a.unseen(); why != "" {
			return why
		}
		return run.Busy()
	case action.Import, action.Agent:
		return run.Busy()
	case action.Score:
		if a.ctx.Scope.Session == "" {
			return "no session is selected"
		}
		if why := a.unseen(); why != "" {
			return why
		}
		return run.Busy()
	case action.Protect:
		if why := a.unseen(); why != "" {
			return why
		}
	case action.Validate:
		return run.Busy()
	case action.ValidateOne:
		if a.ctx.Scope.Rule == "" {
			return "no rule is selected; {focus.6} shows the rules"
		}
		if why := a.decidedRule(a.ctx.Scope.Rule); why != "" {
			return why
		}
		return run.Busy()
	case action.Step:
		if a.ctx.Held == nil && a.ctx.PatchHeld == nil && run.Kind != Idle {
			return "nothing is held at this moment"
		}
	case action.PatchRepair:
		if why := run.Busy(); why != "" {
			return why
		}
	case action.Continue:
		if a.ctx.Held == nil && a.ctx.PatchHeld == nil {
			return "no repair is held"
		}
	case action.Cancel:
		if run.Kind == Idle && a.ctx.Held == nil {
			return "nothing is running"
		}
	case action.Breakpoint:
		if a.cfg.Stepper == nil {
			return "repairs are not held here"
		}
	case action.Filter, action.KeepFilter:
		if _, ok := a.panes[a.focus].(Filterer); !ok {
			return "this pane has no filter; {find.search} searches in it"
		}
	case action.Turn:
		if a.ctx.Scope.Session == "" {
			return "no session is selected"
		}
	case action.Wider, action.Narrower, action.Taller, action.Lower, action.Level, action.Half:
		if a.zoom {
			return "a pane is zoomed; {view.zoom} ends that"
		}
		return a.zoomless()
	case action.Back, action.Forward:
		if why := a.idleTime(id); why != "" {
			return why
		}
	case action.Zoom:
		return a.zoomless()
	case action.Suspend:
		if !stoppable() {
			return "there is no shell to go back to; {quit} quits"
		}
	case action.Undo, action.Redo:
		return a.undoable(id == action.Redo)
	case action.Search:
		if _, ok := a.panes[a.focus].(Searcher); !ok {
			return "this pane has no search"
		}
	}
	if d, ok := a.panes[a.focus].(Disabler); ok {
		return d.Disabled(a.ctx, id)
	}
	return ""
}

// decidedRule says why a rule is not validated: evidence has judged it already.
func (a *App) decidedRule(id string) string {
	p, ok := a.panes[PaneRules].(*rulesPane)
	if !ok {
		return ""
	}
	switch s := p.status(id); s {
	case "", rule.Candidate:
		return ""
	case rule.Retired:
		return "rule " + tag(id) + " is retired: {rule.restore} in 6 Rules makes it a candidate again"
	default:
		return "rule " + tag(id) + " is " + string(s) + ": only candidates are validated"
	}
}

// live reports whether the footer should offer an action now.
func (a *App) live(id action.ID) bool {
	switch id {
	case action.Step:
		if a.ctx.Held == nil && a.ctx.PatchHeld == nil {
			return a.again() && a.disabled(id) == ""
		}
	case action.Into:
		return a.opens()
	case action.Agent:
		return a.focus == PaneAttempts && a.disabled(id) == ""
	case action.Import: // where there is something to see others say what can be done with it
		p, ok := a.panes[a.focus].(*sessionsPane)
		return ok && p.list.Len() == 0 && a.disabled(id) == ""
	case action.Resume, action.Acknowledge:
		p, ok := a.panes[a.focus].(*attentionPane)
		return ok && p.offers(id)
	case action.ValidateOne:
		return a.focus == PaneRules && a.disabled(id) == ""
	case action.Retire, action.Restore, action.Retest:
		if p, ok := a.panes[a.focus].(*rulesPane); ok && !p.fits(id) {
			return false
		}
	}
	if id == action.Back { // the footer names both
		return a.disabled(id) == "" || a.disabled(action.Forward) == ""
	}
	return a.disabled(id) == ""
}

// atWork says what would be cut off if vise ended now; "" when nothing would.
func (a *App) atWork() string {
	switch {
	case a.ctx.Held != nil:
		return "a repair is held"
	case a.ctx.PatchHeld != nil:
		return "a patch loop is held"
	}
	why, _, _ := strings.Cut(a.conductor.Running().Busy(), ";")
	return why
}

// lister is a pane of rows that one acts on; a filter may leave none.
type lister interface{ Listed() int }

// unseen says why an act on the selected row of the pane in focus must not be done: a
// filter passes no row, and what cannot be seen is not acted on.
func (a *App) unseen() string {
	p, ok := a.panes[a.focus].(lister)
	f, filters := a.panes[a.focus].(Filterer)
	if !ok || !filters || f.Filtered() == "" || p.Listed() > 0 {
		return ""
	}
	return "nothing is selected: the filter passes no row here"
}
