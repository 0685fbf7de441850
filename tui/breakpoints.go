package tui

import (
	"slices"
	"strings"

	"charm.land/bubbles/v2/textinput"
	tea "charm.land/bubbletea/v2"

	"vise/engine/episode"
	"vise/engine/notice"
	"vise/engine/repair"
	"vise/tui/action"
	"vise/tui/style"
	"vise/tui/vtext"
)

// breakTexts are breakpoints as they are written.
func breakTexts(list []repair.Breakpoint) []string {
	var out []string
	for _, b := range list {
		out = append(out, b.String())
	}
	return out
}

// breakWords says which breakpoints there are.
func breakWords(texts []string) string {
	switch len(texts) {
	case 0:
		return "no breakpoint is set"
	case 1:
		return "breakpoint " + texts[0]
	}
	return count(len(texts), "breakpoint") + ": " + strings.Join(texts, ", ")
}

// putBreakpoints makes texts the breakpoints; what another version of the program wrote
// and this one cannot read is left out.
func (a *App) putBreakpoints(texts []string) {
	if a.cfg.Stepper == nil {
		return
	}
	var list []repair.Breakpoint
	for _, t := range texts {
		if b, err := repair.ParseBreakpoint(t); err == nil {
			list = append(list, b)
		}
	}
	a.cfg.Stepper.SetBreakpoints(list)
	a.ctx.Breaks = list
	a.unsaved = true
}

// setBreakpoints is putBreakpoints by a person: u takes it back.
func (a *App) setBreakpoints(texts []string) tea.Cmd {
	before := breakTexts(a.ctx.Breaks)
	a.putBreakpoints(texts)
	a.did(act{Kind: actBreaks, Before: actValue{List: before}, After: actValue{List: texts}})
	return a.apply(Change{Breaks: true})
}

// toggleBreakpoint sets a breakpoint, or removes the one that is written like it.
func (a *App) toggleBreakpoint(text string) tea.Cmd {
	b, err := repair.ParseBreakpoint(text)
	if err != nil {
		return a.say(style.Warn, err.Error())
	}
	texts := breakTexts(a.ctx.Breaks)
	if i := slices.Index(texts, b.String()); i >= 0 {
		texts = slices.Delete(texts, i, i+1)
		return tea.Batch(a.setBreakpoints(texts), a.say(style.Info, "removed; "+breakWords(texts)))
	}
	if len(texts) >= maxBreaks {
		return a.say(style.Warn, "there are "+itoa(maxBreaks)+" breakpoints already; b lists them, enter removes one")
	}
	texts = append(texts, b.String())
	said := "breakpoint " + b.String() + "; " + a.ctx.Key(action.Continue) + " runs to it"
	if len(texts) > 1 {
		said += "; " + breakWords(texts)
	}
	return tea.Batch(a.setBreakpoints(texts), a.say(style.Info, said))
}

// breakpoint is what the row under the cursor proposes: the tool of the call that is
// held, or of the selected step.
func (p *repairPane) breakpoint() string {
	if h := p.held; p.step == 0 && h != nil && h.EpisodeID == p.data.episode.ID && h.Call != nil {
		return "tool:" + h.Call.Name
	}
	for _, s := range p.data.steps {
		if s.Attempt == p.attempt && s.Turn == p.step && len(s.Calls) > 0 {
			return "tool:" + s.Calls[0].Name
		}
	}
	return ""
}

// broken reports whether a breakpoint would hold a call. Those that hold once in a run
// are of no single call.
func (p *repairPane) broken(s episode.Step, c episode.Call) bool {
	at := repair.Checkpoint{Point: repair.BeforeTool, Turn: s.Turn, Call: &c, Spent: s.Usage, Notices: []notice.Notice{p.data.notice}}
	if v := verb(c.Name); v == "ack" || v == "resolve" {
		at.Point = repair.BeforeResolve
	}
	return slices.ContainsFunc(p.ctx.Breaks, func(b repair.Breakpoint) bool { return !b.Lasting() && b.At(at) })
}

// breakCard lists the breakpoints under an input for another one.
type breakCard struct {
	input textinput.Model
	offer bool // the text is a proposal: the first letter takes its place
	at    int  // 0 = the input, else the one in the list
	wrong string
}

func newBreakCard(a *App) *breakCard {
	proposal := ""
	if p, ok := a.panes[PaneRepair].(*repairPane); ok && a.focus == PaneRepair {
		if proposal = p.breakpoint(); slices.Contains(breakTexts(a.ctx.Breaks), proposal) {
			proposal = ""
		}
	}
	return &breakCard{input: newInput(proposal), offer: proposal != ""}
}

// Key implements overlay.
func (c *breakCard) Key(a *App, k tea.KeyPressMsg) tea.Cmd {
	texts := breakTexts(a.ctx.Breaks)
	switch k.String() {
	case "esc":
		return a.close()
	case "up", "shift+tab":
		c.at = max(0, c.at-1)
		return nil
	case "down", "tab":
		c.at = min(c.at+1, len(texts))
		return nil
	case "enter":
		if c.at > 0 && c.at <= len(texts) {
			cmd := a.setBreakpoints(slices.Delete(texts, c.at-1, c.at))
			c.at = min(c.at, len(texts)-1)
			return cmd
		}
		if strings.TrimSpace(c.input.Value()) == "" {
			return a.close()
		}
		if _, err := repair.ParseBreakpoint(c.input.Value()); err != nil {
			c.wrong = err.Error()
			return nil
		}
		a.close()
		return a.toggleBreakpoint(c.input.Value())
	}
	c.at, c.wrong = 0, "" // who types is in the input
	if c.offer && k.Text != "" {
		c.input.SetValue("")
	}
	c.offer = false
	var cmd tea.Cmd
	c.input, cmd = c.input.Update(k)
	return cmd
}

// Paste implements paster.
func (c *breakCard) Paste(_ *App, m tea.PasteMsg) tea.Cmd {
	c.at, c.wrong = 0, ""
	if c.offer {
		c.input.SetValue("")
	}
	c.offer = false
	var cmd tea.Cmd
	c.input, cmd = c.input.Update(m)
	return cmd
}

// Card implements overlay.
func (c *breakCard) Card(a *App, w, h int) (string, []string, int, int) {
	s := a.ctx.Style
	value := c.input.Value()
	rows := []string{s.Row(w, style.Panel).Put(style.Key, "b ").Put(style.Text, value).String()}
	if c.wrong != "" {
		for _, l := range vtext.Wrap(s.Clean(c.wrong), w, 0, s.Width) {
			rows = append(rows, s.Row(w, style.Panel).Put(style.Warn, l).String())
		}
	} else {
		for _, l := range []string{
			"tool:rule_add  arg:reason_code  arg:scope=refunds  verdict:unactionable",
			"metric:tool_correctness<0.5  cost>0.01  tokens>4000  turn>3",
			"all terms must hold; a repair that goes on (c) is held where they do",
		} {
			for _, part := range vtext.Wrap(l, w, 0, s.Width) {
				rows = append(rows, s.Row(w, style.Panel).Put(style.Dim, part).String())
			}
		}
	}
	rows = append(rows, s.Row(w, style.Panel).String())
	texts := breakTexts(a.ctx.Breaks)
	room := max(1, h-len(rows)-1)
	top := max(0, min(c.at-1-room/2, len(texts)-room))
	for i := top; i < min(len(texts), top+room); i++ {
		ground, mark := style.Panel, " "
		if i == c.at-1 {
			ground, mark = style.Cursor, s.Glyphs.Pointer
		}
		rows = append(rows, s.Row(w, ground).Put(style.Accent, mark).Put(style.Bad, " "+s.Glyphs.Break+" ").Put(style.Text, texts[i]).String())
	}
	if len(texts) == 0 {
		rows = append(rows, s.Row(w, style.Panel).Put(style.Dim, "none is set yet").String())
	}
	what := "enter sets it, esc closes"
	switch {
	case c.at > 0:
		what = "enter removes it, esc closes"
	case len(texts) > 0:
		what += "; down goes to those that are set"
	}
	rows = append(rows, s.Row(w, style.Panel).Put(style.Faint, what).String())
	if c.at > 0 {
		return "breakpoints", rows, -1, -1
	}
	before := string([]rune(value)[:c.input.Position()])
	return "breakpoints", rows, min(w-1, 2+s.Width(s.Clean(before))), 0
}
