package action

// defaults are the actions of the workbench with their keys: vim and arrows for
// movement, a letter for what one does often, nothing on keys that a multiplexer
// or a line editor takes.
var defaults = []Action{
	{ID: Up, Title: "move up", Group: "move", Scope: Pane, Keys: []string{"k", "up"}},
	{ID: Down, Title: "move down", Group: "move", Scope: Pane, Keys: []string{"j", "down"}},
	{ID: Left, Title: "move left, or fold", Group: "move", Scope: Pane, Keys: []string{"h", "left"}},
	{ID: Right, Title: "move right, or unfold", Group: "move", Scope: Pane, Keys: []string{"l", "right"}},
	{ID: PageUp, Title: "page up", Group: "move", Scope: Pane, Keys: []string{"pgup", "ctrl+u"}},
	{ID: PageDown, Title: "page down", Group: "move", Scope: Pane, Keys: []string{"pgdown", "ctrl+d"}},
	{ID: Home, Title: "go to the first", Group: "move", Scope: Pane, Keys: []string{"home", "g"}},
	{ID: End, Title: "go to the last", Group: "move", Scope: Pane, Keys: []string{"end", "G"}},
	{ID: Into, Title: "go into what is selected", Group: "move", Scope: Pane, Keys: []string{"i", "enter"}},
	{ID: Out, Title: "go out again", Group: "move", Scope: Pane, Keys: []string{"o", "backspace"}},
	{ID: Escape, Title: "end search or zoom", Group: "move", Scope: Pane, Keys: []string{"esc"}},
	{ID: Toggle, Title: "fold or unfold", Group: "move", Scope: Pane, Keys: []string{"space"}},

	{ID: Replay, Title: "replay this session through the agent", Short: "replay", Group: "run", Scope: Global, Keys: []string{"r"}, Rank: 10},
	{ID: Step, Title: "step to the next checkpoint of the repair", Short: "step", Group: "run", Scope: Global, Keys: []string{"s"}, Rank: 1},
	{ID: Continue, Title: "let the repair go on", Short: "continue", Group: "run", Scope: Global, Keys: []string{"c"}, Rank: 2},
	{ID: Cancel, Title: "cancel what is running", Short: "cancel", Group: "run", Scope: Global, Keys: []string{"x"}, Rank: 3},
	{ID: Validate, Title: "validate until idle", Short: "validate until idle", Group: "run", Scope: Global, Keys: []string{"v"}, Rank: 11},
	{ID: ValidateOne, Title: "validate this rule", Short: "this rule", Group: "run", Scope: Global, Keys: []string{"V"}},
	{ID: Breakpoint, Title: "set a breakpoint", Group: "run", Scope: Global, Keys: []string{"b"}},

	{ID: Back, Title: "back in time", Short: "back/forward", Group: "time", Scope: View, Keys: []string{"["}, Rank: 4},
	{ID: Forward, Title: "forward in time", Group: "time", Scope: View, Keys: []string{"]"}},
	{ID: NextProblem, Title: "next problem", Short: "problem", Group: "time", Scope: View, Keys: []string{"n"}, Rank: 12},
	{ID: PrevProblem, Title: "previous problem", Group: "time", Scope: View, Keys: []string{"N"}},

	{ID: Resume, Title: "resume repair", Short: "resume", Group: "attention", Scope: Pane, Panes: []string{"attention"}, Keys: []string{"a"}, Rank: 5},
	{ID: Acknowledge, Title: "acknowledge this notice", Group: "attention", Scope: Pane, Panes: []string{"attention"}, Keys: []string{"A"}},
	{ID: Retire, Title: "retire this rule", Group: "rule", Scope: Pane, Panes: []string{"rules"}, Keys: []string{"X"}},
	{ID: Restore, Title: "restore this rule as a candidate", Group: "rule", Scope: Pane, Panes: []string{"rules"}, Keys: []string{"U"}},
	{ID: Protect, Title: "protect this session as a win", Group: "case", Scope: Pane, Panes: []string{"sessions", "turns", "attention"}, Keys: []string{"p"}},

	{ID: ViewDebug, Title: "view Debug: sessions, turns, scores, trace", Group: "view", Scope: Global, Keys: []string{"D"}},
	{ID: ViewRepair, Title: "view Repair: the repair agent step by step", Group: "view", Scope: Global, Keys: []string{"R"}},
	{ID: ViewEvidence, Title: "view Evidence: validation, rules, journal", Group: "view", Scope: Global, Keys: []string{"E"}},
	{ID: Zoom, Title: "zoom this pane", Short: "zoom", Group: "view", Scope: Global, Keys: []string{"z"}, Rank: 13},
	{ID: FocusNext, Title: "focus the next pane", Group: "view", Scope: Global, Keys: []string{"tab"}},
	{ID: FocusPrev, Title: "focus the previous pane", Group: "view", Scope: Global, Keys: []string{"shift+tab"}},
	{ID: Focus1, Title: "focus Sessions", Group: "view", Scope: Global, Keys: []string{"1"}},
	{ID: Focus2, Title: "focus Turns", Group: "view", Scope: Global, Keys: []string{"2"}},
	{ID: Focus3, Title: "focus Trace", Group: "view", Scope: Global, Keys: []string{"3"}},
	{ID: Focus4, Title: "focus Scores", Group: "view", Scope: Global, Keys: []string{"4"}},
	{ID: Focus5, Title: "focus Repair", Group: "view", Scope: Global, Keys: []string{"5"}},
	{ID: Focus6, Title: "focus Rules", Group: "view", Scope: Global, Keys: []string{"6"}},
	{ID: Focus7, Title: "focus Validation", Group: "view", Scope: Global, Keys: []string{"7"}},
	{ID: Focus8, Title: "focus Attention", Group: "view", Scope: Global, Keys: []string{"8"}},
	{ID: Focus9, Title: "focus Journal", Group: "view", Scope: Global, Keys: []string{"9"}},
	{ID: Themes, Title: "choose a theme", Group: "view", Scope: Global, Keys: []string{"T"}, Arg: "name"},
	{ID: Redraw, Title: "redraw the screen", Group: "view", Scope: Global, Keys: []string{"ctrl+l"}},

	{ID: Search, Title: "search in this pane", Short: "search", Group: "find", Scope: Global, Keys: []string{"/"}, Rank: 14},
	{ID: Filter, Title: "filter this pane", Group: "find", Scope: Global, Keys: []string{"f"}},

	{ID: Copy, Title: "copy what is selected", Group: "copy", Scope: Global, Keys: []string{"y"}},
	{ID: CopyCommand, Title: "copy the headless command for it", Group: "copy", Scope: Global, Keys: []string{"Y"}},
	{ID: CopyLink, Title: "copy a link to this place", Group: "copy", Scope: Global, Keys: []string{"L"}},
	{ID: Undo, Title: "undo", Group: "copy", Scope: Global, Keys: []string{"u"}},

	{ID: Palette, Title: "commands", Short: "commands", Group: "help", Scope: Global, Keys: []string{":", "ctrl+p"}, Rank: 20},
	{ID: Help, Title: "keys", Short: "help", Group: "help", Scope: Global, Keys: []string{"?"}, Rank: 21},
	{ID: Suspend, Title: "suspend to the shell; fg comes back", Group: "help", Scope: Global, Keys: []string{"ctrl+z"}},
	{ID: Quit, Title: "quit", Short: "quit", Group: "help", Scope: Global, Keys: []string{"q", "ctrl+c"}, Rank: 22},
}
