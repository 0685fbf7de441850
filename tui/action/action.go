// Package action is the one list of everything a person can do in the workbench.
// Keys, palette, help, footer and `vise keys` are views of it, so that none of
// them can know something the others do not.
package action

// ID names an action: in key files, in the palette and in tests.
type ID string

// The actions. The names are stable: people write them into key files.
const (
	Up        ID = "move.up"
	Down      ID = "move.down"
	Left      ID = "move.left"
	Right     ID = "move.right"
	PageUp    ID = "move.page_up"
	PageDown  ID = "move.page_down"
	Home      ID = "move.home"
	End       ID = "move.end"
	Into      ID = "move.into"
	Out       ID = "move.out"
	Escape    ID = "move.escape"
	Toggle    ID = "pane.toggle"
	FocusNext ID = "focus.next"
	FocusPrev ID = "focus.previous"
	Focus1    ID = "focus.1"
	Focus2    ID = "focus.2"
	Focus3    ID = "focus.3"
	Focus4    ID = "focus.4"
	Focus5    ID = "focus.5"
	Focus6    ID = "focus.6"
	Focus7    ID = "focus.7"
	Focus8    ID = "focus.8"
	Focus9    ID = "focus.9"
	Focus0    ID = "focus.0"

	ViewDebug    ID = "view.debug"
	ViewRepair   ID = "view.repair"
	ViewEvidence ID = "view.evidence"
	ViewPatch    ID = "view.patch"
	Zoom         ID = "view.zoom"
	Half         ID = "view.half"
	Wider        ID = "view.wider"
	Narrower     ID = "view.narrower"
	Taller       ID = "view.taller"
	Lower        ID = "view.lower"
	Level        ID = "view.level"
	Mouse        ID = "view.mouse"
	Redraw       ID = "view.redraw"
	Themes       ID = "view.themes"
	// Log shows the workbench's own log.
	Log ID = "view.log"

	Replay ID = "run.replay"
	// Import brings recordings in, Score scores the session in scope as it was recorded,
	// Agent runs a coding agent on a copy of the project and proves its patch.
	Import      ID = "run.import"
	Score       ID = "run.score"
	Agent       ID = "run.patch"
	Step        ID = "run.step"
	Continue    ID = "run.continue"
	Cancel      ID = "run.cancel"
	Validate    ID = "run.validate"
	ValidateOne ID = "run.validate_rule"
	Back        ID = "time.back"
	Forward     ID = "time.forward"
	NextProblem ID = "time.next_problem"
	PrevProblem ID = "time.previous_problem"
	Breakpoint  ID = "run.breakpoint"
	// Diff puts two runs, or two repairs, side by side.
	Diff ID = "time.diff"
	// Fork lets the repair go on from the turn under the cursor under other conditions,
	// Accept makes the rule of a fork a candidate, Discard removes a fork.
	Fork    ID = "episode.fork"
	Accept  ID = "episode.accept"
	Discard ID = "episode.discard"

	Search ID = "find.search"
	Filter ID = "find.filter"
	// KeepFilter keeps the filter in force under a name.
	KeepFilter ID = "find.keep"
	// Turn and Open go to a turn by number and to a place by link.
	Turn ID = "find.turn"
	Open ID = "find.open"

	Copy        ID = "copy.item"
	CopyCommand ID = "copy.command"
	CopyLink    ID = "copy.link"
	Undo        ID = "edit.undo"
	Redo        ID = "edit.redo"

	// Resume lets repair go on after it asked for a person (pane Attention).
	Resume ID = "notice.resume"
	// Acknowledge closes the notice under the cursor on a person's word.
	Acknowledge ID = "notice.acknowledge"
	// Protect makes the session in scope a case that rules must not break.
	Protect ID = "case.protect"
	// Rename, Pin and Remove are about the session under the cursor: what a person calls
	// it, whether it stays at the top, and that it goes. Pick finds a session by name.
	Rename ID = "session.rename"
	Pin    ID = "session.pin"
	Remove ID = "session.remove"
	Pick   ID = "find.session"
	// PatchRepair gives the agent of the run under the cursor another try,
	// PatchApply writes its patch to the project, PatchUndo takes it back.
	PatchRepair ID = "patch.repair"
	PatchApply  ID = "patch.apply"
	PatchUndo   ID = "patch.undo"
	// Retire and Restore move the rule under the cursor.
	Retire  ID = "rule.retire"
	Restore ID = "rule.restore"
	// Edit makes a person's wording of the rule under the cursor a candidate.
	Edit ID = "rule.edit"
	// Audit shows what speaks against the live rules.
	Audit ID = "rule.audit"
	// Retest queues a new test of a rule in force.
	Retest ID = "rule.retest"

	Palette ID = "help.palette"
	Help    ID = "help.keys"
	Suspend ID = "suspend"
	Quit    ID = "quit"
)

// Scope says where an action belongs; keys of a narrower scope win.
type Scope string

// From the narrowest to the widest.
const (
	Pane   Scope = "pane"   // what it does depends on the pane with the focus
	View   Scope = "view"   // what it does depends on the view
	Global Scope = "global" // the same everywhere
)

// Action is one thing a person can do.
type Action struct {
	ID    ID     `json:"id"`
	Title string `json:"title"`
	// Short is the word in the footer; "" = not in the footer.
	Short string `json:"-"`
	Group string `json:"group"`
	Scope Scope  `json:"scope"`
	// Panes restricts a pane action to panes by name; empty = all.
	Panes []string `json:"panes,omitempty"`
	// Keys in Bubble Tea's notation, the main one first.
	Keys []string `json:"keys"`
	// Arg names the argument that the palette takes after the action's title.
	Arg string `json:"arg,omitempty"`
	// Rank orders the footer, 1 first; 0 = not in the footer.
	Rank int `json:"-"`
}

// For reports whether the action belongs to the pane.
func (a Action) For(pane string) bool {
	if len(a.Panes) == 0 {
		return true
	}
	for _, p := range a.Panes {
		if p == pane {
			return true
		}
	}
	return false
}
