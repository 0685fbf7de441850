package tui

import (
	"strconv"
	"strings"

	tea "charm.land/bubbletea/v2"

	"vise/engine/event"
	"vise/engine/evidence"
	"vise/engine/link"
	"vise/engine/notice"
	"vise/store"
	"vise/tui/style"
	"vise/tui/vtext"
)

// Link is the address of a place in a project (package link).
type Link = link.Link

// goLinkMsg is a place to go to that the store has: a link, and for a notice or a verdict
// where it belongs.
type goLinkMsg struct {
	Link
	session, rule string
	turn          int
}

// FindLink looks up what a link is about. Found is false when the store has no such thing;
// command is the headless command that prints it.
func FindLink(tx *store.Tx, l Link) (found bool, command string, err error) {
	m, found, err := locate(tx, l)
	return found, m.command(), err
}

func locate(tx *store.Tx, l Link) (m goLinkMsg, ok bool, err error) {
	m = goLinkMsg{Link: l, turn: NoTurn}
	switch l.Kind {
	case "session":
		if l.Turn != NoTurn {
			heads, err := tx.TurnHeads(l.ID, l.Turn, 1)
			if err != nil || len(heads) == 0 || heads[0].Index != l.Turn {
				return m, false, err
			}
		}
		_, ok, err = tx.Session(l.ID)
	case "episode":
		_, ok, err = tx.Episode(l.ID)
	case "rule":
		_, ok, err = tx.Rule(l.ID)
	case "case":
		_, ok, err = tx.Case(l.ID)
	case "verdict":
		var v evidence.Verdict
		v, ok, err = tx.Verdict(l.ID)
		m.rule = v.RuleID
	case "notice":
		var n notice.Notice
		n, ok, err = tx.Notice(l.ID)
		m.session, m.turn = n.SessionID, n.TurnIndex
	case "run":
		_, ok, err = tx.PatchRun(l.ID)
	case "event":
		_, ok, err = eventAt(tx, l.ID)
	}
	return m, ok, err
}

// command is the headless command that prints what the link shows.
func (m goLinkMsg) command() string {
	if m.Kind == "verdict" {
		return "vise rules show " + shellWord(m.rule)
	}
	return map[string]string{"session": "vise sessions show ", "episode": "vise episodes show ", "rule": "vise rules show ", "case": "vise cases show ",
		"notice": "vise notices show ", "run": "vise patch show ", "event": "vise journal --event "}[m.Kind] + shellWord(m.ID)
}

// liner is a pane with a text that a link can name a line of.
type liner interface {
	// Line is the line at the top of the text, from 1; 0 at its beginning.
	Line() int
	// GoLine brings a line to the top once the pane shows what is in scope; false
	// until then.
	GoLine(ctx *Context, line int) bool
}

// aim is the line that a link named, until its pane shows what it belongs to.
type aim struct {
	pane PaneID
	line int
}

// settleAim goes to the line that a link named when the pane has it.
func (a *App) settleAim() {
	if p, ok := a.panes[a.aim.pane].(liner); ok && a.aim.line > 0 && p.GoLine(a.ctx, a.aim.line) {
		a.aim = aim{}
		a.touch()
	}
}

// link is the address of what is on the screen; ok is false when nothing is selected.
func (a *App) link() (l Link, ok bool) {
	s := a.ctx.Scope
	switch {
	case a.focus == PaneJournal && a.journal().list.Key() != "":
		l = Link{Kind: "event", ID: a.journal().list.Key(), Turn: NoTurn}
	case a.view == repairView && a.focus != PaneRules && s.Episode != "":
		l = Link{Kind: "episode", ID: s.Episode, Step: s.Step, Turn: NoTurn}
	case a.view == patchView && a.focus == PaneAttempts && s.Run != "":
		l = Link{Kind: "run", ID: s.Run, Turn: NoTurn}
	case (a.view == evidenceView || a.focus == PaneRules) && s.Rule != "":
		l = Link{Kind: "rule", ID: s.Rule, Turn: NoTurn}
	case s.Session != "":
		l = Link{Kind: "session", ID: s.Session, Turn: s.Turn}
		if a.focus == PaneTrace {
			l.Span = s.Span
		}
	default:
		return l, false
	}
	l.Pane = string(a.focus)
	if p, ok := a.panes[a.focus].(liner); ok {
		l.Line = p.Line()
	}
	return l, true
}

// openLink goes to a place that a link names.
func (a *App) openLink(text string) tea.Cmd {
	l, err := link.Parse(text)
	if err != nil {
		return a.say(style.Warn, err.Error())
	}
	s := a.ctx.Store
	return func() tea.Msg {
		var m goLinkMsg
		var found bool
		err := s.View(func(tx *store.Tx) (err error) {
			m, found, err = locate(tx, l)
			return err
		})
		switch {
		case err != nil:
			return sayMsg{err.Error(), style.Bad}
		case !found:
			return sayMsg{"this project has no " + strings.TrimPrefix(l.String(), "vise://"), style.Warn}
		}
		return m
	}
}

// goLink shows the place of a link.
func (a *App) goLink(l goLinkMsg) tea.Cmd {
	a.follow = false
	s := a.ctx.Scope
	pane := map[string]PaneID{"session": PaneTurns, "episode": PaneRepair, "rule": PaneRules, "case": PaneValidation, "verdict": PaneValidation,
		"notice": PaneScores, "run": PaneAttempts, "event": PaneJournal}[l.Kind]
	switch l.Kind {
	case "session":
		s.Session, s.Turn, s.Span, s.Compare = l.ID, l.Turn, l.Span, ""
	case "episode":
		s.Episode, s.Attempt, s.Step = l.ID, 0, l.Step
	case "rule":
		s.Rule = l.ID
	case "case":
		s.Case = l.ID
	case "verdict":
		s.Verdict, s.Rule = l.ID, l.rule
	case "notice":
		s.Notice, s.Session, s.Turn, s.Span, s.Compare = l.ID, l.session, l.turn, "", ""
	case "run":
		s.Run = l.ID
	case "event":
		to, _ := strconv.ParseUint(l.ID, 10, 64)
		return tea.Batch(a.goTo(PaneJournal), a.journal().seek(a.ctx, to))
	}
	if l.Pane != "" {
		pane = PaneID(l.Pane)
	}
	a.aim = aim{pane, l.Line}
	return a.goTo(pane)
}

// journal is the pane of that name.
func (a *App) journal() *journalPane { return a.panes[PaneJournal].(*journalPane) }

// eventAt is the event of the journal with a number.
func eventAt(tx *store.Tx, seq string) (e event.Event, ok bool, err error) {
	n, err := strconv.ParseUint(seq, 10, 64)
	if err != nil || n == 0 {
		return e, false, nil
	}
	list, err := tx.Events(n-1, 1, store.EventFilter{})
	if err != nil || len(list) == 0 || list[0].Seq != n {
		return e, false, err
	}
	return list[0], true, nil
}

// topLine is the line at the top of a text as links count it; 0 at its beginning.
func topLine(t *vtext.Text) int {
	if t == nil || t.Top() == 0 {
		return 0
	}
	return t.Top() + 1
}
