package tui

import (
	"slices"
	"strconv"
	"strings"

	tea "charm.land/bubbletea/v2"

	"vise/engine/guard"
	"vise/tui/action"
)

// chooser is an overlay with things to choose from: a linear workbench gives them numbers.
type chooser interface {
	// Choices are the things in words; at is the one under the cursor, -1 = none.
	Choices(a *App) (list []string, at int)
	// Choose does with one of them what the cursor on it and enter do.
	Choose(a *App, i int) tea.Cmd
}

// writer is an overlay with an input: a linear workbench takes a line for it.
type writer interface {
	// Wants says what is to be written.
	Wants() string
	// Write does with a line what typing it and enter do.
	Write(a *App, line string) tea.Cmd
}

// answer is the reply to a card: a number, a text where the card takes one, or a word
// that closes it.
func (l *linear) answer(line string) {
	a := l.app
	card := a.overlays[len(a.overlays)-1]
	choose, isChooser := card.(chooser)
	write, isWriter := card.(writer)
	var list []string
	if isChooser {
		list, _ = choose.Choices(a)
	}
	cmd := tea.Cmd(nil)
	low := strings.ToLower(line)
	n, err := strconv.Atoi(line)
	switch {
	case line == "": // read again
		return
	case low == "esc" || low == "no" || low == "close" || low == "cancel":
		cmd = card.Key(a, tea.KeyPressMsg{Code: tea.KeyEscape})
	case low == "yes" || low == "y" || low == "enter":
		cmd = card.Key(a, tea.KeyPressMsg{Code: tea.KeyEnter})
	case isChooser && err == nil && len(list) > 0:
		if n < 1 || n > len(list) {
			l.tell("There is no choice %d; there are %d.", n, len(list))
			return
		}
		cmd = choose.Choose(a, n-1)
	case isWriter:
		cmd = write.Write(a, line)
	default:
		l.tell("%s is no answer here.", guard.Line(line, 40))
		return
	}
	l.do(cmd)
	a.zoom = true
	a.arrange()
}

// card reads the topmost card: its choices by number, or its text, and what can be answered.
func (l *linear) card() {
	a := l.app
	card := a.overlays[len(a.overlays)-1]
	title, rows, _, _ := card.Card(a, linearW, linearH)
	l.tell("Card: %s.", title)
	how := []string{"enter means yes"}
	if c, ok := card.(chooser); ok {
		how = nil
		list, at := c.Choices(a)
		for i, text := range list {
			mark := ""
			if i == at {
				mark = "selected: "
			}
			l.tell("%d. %s%s", i+1, mark, spoken(guard.Line(text, 1000)))
		}
		if len(list) > 0 {
			how = append(how, "a number chooses")
		}
	} else {
		for _, r := range rows {
			if text := spoken(r); text != "" {
				l.tell("  %s", text)
			}
		}
	}
	if w, ok := card.(writer); ok {
		how = append(how, w.Wants())
	}
	l.tell("Answer: %s; esc closes.", strings.Join(how, "; "))
}

// tellFilter says what rows of the pane with the focus can be asked for.
func (l *linear) tellFilter(name string) {
	a := l.app
	p, ok := a.panes[a.focus].(Filterer)
	if !ok {
		l.tell("This pane has no filter.")
		return
	}
	now := "none is in force"
	if f := p.Filtered(); f != "" {
		now = "in force is " + guard.Line(f, 200) + ", esc ends it"
	}
	known := append(p.FilterSpec().Keys(), a.keptNames()...)
	l.tell("Filter: write %s and then %s, a text, or an exclamation mark before one of them; %s.", name, strings.Join(known, " "), now)
}

// commands opens the palette without what is about the screen alone.
func (l *linear) commands(text string) {
	p := newPalette(l.app)
	p.all = slices.DeleteFunc(p.all, func(x action.Action) bool {
		return onScreenOnly(x.ID) || x.ID == action.Themes || x.ID == action.Palette
	})
	p.input.SetValue(text)
	p.filter()
	l.do(l.app.open(p))
}

// onScreenOnly reports whether an action is about the screen alone.
func onScreenOnly(id action.ID) bool {
	switch id {
	case action.Mouse, action.Suspend, action.Redraw, action.Zoom, action.Half, action.Wider, action.Narrower, action.Taller, action.Lower, action.Level:
		return true
	}
	return false
}

// Choices implements chooser: the commands, with the reason why one is not possible now.
func (p *palette) Choices(a *App) (list []string, at int) {
	if strings.HasSuffix(p.input.Value(), " ") {
		return nil, -1 // it asks for the text of one command
	}
	for _, c := range p.shown {
		text := strings.Join(c.Keys, " or ") + ": " + c.Title
		if c.arg != "" {
			text += " " + c.arg
		} else if c.Arg != "" {
			text += ", with " + c.Arg
		}
		if why := a.disabled(c.ID); why != "" {
			text += " (not now: " + why + ")"
		}
		list = append(list, text)
	}
	return list, p.at
}

// Choose implements chooser.
func (p *palette) Choose(a *App, i int) tea.Cmd { return p.run(a, p.shown[i]) }

// Wants implements writer.
func (p *palette) Wants() string {
	if name, ok := strings.CutSuffix(p.input.Value(), " "); ok {
		return "a text is what " + name + " is given"
	}
	return "a text finds commands"
}

// Write implements writer: one command that fits runs, of several the list is read.
func (p *palette) Write(a *App, line string) tea.Cmd {
	if strings.HasSuffix(p.input.Value(), " ") {
		line = p.input.Value() + line
	}
	p.input.SetValue(line)
	p.filter()
	if len(p.shown) == 1 || len(p.shown) > 0 && p.shown[0].arg != "" {
		return p.run(a, p.shown[0])
	}
	return nil
}

// Choices implements chooser.
func (c *whyCard) Choices(*App) (list []string, at int) {
	for _, o := range c.list {
		text := o.Text
		if o.Gone {
			text = "not stored any more"
		}
		list = append(list, o.Kind+" "+originName(o)+": "+text)
	}
	return list, c.at
}

// Choose implements chooser.
func (c *whyCard) Choose(a *App, i int) tea.Cmd {
	c.at = i
	return c.Key(a, tea.KeyPressMsg{Code: tea.KeyEnter})
}

// Choices implements chooser: what both did once, what differs in both forms.
func (c *besideCard) Choices(a *App) (list []string, at int) {
	at = -1
	for i, r := range c.rows {
		text := "turn " + turnName(r.Turn) + "; "
		if r.What == "" {
			text += r.A
		} else {
			if at < 0 {
				at = i
			}
			text += r.What + "; " + tag(c.a) + ": " + sideText(r.A, a.ctx.Style) + "; " + tag(c.b) + ": " + sideText(r.B, a.ctx.Style)
		}
		list = append(list, text)
	}
	return list, at
}

// Choose implements chooser.
func (c *besideCard) Choose(a *App, i int) tea.Cmd {
	c.at = i
	return c.Key(a, tea.KeyPressMsg{Code: tea.KeyEnter})
}

// Choices implements chooser: the breakpoints that are set; choosing one removes it.
func (c *breakCard) Choices(a *App) (list []string, at int) {
	for _, text := range breakTexts(a.ctx.Breaks) {
		list = append(list, "remove "+text)
	}
	return list, -1
}

// Choose implements chooser.
func (c *breakCard) Choose(a *App, i int) tea.Cmd {
	c.at = i + 1
	return c.Key(a, tea.KeyPressMsg{Code: tea.KeyEnter})
}

// Wants implements writer.
func (c *breakCard) Wants() string {
	if c.wrong != "" {
		return c.wrong
	}
	return "a text sets a breakpoint, such as tool:rule_add arg:scope=refunds, metric:tool_correctness<0.5, verdict:unactionable, cost>0.01"
}

// Write implements writer.
func (c *breakCard) Write(a *App, line string) tea.Cmd {
	c.at, c.wrong = 0, ""
	c.input.SetValue(line)
	return c.Key(a, tea.KeyPressMsg{Code: tea.KeyEnter})
}

// Wants implements writer.
func (e *ruleEdit) Wants() string { return "a text is the rule in your words" }

// Write implements writer.
func (e *ruleEdit) Write(a *App, line string) tea.Cmd {
	e.input.SetValue(line)
	return e.Key(a, tea.KeyPressMsg{Code: tea.KeyEnter})
}
