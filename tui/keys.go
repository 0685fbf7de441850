package tui

import (
	"slices"
	"strconv"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"vise/store"
	"vise/tui/action"
	"vise/tui/layout"
	"vise/tui/style"
)

// key handles a key press: overlay, then text input, then what the key means here.
func (a *App) key(k tea.KeyPressMsg) tea.Cmd {
	if k.String() == "ctrl+c" {
		return tea.Quit
	}
	if act, ok := a.reg.Lookup(k.String(), ""); ok && act.ID == action.Suspend && k.Text == "" {
		return a.do(act.ID, "") // also while something is typed, as in every tool of the shell
	}
	a.toast.text = "" // it has been read
	a.aim = aim{}
	if a.marked.on && k.String() != "y" {
		a.unmark()
	}
	if layout.FormOf(a.w, a.h) == layout.TooSmall {
		// What cannot be seen must not be done.
		if act, ok := a.reg.Lookup(k.String(), string(a.focus)); ok && act.ID == action.Quit {
			return tea.Quit
		}
		return nil
	}
	if n := len(a.overlays); n > 0 {
		return a.overlays[n-1].Key(a, k)
	}
	if a.search != nil && a.search.typing {
		return a.searchKey(k)
	}
	if a.filtering != nil {
		return a.filterKey(k)
	}
	if a.waits(k) {
		return nil
	}
	if a.deaf(k) {
		return a.say(style.Dim, a.deafWhy)
	}
	act, ok := a.reg.Lookup(k.String(), string(a.focus))
	if !ok {
		return a.elsewhere(k.String())
	}
	return a.do(act.ID, "")
}

func (a *App) paste(m tea.PasteMsg) tea.Cmd {
	if layout.FormOf(a.w, a.h) == layout.TooSmall {
		return nil
	}
	if n := len(a.overlays); n > 0 {
		if p, ok := a.overlays[n-1].(paster); ok {
			return p.Paste(a, m)
		}
		return nil
	}
	if a.search != nil && a.search.typing {
		return a.searchPaste(m)
	}
	if a.filtering != nil {
		var cmd tea.Cmd
		a.filtering.input, cmd = a.filtering.input.Update(m)
		return tea.Batch(cmd, a.filterTyped())
	}
	return nil
}

// do runs an action; arg is what the palette was given after the title.
func (a *App) do(id action.ID, arg string) tea.Cmd {
	if why := a.disabled(id); why != "" {
		if id == action.Search || id == action.Filter {
			a.deafUntil, a.deafWhy = a.ctx.Now().Add(deafFor), why
		}
		return a.say(style.Dim, why)
	}
	if a.lastAct = id; id != a.question.id {
		a.question = question{}
	}
	leaving := a.leaving
	a.leaving = false
	a.cfg.Log.Debug("act", "id", id, "arg", arg)
	if !a.ready() {
		switch id {
		case action.Up, action.Down, action.Home, action.End, action.Into:
			return a.choose(id)
		}
	}
	switch id {
	case action.Suspend:
		return tea.Sequence(tea.Raw(ansi.ResetModeLightDark), tea.Suspend)
	case action.Quit:
		if what := a.atWork(); what != "" && !leaving {
			a.leaving = true
			return a.say(style.Warn, what+"; "+a.ctx.Key(action.Quit)+" again ends it and vise")
		}
		return tea.Quit
	case action.Help:
		return a.open(newHelpCard(a))
	case action.Palette:
		return a.open(newPalette(a))
	case action.Themes:
		if arg != "" {
			was := a.look.chosen
			cmd := a.chooseTheme(arg)
			if a.look.chosen != was {
				a.did(act{Kind: actTheme, Before: said(was), After: said(arg)})
			}
			return cmd
		}
		return a.open(newThemePicker(a))
	case action.Log:
		return a.openLog(arg)
	case action.Redraw:
		return tea.ClearScreen
	case action.Zoom:
		a.zoom, a.half = !a.zoom, false
		a.arrange()
		return nil
	case action.Half:
		a.half, a.zoom = !a.half, false
		a.arrange()
		return nil
	case action.Wider, action.Narrower, action.Taller, action.Lower:
		return a.resize(id)
	case action.Level:
		return a.level()
	case action.Undo, action.Redo:
		return a.undo(id == action.Redo)
	case action.Filter:
		if arg != "" {
			return a.filter(a.focus, arg, a.panes[a.focus].(Filterer).Filtered())
		}
		return a.openFilter()
	case action.KeepFilter, action.Turn, action.Open:
		if arg == "" {
			return a.ask(id)
		}
		switch id {
		case action.KeepFilter:
			return a.keepFilter(arg)
		case action.Open:
			return a.openLink(arg)
		}
		return a.goTurn(arg)
	case action.Rename:
		if arg == "" {
			return a.ask(id)
		}
		return a.sessionAct(id, arg)
	case action.Pin, action.Remove:
		return a.sessionAct(id, "")
	case action.Pick:
		return a.pick(arg)
	case action.Audit:
		return a.audit()
	case action.Diff:
		return a.beside(arg)
	case action.Fork:
		return a.fork(arg)
	case action.Accept:
		return a.accept()
	case action.Resume:
		if a.focus == PaneAttention {
			return a.resume()
		}
		return a.nothing(id)
	case action.Discard:
		return a.discard()
	case action.Edit:
		return a.editRule(arg)
	case action.Breakpoint:
		if arg != "" {
			return a.toggleBreakpoint(arg)
		}
		return a.open(newBreakCard(a))
	case action.Mouse:
		a.cfg.NoMouse = !a.cfg.NoMouse
		if a.cfg.NoMouse {
			return a.say(style.Info, "the mouse belongs to the terminal now: it selects as in a shell; {view.mouse} takes it back")
		}
		return a.say(style.Info, "the mouse belongs to vise again")
	case action.Escape:
		return a.escape()
	case action.ViewDebug:
		return a.show(debugView, "")
	case action.ViewRepair:
		return a.show(repairView, "")
	case action.ViewEvidence:
		return a.show(evidenceView, "")
	case action.ViewPatch:
		return a.show(patchView, "")
	case action.FocusNext:
		return a.cycle(1)
	case action.FocusPrev:
		return a.cycle(-1)
	case action.Search:
		if arg != "" {
			a.search = &searchBar{input: newInput(arg), pane: a.focus}
			return a.find()
		}
		return a.openSearch()
	case action.Copy, action.CopyCommand, action.CopyLink:
		return a.copy(id)
	case action.PatchRepair:
		return a.mend()
	case action.Import, action.Score, action.Agent:
		return a.errand(id, arg)
	case action.Replay, action.Validate, action.ValidateOne, action.Step, action.Continue, action.Cancel:
		return a.run(id)
	}
	if n, ok := strings.CutPrefix(string(id), "focus."); ok && len(n) == 1 && n[0] >= '0' && n[0] <= '9' {
		return a.goTo(paneOrder[(n[0]-'0'+9)%10]) // 0 is the tenth
	}
	return a.paneAction(id)
}

// deafFor is how long keys are swallowed after a prompt that did not open, from the last one on.
const deafFor = time.Second

// deaf reports whether a key belongs to the text that a person types for a prompt which was
// refused: it must not run anything.
func (a *App) deaf(k tea.KeyPressMsg) bool {
	now := a.ctx.Now()
	if !now.Before(a.deafUntil) {
		return false
	}
	if k.Text == "" {
		a.deafUntil = time.Time{}
		return k.String() == "enter" || k.String() == "backspace"
	}
	a.deafUntil = now.Add(deafFor)
	return true
}

// paneAction lets the pane with the focus act, and where an action belongs to the
// view, the pane that knows it.
func (a *App) paneAction(id action.ID) tea.Cmd {
	moves := strings.HasPrefix(string(id), "move.") || strings.HasPrefix(string(id), "time.")
	if moves {
		a.follow = false
	}
	if a.search != nil && (id == action.NextProblem || id == action.PrevProblem) {
		dir := 1
		if id == action.PrevProblem {
			dir = -1
		}
		return a.nextMatch(dir)
	}
	order := []PaneID{a.focus}
	switch id {
	case action.Back, action.Forward:
		if a.view == patchView {
			order = []PaneID{PaneAttempts}
		} else if a.view == repairView {
			order = []PaneID{PaneRepair}
		} else if a.view == debugView {
			order = []PaneID{PaneTurns}
		}
	case action.NextProblem, action.PrevProblem:
		order = append(order, PaneTrace, PaneTurns, PaneSessions)
	}
	if id == action.Into {
		if cmd, ok := a.enter(); ok {
			return cmd
		}
		return a.drill(1)
	}
	for _, p := range order {
		if cmd, ok := a.panes[p].Do(a.ctx, id); ok {
			if slices.Contains(reading, id) {
				return a.landing(cmd)
			}
			return cmd
		}
	}
	switch id {
	case action.Out:
		if cmd, ok := a.back(); ok {
			return cmd
		}
		return a.drill(-1)
	case action.NextProblem, action.PrevProblem:
		return a.say(style.Dim, "no further problem here")
	}
	return a.nothing(id)
}

// goTurn goes to a turn of the session in scope by its number.
func (a *App) goTurn(arg string) tea.Cmd {
	n, err := strconv.Atoi(arg)
	if err != nil || n < 0 {
		return a.say(style.Warn, "a turn is a number from 0 on: :turn 12")
	}
	id, s, called := a.ctx.Scope.Session, a.ctx.Store, a.ctx.Called(a.ctx.Scope.Session)
	return func() tea.Msg {
		var m goLinkMsg
		ok := false
		err := s.View(func(tx *store.Tx) (err error) {
			m, ok, err = locate(tx, Link{Kind: "session", ID: id, Turn: n, Pane: string(PaneTurns)})
			return err
		})
		switch {
		case err != nil:
			return sayMsg{err.Error(), style.Bad}
		case !ok:
			return sayMsg{"session " + called + " has no turn " + itoa(n), style.Warn}
		}
		return m
	}
}

// escape ends what is open, the innermost first.
func (a *App) escape() tea.Cmd {
	switch {
	case a.search != nil:
		return a.closeSearch()
	case a.zoom || a.half:
		a.zoom, a.half = false, false
		a.arrange()
	default:
		if cmd, ok := a.panes[a.focus].Do(a.ctx, action.Escape); ok {
			return cmd
		}
		if p, ok := a.panes[a.focus].(Filterer); ok && p.Filtered() != "" {
			was := p.Filtered()
			return tea.Batch(a.filter(a.focus, "", was), a.say(style.Info, "the filter "+was+" has ended; "+a.ctx.Key(action.Undo)+" brings it back"))
		}
	}
	return nil
}
