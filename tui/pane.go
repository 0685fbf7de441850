// Package tui is the workbench: one Bubble Tea program over the store and the
// event stream. App is the only tea.Model; panes are plain structs that return
// exactly h rows of w cells and are cached by version. Whatever reads the store
// or runs longer than a moment happens in a tea.Cmd, whatever changes state goes
// through the engine.
package tui

import (
	"context"
	"time"

	tea "charm.land/bubbletea/v2"

	"vise/engine"
	"vise/engine/episode"
	"vise/engine/event"
	"vise/engine/patch"
	"vise/engine/patch/run"
	"vise/engine/repair"
	"vise/store"
	"vise/tui/action"
	"vise/tui/style"
)

// PaneID names a pane: in layouts, key scopes and tests.
type PaneID string

// The panes. Keys 1 to 9 and 0 focus them in this order.
const (
	PaneSessions   PaneID = "sessions"
	PaneTurns      PaneID = "turns"
	PaneTrace      PaneID = "trace"
	PaneScores     PaneID = "scores"
	PaneRepair     PaneID = "repair"
	PaneRules      PaneID = "rules"
	PaneValidation PaneID = "validation"
	PaneAttention  PaneID = "attention"
	PaneJournal    PaneID = "journal"
	PaneAttempts   PaneID = "attempts"
)

// Pane is one part of the screen. It is used from the update goroutine only.
type Pane interface {
	ID() PaneID
	// Title is the noun at the left of the top border. Badge is what stands at its
	// right: a state, a count; "" = nothing.
	Title() string
	Badge() string
	// SetSize is called with the room inside the border.
	SetSize(w, h int)
	// SetFocus tells whether keys go to the pane: its cursor is drawn by that.
	SetFocus(on bool)
	// Rows returns exactly h rows of exactly w cells, the same slice until Version changes.
	Rows() []string
	// Version is raised by every change of what Rows, Title or Badge return.
	Version() uint64
	// Apply tells that something changed outside; cheap. What must be read is asked
	// for by the command.
	Apply(ctx *Context, c Change) tea.Cmd
	// Take gets replies to the pane's own questions; true if it was one, outdated ones included.
	Take(ctx *Context, msg any) (taken bool, cmd tea.Cmd)
	// Do runs an action of the pane; ok is false when it means nothing here.
	Do(ctx *Context, id action.ID) (cmd tea.Cmd, ok bool)
	// Mouse gets clicks and wheel turns in coordinates of the pane's inside.
	Mouse(ctx *Context, x, y int, m tea.MouseMsg) tea.Cmd
	// Copy is what `y` copies; Headless the command line that shows the same, "" = none.
	Copy() string
	Headless() string
	// JSON is what the rows show as data: the objects of the headless twin.
	JSON() any
}

// Searcher is a pane in which one can search.
type Searcher interface {
	// Search marks what matches, goes to the first match and returns how many there
	// are in what is loaded; "" ends the search.
	Search(ctx *Context, query string) int
	// NextMatch goes to the next (1) or previous (-1) match.
	NextMatch(ctx *Context, dir int) tea.Cmd
}

// Disabler is a pane that can say why an action of it is not possible now.
type Disabler interface {
	Disabled(ctx *Context, id action.ID) (why string)
}

// Context is what panes share. Its fields are set by App; panes change Scope only.
type Context struct {
	// Ctx ends with the program: commands read the store under it.
	Ctx     context.Context
	Store   *store.Store
	Harness *engine.Harness
	Scope   *Scope
	Style   *style.Style
	Now     func() time.Time
	// Patch does the work of the patch loop; nil without a project.
	Patch *patch.Bench
	// PatchHeld is the patch loop that waits for a person, if one does.
	PatchHeld *run.Loop
	// Held is the checkpoint at which a repair waits for a person, if one does.
	Held *Held
	// Breaks are the breakpoints that are set.
	Breaks []repair.Breakpoint
	// Incidents are the errors of what the workbench started, oldest first.
	Incidents []Incident
	// dismissed are those that were, so that undo brings them back.
	dismissed []gone
	// Running names what the conductor is doing: "" when nothing.
	Running Activity
	// During is what the conductor did at the time of an event; nil = Running.
	During func(at time.Time) Activity
	// Live are the turns that agents are working on: what the store does not have yet.
	Live liveTurns
	// Names are what people call sessions, by id.
	Names map[string]string
	// Keys are the actions with the keys that a person gave them.
	Keys *action.Registry
	// NoAgent: none is configured, so nothing can be replayed.
	NoAgent bool
}

// Key is what a person presses for an action, for texts that name it: its first key, or
// its command when it has none.
func (c *Context) Key(id action.ID) string {
	if c.Keys == nil {
		return ":" + string(id)
	}
	act, _ := c.Keys.Action(id)
	return act.Press()
}

// Text puts the person's keys into a text that names actions as {run.replay}.
func (c *Context) Text(s string) string {
	if c.Keys == nil {
		return s
	}
	return c.Keys.Text(s)
}

func (c *Context) during(at time.Time) Activity {
	if c.During == nil {
		return c.Running
	}
	return c.During(at)
}

// Repairs reports whether this process is repairing the episode. The store's word
// alone does not count: a process that was killed leaves episodes that say "running".
func (c *Context) Repairs(e episode.Episode) bool {
	switch {
	case e.Status != episode.Running:
		return false
	case c.Held != nil && c.Held.EpisodeID == e.ID:
		return true
	case c.Running.Kind == Importing || c.Running.Kind == Patching:
		return false
	case c.Running.Kind == Repairing:
		return c.Running.Episode == e.ID || c.Running.Fork && e.Fork != nil && e.Fork.Of == c.Running.Episode
	}
	return c.Running.Kind != Idle
}

// Scope is what the person is looking at. Panes assign to its fields; App tells
// all panes when the scope has changed.
type Scope struct {
	Session string
	Turn    int    // NoTurn = none
	Span    string // id of a span of the turn
	// Compare is a session shown beside Session, turns aligned: the run before.
	Compare string
	Episode string
	Attempt int
	Step    int // 1-based turn of the episode; 0 = the newest, following
	Rule    string
	Notice  string
	Case    string
	Verdict string
	Run     string // of a coding agent
}

// NoTurn is Scope.Turn when no turn is selected.
const NoTurn = -1

// Change tells panes what happened since the last one.
type Change struct {
	// Events that came, in order, ephemeral ones included.
	Events []event.Event
	// Reload: events may have been missed, or nothing was read yet; read everything anew.
	Reload bool
	// Scope: the scope has changed; Old is what it was.
	Scope bool
	Old   Scope
	// Style: the look has changed.
	Style bool
	// Held: the checkpoint in the context has changed. Incidents, Running: likewise.
	Held      bool
	Incidents bool
	Running   bool
	// Breaks: the breakpoints are others. Names: what sessions are called is.
	Breaks, Names bool
}

// Has reports whether one of the types is among the events.
func (c Change) Has(types ...event.Type) bool {
	for _, e := range c.Events {
		for _, t := range types {
			if e.Type == t {
				return true
			}
		}
	}
	return false
}

// Of returns the events that belong to a session.
func (c Change) Of(session string) []event.Event {
	var out []event.Event
	for _, e := range c.Events {
		if e.SessionID == session {
			out = append(out, e)
		}
	}
	return out
}

// Activity is what the conductor is doing.
type Activity struct {
	Kind    ActivityKind
	Session string // the session that is replayed
	Rule    string // the rule that is validated; "" = until idle
	Episode string // the episode that is repaired
	Fork    bool   // not the episode itself but a fork of it is run
	Run     string // the run of a coding agent whose loop goes on
	Arg     string // the path that is imported, the command line of a coding agent
	Since   time.Time
	Until   time.Time // its end; zero while it runs
	// Stopping: it was cancelled and is ending.
	Stopping bool
}

// ActivityKind is the kind of an activity.
type ActivityKind string

// The kinds.
const (
	Idle       ActivityKind = ""
	Replaying  ActivityKind = "replay"
	Repairing  ActivityKind = "repair"
	Validating ActivityKind = "validation"
	Mending    ActivityKind = "patch loop"
	Importing  ActivityKind = "import"
	Scoring    ActivityKind = "scoring"
	Patching   ActivityKind = "coding agent"
)
