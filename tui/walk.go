package tui

import (
	tea "charm.land/bubbletea/v2"

	"vise/engine"
	"vise/engine/guard"
	"vise/store"
	"vise/tui/action"
	"vise/tui/style"
	"vise/tui/vtext"
)

// leader is a pane whose rows name things that another pane shows: `i` goes there.
type leader interface {
	// Leads is the pane that shows what is under the cursor; "" = none.
	Leads() PaneID
}

// footstep is a place from which a person went into something, for `o`.
type footstep struct {
	view    viewID
	focus   PaneID
	scope   Scope
	arrived PaneID // where it led; elsewhere `o` means something else
}

// maxSteps bounds the way back.
const maxSteps = 50

// walk goes to a pane and remembers the place it was left for.
func (a *App) walk(from footstep, to PaneID) tea.Cmd {
	a.follow = false
	from.arrived = to
	a.steps = append(a.steps, from)
	if over := len(a.steps) - maxSteps; over > 0 {
		a.steps = append([]footstep(nil), a.steps[over:]...)
	}
	return a.goTo(to)
}

// here is the place to come back to.
func (a *App) here() footstep { return footstep{view: a.view, focus: a.focus, scope: *a.ctx.Scope} }

// back goes to where the last thing was entered from; ok is false when the focus is not
// where that led.
func (a *App) back() (cmd tea.Cmd, ok bool) {
	n := len(a.steps)
	if n == 0 || a.steps[n-1].arrived != a.focus {
		return nil, false
	}
	s := a.steps[n-1]
	a.steps = a.steps[:n-1]
	a.follow = false
	*a.ctx.Scope = s.scope
	return a.show(s.view, s.focus), true
}

// enter lets the pane with the focus go into what is under the cursor; when another pane
// shows that, the focus goes there.
func (a *App) enter() (cmd tea.Cmd, ok bool) {
	from := a.here()
	to := PaneID("")
	if l, leads := a.panes[a.focus].(leader); leads {
		to = l.Leads()
	}
	if cmd, ok = a.panes[a.focus].Do(a.ctx, action.Into); ok && to != "" && to != a.focus {
		cmd = tea.Batch(cmd, a.walk(from, to))
	}
	return cmd, ok
}

// Leads implements leader: rule, repair, attempt or turn, whatever the row is about.
func (p *attentionPane) Leads() PaneID {
	if p.cursor >= len(p.items) {
		return ""
	}
	switch x := p.items[p.cursor]; {
	case x.RunID != "":
		return PaneAttempts
	case x.RuleID != "":
		return PaneRules
	case x.EpisodeID != "":
		return PaneRepair
	case x.SessionID != "":
		return PaneTurns
	}
	return ""
}

// Leads implements leader.
func (p *journalPane) Leads() PaneID {
	e, ok := p.list.Selected()
	if !ok {
		return ""
	}
	switch _, verdict := e.Data["verdict_id"].(string); {
	case verdict:
		return PaneValidation
	case e.EpisodeID != "":
		return PaneRepair
	case e.RuleID != "":
		return PaneRules
	case e.RunID != "" && e.SessionID == "":
		return PaneAttempts
	case e.SessionID != "":
		return PaneTurns
	}
	return ""
}

// Leads implements leader: an unfolded step leads to what its call is about.
func (p *repairPane) Leads() PaneID {
	if !p.data.found || !p.open {
		return ""
	}
	if p.ruleOfStep() != "" {
		return PaneRules
	}
	return PaneTurns
}

// ruleOfStep is the rule that a call of the selected step has written or acknowledged,
// without a selected step the candidate of the episode.
func (p *repairPane) ruleOfStep() string {
	if p.step == 0 {
		return p.data.episode.CandidateID
	}
	for _, s := range p.data.steps {
		if s.Attempt != p.attempt || s.Turn != p.step {
			continue
		}
		for _, c := range s.Calls {
			if v := verb(c.Name); c.OK && (v == "add" || v == "ack") {
				return p.data.episode.CandidateID
			}
		}
	}
	return ""
}

// into puts what an unfolded step is about into scope.
func (p *repairPane) into(s *Scope) {
	if id := p.ruleOfStep(); id != "" {
		s.Rule = id
		return
	}
	e := p.data.episode
	s.Session, s.Turn, s.Span, s.Compare, s.Notice = e.SessionID, e.TurnIndex, "", "", p.data.notice.ID
}

// repaired asks for the repair of a notice and goes to it.
func repaired(ctx *Context, session, noticeID string) tea.Cmd {
	st := ctx.Store
	return func() tea.Msg {
		id := ""
		if err := st.View(func(tx *store.Tx) error {
			list, err := tx.EpisodesOfSession(session)
			for _, e := range list {
				for _, n := range e.NoticeIDs {
					if n == noticeID && e.Fork == nil {
						id = e.ID
					}
				}
			}
			return err
		}); err != nil {
			return sayMsg{"find the repair: " + err.Error(), style.Bad}
		}
		if id == "" {
			return sayMsg{"notice " + tag(noticeID) + " has no repair yet", style.Dim}
		}
		return originMsg{engine.Origin{Kind: "episode", ID: id}}
	}
}

// originMsg goes to one thing of a provenance; whyMsg shows a whole one.
type (
	originMsg struct{ to engine.Origin }
	whyMsg    struct {
		list []engine.Origin
		at   string // kind of the first to be under the cursor
	}
)

// why asks for the provenance of a rule.
func why(ctx *Context, ruleID, at string) tea.Cmd {
	st := ctx.Store
	return func() tea.Msg {
		var list []engine.Origin
		if err := st.View(func(tx *store.Tx) (err error) {
			list, _, err = engine.Why(tx, ruleID)
			return err
		}); err != nil {
			return sayMsg{"read where rule " + tag(ruleID) + " comes from: " + err.Error(), style.Bad}
		}
		if len(list) == 0 {
			return sayMsg{"there is no rule " + tag(ruleID) + " any more", style.Dim}
		}
		return whyMsg{list, at}
	}
}

// goOrigin goes to one thing of a provenance; `o` comes back.
func (a *App) goOrigin(o engine.Origin) tea.Cmd {
	if o.Gone {
		return a.say(style.Dim, o.Kind+" "+tag(o.ID)+" is not stored any more")
	}
	from, s, to := a.here(), a.ctx.Scope, PaneTurns
	switch o.Kind {
	case "rule":
		s.Rule, to = o.ID, PaneRules
	case "episode":
		s.Episode, s.Attempt, s.Step, to = o.ID, 0, 0, PaneRepair
	case "verdict":
		s.Rule, s.Verdict, to = o.RuleID, o.ID, PaneValidation
	default:
		s.Session, s.Turn, s.Span, s.Compare = o.SessionID, o.TurnIndex, "", ""
		switch o.Kind {
		case "trace":
			to = PaneTrace
		case "case":
			s.Case = o.ID
		case "notice":
			s.Notice = o.ID
		}
	}
	return a.walk(from, to)
}

// whyCard is the way from a rule to everything it is founded on.
type whyCard struct {
	list []engine.Origin
	at   int
}

func newWhyCard(m whyMsg) *whyCard {
	c := &whyCard{list: m.list}
	for i, o := range m.list {
		if o.Kind == m.at {
			c.at = i
			break
		}
	}
	return c
}

// Key implements overlay.
func (c *whyCard) Key(a *App, k tea.KeyPressMsg) tea.Cmd {
	switch k.String() {
	case "esc", "q", "o", "backspace":
		return a.close()
	case "up", "k", "shift+tab":
		c.at = max(0, c.at-1)
	case "down", "j", "tab":
		c.at = min(c.at+1, len(c.list)-1)
	case "enter", "i":
		a.close()
		return a.goOrigin(c.list[c.at])
	}
	return nil
}

// Card implements overlay.
func (c *whyCard) Card(a *App, w, h int) (string, []string, int, int) {
	s := a.ctx.Style
	const full = 3 // rows that tell the one under the cursor in full
	room := max(1, h-3-full)
	top := max(0, min(c.at-room/2, len(c.list)-room))
	var rows []string
	last := ""
	for i := top; i < min(len(c.list), top+room); i++ {
		o := c.list[i]
		ground, mark := style.Panel, " "
		if i == c.at {
			ground, mark = style.Cursor, s.Glyphs.Pointer
		}
		kind := o.Kind
		if kind == last {
			kind = ""
		}
		last = o.Kind
		row := s.Row(w, ground).Put(style.Accent, mark).Cell(style.Heading, kind, 9).Cell(style.Strong, originName(o), min(22, w/3)).Space(1)
		if o.Gone {
			rows = append(rows, row.Put(style.Faint, "not stored any more").String())
			continue
		}
		rows = append(rows, row.Put(style.Text, guard.Line(o.Text, 400)).String())
	}
	rows = append(rows, s.Row(w, style.Panel).String())
	told := vtext.Wrap(s.Clean(guard.Line(c.list[c.at].Text, 400)), w, 0, s.Width)
	for i := range full {
		row := s.Row(w, style.Panel)
		if i < len(told) {
			row.Put(style.Dim, told[i])
		}
		rows = append(rows, row.String())
	}
	rows = append(rows, s.Row(w, style.Panel).String(),
		s.Row(w, style.Panel).Put(style.Faint, "i or enter goes to it, o comes back here, esc closes").String())
	return "why rule " + tag(c.list[0].ID), rows, -1, -1
}

// originName is a short name of a thing.
func originName(o engine.Origin) string {
	if o.Kind == "trace" {
		return tag(o.SessionID) + "/" + turnName(o.TurnIndex)
	}
	return tag(o.ID)
}
