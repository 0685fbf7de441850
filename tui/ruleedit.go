package tui

import (
	"strings"

	"charm.land/bubbles/v2/textinput"
	tea "charm.land/bubbletea/v2"

	"vise/engine/rule"
	"vise/tui/action"
	"vise/tui/style"
)

// maxWording bounds what can be typed as a rule, in code points: as much as the
// harness keeps by default (rules.sanitize_max_len).
const maxWording = 2000

// editRule makes a wording of the rule under the cursor a candidate; without one it
// opens the input.
func (a *App) editRule(text string) tea.Cmd {
	p, ok := a.panes[a.focus].(*rulesPane)
	if !ok {
		return a.nothing(action.Edit)
	}
	r, ok := p.list.Selected()
	if !ok || a.ctx.Harness == nil {
		return a.say(style.Dim, "there is no rule to edit yet")
	}
	if text == "" {
		return a.open(newRuleEdit(r))
	}
	h, end := a.ctx.Harness, a.ctx.Ctx
	return func() tea.Msg {
		x, err := h.EditRule(end, r.ID, text, "")
		if err != nil {
			return moved{err: err, what: "your wording of " + tag(r.ID)}
		}
		return moved{what: "your wording is " + string(x.Status) + " " + tag(x.ID) + "; V validates it", rule: x.ID,
			undo: act{Kind: actEdit, Target: x.ID, Before: said(string(rule.Retired)), After: said(string(x.Status))}}
	}
}

// ruleEdit is the input for another wording of a rule.
type ruleEdit struct {
	rule  rule.Rule
	input textinput.Model
}

func newRuleEdit(r rule.Rule) *ruleEdit {
	e := &ruleEdit{rule: r, input: newInput("")}
	e.input.CharLimit = maxWording
	e.input.SetValue(strings.Join(strings.Fields(r.Text), " "))
	e.input.CursorEnd()
	return e
}

// Key implements overlay.
func (e *ruleEdit) Key(a *App, k tea.KeyPressMsg) tea.Cmd {
	switch k.String() {
	case "esc":
		return a.close()
	case "enter":
		a.close()
		if strings.TrimSpace(e.input.Value()) == "" {
			return a.say(style.Dim, "nothing was written; X retires a rule")
		}
		return a.editRule(e.input.Value())
	}
	var cmd tea.Cmd
	e.input, cmd = e.input.Update(k)
	return cmd
}

// Paste implements paster.
func (e *ruleEdit) Paste(_ *App, m tea.PasteMsg) tea.Cmd {
	var cmd tea.Cmd
	e.input, cmd = e.input.Update(m)
	return cmd
}

// Card implements overlay: the text fills row after row, cut where a row is full, so that
// the cursor stands where the next letter goes.
func (e *ruleEdit) Card(a *App, w, h int) (string, []string, int, int) {
	s := a.ctx.Style
	lines, x, y := []string{""}, 0, 0
	used := 0
	value := []rune(e.input.Value())
	for i, r := range value {
		if i == e.input.Position() {
			x, y = used, len(lines)-1
		}
		text := s.Clean(string(r))
		if n := s.Width(text); used+n > w-1 {
			lines, used = append(lines, ""), 0
		}
		lines[len(lines)-1] += text
		used += s.Width(text)
	}
	if e.input.Position() >= len(value) {
		x, y = used, len(lines)-1
	}
	room := max(1, h-4)
	top := max(0, min(y-room/2, len(lines)-room))
	var rows []string
	for _, l := range lines[top:min(len(lines), top+room)] {
		rows = append(rows, s.Row(w, style.Panel).Put(style.Text, l).String())
	}
	rows = append(rows, s.Row(w, style.Panel).String(),
		s.Row(w, style.Panel).Put(style.Dim, "a candidate of its own, in "+e.rule.Scope+", by you; evidence decides, "+tag(e.rule.ID)+" stays").String(),
		s.Row(w, style.Panel).Put(style.Faint, "enter adds it, esc closes").String())
	return "edit rule " + tag(e.rule.ID), rows, x, y - top
}
