package tui

import (
	tea "charm.land/bubbletea/v2"

	"vise/engine/rule"
	"vise/tui/layout"
	"vise/tui/style"
)

// maxActs bounds what can be undone.
const maxActs = 100

// act is something reversible that a person did, as data: what it changed, from what,
// to what. The journal of acts is what u and ctrl+r walk.
type act struct {
	kind          actKind
	target        string // a view, a pane, a rule
	before, after any
}

type actKind string

// The kinds: sizes of panes (layout.Weights), the theme (its name), a filter (its text),
// a rule (its status), the breakpoints (their texts).
const (
	actLayout actKind = "layout"
	actTheme  actKind = "theme"
	actFilter actKind = "filter"
	actRule   actKind = "rule"
	actBreaks actKind = "breakpoints"
)

// acts is the journal: those before next are done, those from it on are undone.
type acts struct {
	list []act
	next int
}

// did takes an act into the journal; what was undone before it cannot be redone.
func (a *App) did(x act) {
	a.acts.list = append(a.acts.list[:a.acts.next], x)
	if over := len(a.acts.list) - maxActs; over > 0 {
		a.acts.list = append([]act(nil), a.acts.list[over:]...)
	}
	a.acts.next = len(a.acts.list)
	a.unsaved = true
}

// undo takes the last act back, or does it again (redo).
func (a *App) undo(redo bool) tea.Cmd {
	if redo {
		a.acts.next++
		x := a.acts.list[a.acts.next-1]
		return tea.Batch(a.say(style.Info, "again: "+x.words(x.after)), a.put(x, x.after))
	}
	a.acts.next--
	x := a.acts.list[a.acts.next]
	return tea.Batch(a.say(style.Info, "undone: "+x.words(x.before)+"; ctrl+r does it again"), a.put(x, x.before))
}

// undoable says why nothing can be undone, or redone; "" when something can.
func (a *App) undoable(redo bool) string {
	switch {
	case redo && a.acts.next == len(a.acts.list):
		return "nothing to do again"
	case !redo && a.acts.next == 0:
		return "nothing to undo: layout, theme, filters, breakpoints and moves of rules are what u takes back"
	}
	return ""
}

// words say what is the case again.
func (x act) words(v any) string {
	switch x.kind {
	case actTheme:
		return "theme " + v.(string)
	case actFilter:
		if v.(string) == "" {
			return "no filter in " + x.target
		}
		return "filter " + v.(string) + " in " + x.target
	case actBreaks:
		return breakWords(v.([]string))
	case actRule:
		return "rule " + tag(x.target) + " is " + string(v.(rule.Status))
	}
	return "the sizes of the panes"
}

// put makes v the case.
func (a *App) put(x act, v any) tea.Cmd {
	a.unsaved = true
	switch x.kind {
	case actLayout:
		a.shape[viewID(x.target)] = v.(layout.Weights)
		a.arrange()
	case actTheme:
		a.look.chosen = v.(string)
		return a.restyled()
	case actFilter:
		if p, ok := a.panes[PaneID(x.target)].(Filterer); ok {
			return p.Filter(a.ctx, v.(string))
		}
	case actBreaks:
		a.putBreakpoints(v.([]string))
		return a.apply(Change{Breaks: true})
	case actRule:
		h, end := a.ctx.Harness, a.ctx.Ctx
		return func() tea.Msg {
			if v.(rule.Status) == rule.Retired {
				return moved{what: "retired " + tag(x.target), err: h.RetireRule(end, x.target, "retired in the workbench")}
			}
			return moved{what: "restored " + tag(x.target) + " as a candidate", err: h.RestoreRule(end, x.target)}
		}
	}
	return nil
}
