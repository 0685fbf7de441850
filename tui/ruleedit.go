package tui

import (
	"strings"
	"unicode/utf8"

	"charm.land/bubbles/v2/textinput"
	tea "charm.land/bubbletea/v2"

	"vise/engine/rule"
	"vise/tui/action"
	"vise/tui/style"
	"vise/tui/vtext"
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
		return moved{what: "your wording is " + string(x.Status) + " " + tag(x.ID) + "; {run.validate_rule} validates it", rule: x.ID,
			undo: act{Kind: actEdit, Target: x.ID, Before: said(string(rule.Retired)), After: said(string(x.Status))}}
	}
}

// ruleEdit is the input for another wording of a rule.
type ruleEdit struct {
	rule  rule.Rule
	input textinput.Model
	lost  int // code points of the last paste for which there was no room
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
		if e.lost > 0 { // half of what was meant is no rule
			e.lost = 0
			return a.say(style.Warn, "look at how it ends: the paste was cut; enter adds it as it is")
		}
		a.close()
		if strings.TrimSpace(e.input.Value()) == "" {
			return a.say(style.Dim, "nothing was written; {rule.retire} retires a rule")
		}
		return a.editRule(e.input.Value())
	}
	e.lost = 0
	var cmd tea.Cmd
	e.input, cmd = e.input.Update(k)
	return cmd
}

// Paste implements paster.
func (e *ruleEdit) Paste(_ *App, m tea.PasteMsg) tea.Cmd {
	m.Content = strings.Join(strings.Fields(m.Content), " ")
	before, pasted := utf8.RuneCountInString(e.input.Value()), utf8.RuneCountInString(m.Content)
	var cmd tea.Cmd
	e.input, cmd = e.input.Update(m)
	e.lost = max(0, before+pasted-utf8.RuneCountInString(e.input.Value()))
	return cmd
}

// Card implements overlay: the text is wrapped at words, and the cursor stands where the
// next letter goes.
func (e *ruleEdit) Card(a *App, w, h int) (string, []string, int, int) {
	s := a.ctx.Style
	value := []rune(e.input.Value())
	lines, x, y := wrapInput(s, value, e.input.Position(), w-1)
	var foot []string
	put := func(role style.Role, text string) {
		for _, l := range vtext.Wrap(s.Clean(text), w, 0, s.Width) {
			foot = append(foot, s.Row(w, style.Panel).Put(role, l).String())
		}
	}
	if e.lost > 0 {
		put(style.Warn, "cut: "+thousands(e.lost)+" characters of the paste did not fit; a rule has at most "+thousands(maxWording))
	}
	put(style.Dim, "a candidate of its own, in "+e.rule.Scope+", by you; evidence decides, "+tag(e.rule.ID)+" stays")
	put(style.Faint, "enter adds it, esc closes; "+thousands(len(value))+" of "+thousands(maxWording)+" characters")
	room := max(1, h-1-len(foot))
	top := max(0, min(y-room/2, len(lines)-room))
	var rows []string
	for _, l := range lines[top:min(len(lines), top+room)] {
		rows = append(rows, s.Row(w, style.Panel).Put(style.Text, l).String())
	}
	rows = append(rows, s.Row(w, style.Panel).String())
	return "edit rule " + tag(e.rule.ID), append(rows, foot...), x, y - top
}

// wrapInput breaks what is typed into lines of at most w cells, behind blanks where it can,
// and says where the cursor before the rune at stands. No rune is left out: joined, the
// lines are the text.
func wrapInput(s *style.Style, value []rune, at, w int) (lines []string, x, y int) {
	cells := func(r rune) int { return s.Width(s.Clean(string(r))) }
	for from := 0; ; {
		used, end, blank := 0, from, -1
		for end < len(value) && used+cells(value[end]) <= w {
			used += cells(value[end])
			if end++; value[end-1] == ' ' {
				blank = end
			}
		}
		if end < len(value) && blank > 0 {
			end = blank
		}
		end = max(end, min(from+1, len(value))) // a letter wider than the box
		if at >= from && (at < end || end == len(value)) {
			x, y = s.Width(s.Clean(string(value[from:min(at, end)]))), len(lines)
		}
		lines = append(lines, s.Clean(string(value[from:end])))
		if from = end; from >= len(value) {
			return lines, x, y
		}
	}
}
