package tui

import (
	"vise/tui/action"
	"vise/tui/layout"
)

// viewID names an arrangement of panes for one use.
type viewID string

// The views.
const (
	debugView    viewID = "debug"
	repairView   viewID = "repair"
	evidenceView viewID = "evidence"
	patchView    viewID = "patch"
)

// viewDef is a view: its tree of panes and the pane that has the focus at first.
type viewDef struct {
	id    viewID
	title string
	root  layout.Node
	first PaneID
}

// act is the action that shows the view.
func (v viewDef) act() action.ID { return action.ID("view." + string(v.id)) }

// leaf makes a pane of a tree. What collapses first when the screen is small is
// what a person misses least: the highest number.
func leaf(id PaneID, weight, collapse, minW, minH int) layout.Node {
	return layout.Node{Pane: string(id), Weight: weight, Collapse: collapse, MinW: minW, MinH: minH}
}

// views are the arrangements in the order of their names in the header.
func views() []viewDef {
	// A row of sessions needs 37 columns for a name of twelve letters and when it ran to the
	// second, 32 for a shorter one: two runs of a minute must not read the same.
	left := func(weight, w int) layout.Node {
		return layout.Split(layout.Stack, weight,
			leaf(PaneSessions, 3, 1, w, 5),
			leaf(PaneAttention, 2, 4, w, 4))
	}
	return []viewDef{
		{debugView, "Debug", layout.Split(layout.Columns, 1,
			left(10, 37),
			layout.Split(layout.Stack, 30,
				layout.Split(layout.Columns, 9, leaf(PaneTurns, 1, 2, 31, 6), leaf(PaneScores, 1, 3, 31, 6)),
				leaf(PaneTrace, 11, 0, 36, 6))), PaneSessions},
		{repairView, "Repair", layout.Split(layout.Columns, 1,
			left(10, 32),
			layout.Split(layout.Stack, 36,
				leaf(PaneRepair, 7, 0, 40, 6),
				layout.Split(layout.Columns, 3, leaf(PaneTrace, 5, 2, 36, 5), leaf(PaneRules, 5, 1, 32, 5)))), PaneRepair},
		{evidenceView, "Evidence", layout.Split(layout.Stack, 1,
			leaf(PaneValidation, 6, 0, 40, 7),
			layout.Split(layout.Columns, 5, leaf(PaneRules, 1, 1, 32, 6), leaf(PaneJournal, 1, 2, 32, 6))), PaneValidation},
		{patchView, "Patch", layout.Split(layout.Columns, 1,
			leaf(PaneAttempts, 26, 0, 48, 8),
			layout.Split(layout.Stack, 12, leaf(PaneAttention, 2, 1, 24, 4), leaf(PaneJournal, 3, 2, 28, 5))), PaneAttempts},
	}
}

// paneOrder is the order of the panes: that of the keys 1 to 9 and 0.
var paneOrder = []PaneID{PaneSessions, PaneTurns, PaneTrace, PaneScores, PaneRepair, PaneRules, PaneValidation, PaneAttention, PaneJournal, PaneAttempts}

// paneNames are the nouns by which the panes are called.
var paneNames = map[PaneID]string{
	PaneSessions: "Sessions", PaneTurns: "Turns", PaneTrace: "Trace", PaneScores: "Scores", PaneRepair: "Repair",
	PaneRules: "Rules", PaneValidation: "Validation", PaneAttention: "Attention", PaneJournal: "Journal", PaneAttempts: "Attempts",
}

// home is the view in which a pane is looked for when the current one lacks it.
func home(list []viewDef, id PaneID) viewID {
	for _, v := range list {
		if v.root.Has(string(id)) {
			return v.id
		}
	}
	return debugView
}
