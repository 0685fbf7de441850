package tui

import (
	tea "charm.land/bubbletea/v2"

	"vise/engine"
	"vise/engine/event"
	"vise/engine/evidence"
	"vise/engine/guard"
	"vise/engine/rule"
	"vise/store"
	"vise/tui/action"
	"vise/tui/md"
	"vise/tui/style"
	"vise/tui/vlist"
	"vise/tui/vtext"
)

// rulesPage is how many rules are read at a time.
const rulesPage = 200

// rulesPane lists the rules, newest first, with the selected one rendered below.
type rulesPane struct {
	sheet
	list   *vlist.List[rule.Rule]
	q      query[rulesWindow]
	detail query[ruleDetail]
	shown  ruleDetail
	wanted string // the rule that detail is asked for
	md     *md.Renderer
	doc    *md.Doc
	body   *vtext.Text
	find   string
}

type rulesWindow struct {
	rules []rule.Rule
	more  bool
	after string // "" = the first page
	all   bool   // as many as are ever held, from the first on
	end   bool   // the cursor goes to the last
}

type ruleDetail struct {
	id       string
	found    bool
	rule     rule.Rule
	verdicts []evidence.Verdict
	uptake   evidence.Uptake
	holdback *evidence.Holdback
	// expired is why the verdict does not hold any more.
	expired string
}

func newRules() *rulesPane {
	r := md.New(guard.Visible)
	return &rulesPane{md: r, sheet: newSheet(PaneRules, "Rules"), q: query[rulesWindow]{pane: PaneRules, name: "list"},
		detail: query[ruleDetail]{pane: PaneRules, name: "detail"},
		list:   vlist.New(func(r rule.Rule) string { return r.ID }), doc: md.NewDoc(r)}
}

// SetSize implements Pane.
func (p *rulesPane) SetSize(w, h int) {
	if p.resize(w, h) {
		p.layout()
		p.doc.Settle()
		p.layout()
	}
}

// listRows is how many rows the list gets: all there are, at most a third.
func (p *rulesPane) listRows() int {
	return max(1, min(p.list.Len(), max(3, p.h/3), p.h))
}

// Apply implements Pane.
func (p *rulesPane) Apply(ctx *Context, c Change) tea.Cmd {
	if p.see(ctx, c) {
		useStyle(p.md, p.st())
		p.body = vtext.New(p.st().Width)
		p.layout()
	}
	cmds := []tea.Cmd{p.render()}
	if c.Reload || c.Has(event.RuleAdd, event.RulePromote, event.RuleRetire, event.RuleRestore, event.RuleFlagged, event.RuleCleared, event.ValidationVerdict, event.Recovery, event.AgentExited) {
		cmds = append(cmds, p.ask(ctx, ""), p.askDetail(ctx, p.wanted))
	} else if ctx.Scope.Rule != "" && ctx.Scope.Rule != p.wanted {
		p.list.SelectKey(ctx.Scope.Rule)
		cmds = append(cmds, p.askDetail(ctx, ctx.Scope.Rule))
	}
	return tea.Batch(cmds...)
}

func (p *rulesPane) ask(ctx *Context, after string) tea.Cmd {
	limit := rulesPage
	if after == "" {
		limit = max(rulesPage, min(p.list.Len(), rulesHeld))
	}
	return p.q.ask(ctx, func(tx *store.Tx) (w rulesWindow, err error) {
		w.after = after
		w.rules, err = tx.RulePage(store.Window{After: after, Limit: limit + 1})
		if len(w.rules) > limit {
			w.rules, w.more = w.rules[:limit], true
		}
		return w, err
	})
}

func (p *rulesPane) askDetail(ctx *Context, id string) tea.Cmd {
	p.wanted = id
	if id == "" {
		return nil
	}
	return p.detail.ask(ctx, func(tx *store.Tx) (d ruleDetail, err error) {
		d.id = id
		if d.rule, d.found, err = tx.Rule(id); err != nil || !d.found {
			return d, err
		}
		if d.verdicts, err = tx.Verdicts(id); err != nil || !d.rule.Live() {
			return d, err
		}
		uptakes, err := engine.Uptakes(tx, []rule.Rule{d.rule})
		if d.uptake = uptakes[id]; err != nil {
			return d, err
		}
		if d.expired, err = tx.Expired(d.rule); err != nil {
			return d, err
		}
		hb, ok, err := engine.Holdback(tx, id)
		if ok {
			d.holdback = &hb
		}
		return d, err
	})
}

// rendered carries a finished render to its pane.
type rendered struct {
	pane PaneID
	done md.Done
}

// For is the pane that shows the document.
func (r rendered) For() PaneID { return r.pane }

// render starts the render that is due.
func (p *rulesPane) render() tea.Cmd {
	job, wait := p.doc.Next(p.ctx.Now())
	switch {
	case job != nil:
		return func() tea.Msg { return rendered{PaneRules, job.Do()} }
	case wait > 0:
		return later(PaneRules, "render", wait)
	}
	return nil
}

// Take implements Pane.
func (p *rulesPane) Take(ctx *Context, msg any) (bool, tea.Cmd) {
	switch m := msg.(type) {
	case rendered:
		if m.pane != PaneRules {
			return false, nil
		}
		if p.doc.Take(m.done) {
			p.layout()
		}
		return true, p.render()
	case wake:
		if m.pane != PaneRules {
			return false, nil
		}
		return true, p.render()
	case moved:
		if m.err != nil {
			return true, failed(m.err, m.what)
		}
		if m.rule != "" {
			ctx.Scope.Rule = m.rule
		}
		return true, func() tea.Msg { return sayMsg{m.what, style.Good} }
	}
	if d, fresh, mine, err := p.detail.take(msg); mine {
		if !fresh || err != nil {
			return true, failed(err, "read the rule")
		}
		p.shown = d
		if !d.found {
			p.shown = ruleDetail{}
		}
		p.layout()
		if p.body != nil {
			p.body.Home()
		}
		return true, p.render()
	}
	w, fresh, mine, err := p.q.take(msg)
	if !mine || !fresh || err != nil {
		return mine, failed(err, "read the rules")
	}
	if w.after == "" {
		p.list.Set(w.rules, false, w.more)
	} else {
		p.list.Append(w.rules, w.more)
	}
	p.place(ctx, w)
	p.layout()
	if r, ok := p.list.Selected(); ok && p.wanted == "" {
		return true, p.askDetail(ctx, r.ID)
	}
	return true, nil
}

// moved is the end of a rule's move by a person.
type moved struct {
	what string
	err  error
	// undo is the move for u; of a move by u itself it is empty.
	undo act
	// rule is the one to go to; "" = stay.
	rule string
}

// For is the pane.
func (moved) For() PaneID { return PaneRules }

// Do implements Pane.
func (p *rulesPane) Do(ctx *Context, id action.ID) (tea.Cmd, bool) {
	switch id {
	case action.Up:
		p.list.Move(-1)
	case action.Down:
		p.list.Move(1)
	case action.Home:
		p.list.Home()
	case action.End:
		if ends(p.list, placeEnd) {
			return p.askAll(ctx, true), true
		}
		p.list.End()
	case action.PageUp, action.PageDown:
		p.body.Page(map[action.ID]int{action.PageUp: -1, action.PageDown: 1}[id])
		p.bump()
		return nil, true
	case action.Into:
		r, ok := p.list.Selected()
		if !ok {
			return nil, false
		}
		return why(ctx, r.ID, "notice"), true
	case action.Retire, action.Restore:
		return p.move(ctx, id), true
	case action.Retest:
		r, ok := p.list.Selected()
		if !ok || ctx.Harness == nil {
			return nil, true
		}
		h, end := ctx.Harness, ctx.Ctx
		return func() tea.Msg {
			m := moved{what: "queued a new test of " + tag(r.ID) + "; {run.validate} makes it, {edit.undo} takes it back", err: h.QueueRetest(end, r.ID)}
			m.undo = act{Kind: actRetest, Target: r.ID, After: on(true)}
			return m
		}, true
	default:
		return nil, false
	}
	return p.chosen(ctx), true
}

// fits reports whether an act suits the state that the selected rule is in.
func (p *rulesPane) fits(id action.ID) bool {
	r, ok := p.list.Selected()
	switch id {
	case action.Retire:
		return ok && r.Status != rule.Retired
	case action.Restore:
		return ok && r.Status == rule.Retired
	case action.Retest:
		return ok && r.Status == rule.Active
	}
	return ok
}

// move retires or restores the selected rule; each undoes the other.
func (p *rulesPane) move(ctx *Context, id action.ID) tea.Cmd {
	r, ok := p.list.Selected()
	if !ok || ctx.Harness == nil {
		return nil
	}
	h, end := ctx.Harness, ctx.Ctx
	return func() tea.Msg {
		if id == action.Retire {
			return moved{"retired " + tag(r.ID) + "; {edit.undo} takes it back, {rule.restore} restores it as a candidate", h.RetireRule(end, r.ID, retiredHere),
				act{Kind: actRule, Target: r.ID, Before: said(string(r.Status)), After: said(string(rule.Retired))}, ""}
		}
		return moved{"restored " + tag(r.ID) + " as a candidate; {run.validate_rule} validates it", h.RestoreRule(end, r.ID),
			act{Kind: actRule, Target: r.ID, Before: said(string(rule.Retired)), After: said(string(rule.Candidate))}, ""}
	}
}

// chosen brings the rule under the cursor into scope.
func (p *rulesPane) chosen(ctx *Context) tea.Cmd {
	p.bump()
	r, ok := p.list.Selected()
	if !ok {
		return nil
	}
	ctx.Scope.Rule = r.ID
	if p.list.Wants() == vlist.After {
		return p.ask(ctx, p.list.Last())
	}
	return nil
}

// Mouse implements Pane.
func (p *rulesPane) Mouse(ctx *Context, x, y int, m tea.MouseMsg) tea.Cmd {
	switch m := m.(type) {
	case Wheel:
		if p.body != nil {
			p.body.Scroll(m.N)
		}
		p.bump()
	case tea.MouseClickMsg:
		if p.list.Click(y) || y < p.listRows() {
			return p.chosen(ctx)
		}
	}
	return nil
}

// Copy implements Pane.
func (p *rulesPane) Copy() string {
	r, ok := p.list.Selected()
	if !ok {
		return ""
	}
	return r.Text
}

// Headless implements Pane.
func (p *rulesPane) Headless() string {
	if r, ok := p.list.Selected(); ok {
		return "vise rules show " + r.ID
	}
	return "vise rules ls"
}

// JSON implements Pane: the rules of the window.
func (p *rulesPane) JSON() any { return p.list.Items() }
