package tui

import (
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"vise/tui/action"
	"vise/tui/style"
	"vise/tui/vtext"
)

// maxFoot bounds the rows of the footer: a message that is longer is cut.
const maxFoot = 4

// footer: what can be done now, or a message, or what is typed, from the top down. It is
// one row unless a text needs more.
func (a *App) footer() []string {
	s := a.ctx.Style
	r := s.Row(a.w, style.Plain)
	switch {
	case a.search != nil && a.search.typing:
		return []string{a.searchRow(r)}
	case a.filtering != nil:
		return a.filterRows()
	case a.toast.text != "":
		return a.message(a.toast.role, a.toast.text)
	case a.search != nil:
		return []string{a.searchRow(r)}
	}
	r.Space(1)
	// Commands, help and quit stand at the right end, whatever else there is room for.
	end := []action.ID{action.Palette, action.Help, action.Quit}
	if a.w < viewsW {
		end = end[1:]
	}
	room := 0
	for _, id := range end {
		act, _ := a.reg.Action(id)
		room += s.Width(a.ctx.Key(id)) + len(act.Short) + 3
	}
	for _, act := range a.reg.Footer(string(a.focus)) {
		if slices.Contains(end, act.ID) || act.ID == action.Palette || !a.live(act.ID) {
			continue
		}
		key, word := footKey(act), act.Short
		if act.ID == action.Step && a.ctx.Held == nil && a.ctx.PatchHeld == nil {
			word = "try again"
		}
		if r.Left()-room < s.Width(key)+len(word)+3 {
			continue
		}
		r.Put(style.Key, key).Put(style.KeyText, " "+word).Space(2)
	}
	r.Fill(room)
	for _, id := range end {
		act, _ := a.reg.Action(id)
		r.Put(style.Key, a.ctx.Key(id)).Put(style.KeyText, " "+act.Short).Space(2)
	}
	return []string{r.String()}
}

// footKey is how the footer writes the key of an action; two that belong together are
// named at once.
func footKey(act action.Action) string {
	key := action.KeyName(act.Keys[0])
	switch {
	case act.ID == action.Back && key == "[":
		return "[ ]"
	case act.ID == action.NextProblem && key == "n":
		return "n N"
	case act.ID == action.Into && slices.Contains(act.Keys, "enter"):
		return "enter"
	}
	return key
}

// message is a text in as many rows as it needs, at most maxFoot and a third of the screen.
func (a *App) message(role style.Role, text string) []string {
	s := a.ctx.Style
	most := max(1, min(maxFoot, a.h/3))
	var rows []string
	text = s.Cut(s.Clean(strings.Join(strings.Fields(text), " ")), a.w*(most+1))
	lines := vtext.Wrap(text, max(1, a.w-2), 0, s.Width)
	for i, line := range lines {
		if i == most-1 && len(lines) > most {
			line = s.Cut(line, a.w-3) + s.Glyphs.Ellipsis
		}
		if rows = append(rows, s.Row(a.w, style.Plain).Space(1).Put(role, line).String()); len(rows) == most {
			break
		}
	}
	return rows
}

// filterRows are the filter while it is typed. What is wrong with it, and what can be
// typed, stands behind it where there is room and above it where there is not.
func (a *App) filterRows() []string {
	s, f := a.ctx.Style, a.filtering
	r := s.Row(a.w, style.Plain).Space(1).Put(style.Key, "filter ")
	at := a.w - r.Left()
	value := f.input.Value()
	before := string([]rune(value)[:f.input.Position()])
	a.cursorAt = tea.NewCursor(min(a.w-1, at+s.Width(s.Clean(before))), a.h-1)
	r.Put(style.Text, value)
	p := a.panes[f.pane].(Filterer)
	role, hint := style.Dim, p.FilterCount()+"   enter keep  esc back"
	switch list := f.offers(a); {
	case f.wrong != "" && (f.told || len(list) == 0):
		role, hint = style.Warn, f.wrong+"   esc leaves"
	case value == "":
		hint = strings.Join(list, " ") + `  text  "a text"  !not  tab completes`
		if len(a.pastFilters()) > 0 {
			hint += "  up: earlier ones"
		}
	case f.wrong != "":
		hint = "tab: " + strings.Join(list, " ")
	}
	if s.Width(hint)+4 <= r.Left() {
		return []string{r.Space(3).Put(role, hint).String()}
	}
	return append(a.message(role, hint), r.String())
}

// opens reports whether the footer names "open" in the pane in focus: every pane knows
// the act, in these a row leads somewhere.
func (a *App) opens() bool {
	switch p := a.panes[a.focus].(type) {
	case *sessionsPane, *turnsPane, *tracePane:
		return true
	case *attentionPane:
		return p.Leads() != "" || p.counts()
	}
	return false
}

// again reports whether the repair that the pane in focus shows can be tried again.
func (a *App) again() bool {
	if a.conductor.Running().Kind != Idle {
		return false
	}
	switch p := a.panes[a.focus].(type) {
	case *attentionPane:
		return p.episode() != ""
	case *repairPane:
		e := p.data.episode
		return p.data.found && e.Fork == nil && !e.Status.Success() && !p.data.settled
	}
	return false
}
