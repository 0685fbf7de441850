package tui

import (
	"strings"

	tea "charm.land/bubbletea/v2"

	"vise/engine"
	"vise/engine/evidence"
	"vise/engine/guard"
	"vise/store"
	"vise/tui/style"
	"vise/tui/vtext"
)

// auditMsg is what an audit of the rules has found.
type auditMsg struct {
	audit evidence.Audit
	err   error
}

// audit looks at the live rules: never read, never followed, contradicting, nearly
// equal, flagged, expired.
func (a *App) audit() tea.Cmd {
	st, look := a.ctx.Store, a.cfg.Audit
	if look == nil {
		look = func(tx *store.Tx) (evidence.Audit, error) {
			found, _, err := engine.Audit(tx, 0, tx.ExpiredOf)
			return found, err
		}
	}
	return func() tea.Msg {
		var m auditMsg
		m.err = st.View(func(tx *store.Tx) (err error) {
			m.audit, err = look(tx)
			return err
		})
		return m
	}
}

// audited shows what was found.
func (a *App) audited(m auditMsg) tea.Cmd {
	switch {
	case m.err != nil:
		return a.say(style.Bad, m.err.Error())
	case len(m.audit.Findings) == 0 && m.audit.Rules == 0:
		return a.say(style.Dim, "there are no live rules to audit")
	case len(m.audit.Findings) == 0:
		return a.say(style.Good, "nothing speaks against "+count(m.audit.Rules, "live rule"))
	}
	return a.openLate(&auditCard{audit: m.audit})
}

// auditCard lists what an audit has found; a row leads to its first rule.
type auditCard struct {
	audit evidence.Audit
	at    int
}

// Key implements overlay.
func (c *auditCard) Key(a *App, k tea.KeyPressMsg) tea.Cmd {
	last := len(c.audit.Findings) - 1
	switch k.String() {
	case "esc", "q", "o", "backspace":
		return a.close()
	case "up", "k", "shift+tab":
		c.at = max(0, c.at-1)
	case "down", "j", "tab":
		c.at = min(c.at+1, last)
	case "home", "g":
		c.at = 0
	case "end", "G":
		c.at = last
	case "enter", "i":
		a.close()
		f := c.audit.Findings[c.at]
		if len(f.Rules) == 0 {
			return a.say(style.Dim, "this is about scope "+f.Scope+", no single rule")
		}
		return a.goOrigin(engine.Origin{Kind: "rule", ID: f.Rules[0]})
	}
	return nil
}

// what names a finding and its rules.
func (c *auditCard) what(f evidence.AuditFinding) (kind, about string) {
	var tags []string
	for _, id := range f.Rules {
		tags = append(tags, tag(id))
	}
	if len(tags) == 0 {
		tags = []string{"scope " + f.Scope}
	}
	return strings.ReplaceAll(f.Kind, "_", " "), strings.Join(tags, " ")
}

// Card implements overlay.
func (c *auditCard) Card(a *App, w, h int) (string, []string, int, int) {
	s, list := a.ctx.Style, c.audit.Findings
	const full = 4 // rows that tell the one under the cursor in full
	room := max(1, h-3-full)
	top := max(0, min(c.at-room/2, len(list)-room))
	var rows []string
	for i := top; i < min(len(list), top+room); i++ {
		ground, mark := style.Panel, " "
		if i == c.at {
			ground, mark = style.Cursor, s.Glyphs.Pointer
		}
		kind, about := c.what(list[i])
		rows = append(rows, s.Row(w, ground).Put(style.Accent, mark).Cell(style.Heading, kind, 16).Cell(style.Strong, about, min(20, w/3)).Space(1).
			Put(style.Text, guard.Line(list[i].Text, 400)).String())
	}
	rows = append(rows, s.Row(w, style.Panel).String())
	told := vtext.Wrap(s.Clean(guard.Line(list[c.at].Text, 400)), w, 0, s.Width)
	told = append(told[:min(len(told), full-1)], s.Clean(guard.Line(list[c.at].Do, 200)))
	for i := range full {
		row := s.Row(w, style.Panel)
		if i < len(told) {
			row.Put(style.Dim, told[i])
		}
		rows = append(rows, row.String())
	}
	rows = append(rows, s.Row(w, style.Panel).String(),
		s.Row(w, style.Panel).Put(style.Faint, "i or enter goes to the rule, esc closes; headless: vise rules audit").String())
	title := "audit of " + count(c.audit.Rules, "live rule") + ": " + count(len(list), "finding")
	if c.audit.Compared < c.audit.Rules {
		title += ", " + itoa(c.audit.Compared) + " compared"
	}
	return title, rows, -1, -1
}

// Choices implements chooser.
func (c *auditCard) Choices(*App) (list []string, at int) {
	for _, f := range c.audit.Findings {
		kind, about := c.what(f)
		list = append(list, kind+" "+about+": "+f.Text+" "+f.Do)
	}
	return list, c.at
}

// Choose implements chooser.
func (c *auditCard) Choose(a *App, i int) tea.Cmd {
	c.at = i
	return c.Key(a, tea.KeyPressMsg{Code: tea.KeyEnter})
}
