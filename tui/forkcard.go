package tui

import (
	"strconv"
	"strings"

	"charm.land/bubbles/v2/textinput"
	tea "charm.land/bubbletea/v2"

	"vise/engine/guard"
	"vise/tui/style"
	"vise/tui/vtext"
)

// maxForkField bounds what can be typed into a field, in code points.
const maxForkField = 8000

// forkHints say what an empty field means.
var forkHints = map[string]string{
	"turn": "model turns that are kept", "model": "provider/model that goes on", "turns": "model turns at most, those kept included",
	"tokens": "output tokens at most", "timeout": "time at most", "deny": "tools that it does not have: rule_add, rules_*",
	"message": "another text for the last kept message", "at": "number of the message to replace",
	"arguments": "other arguments for a call of the last kept turn, run again", "call": "number of that call",
}

// forkCard is the input for what is other about a fork: a field each, all of them optional.
type forkCard struct {
	pane   *repairPane
	inputs []textinput.Model
	at     int
	wrong  string
}

func newForkCard(p *repairPane) *forkCard {
	c := &forkCard{pane: p}
	for range forkKeys {
		in := newInput("")
		in.CharLimit = maxForkField
		c.inputs = append(c.inputs, in)
	}
	// From the turn under the cursor on; where nothing can go on from it, from the last
	// one before the decision.
	f := forkForm{}
	if p.step > 0 {
		f["turn"] = strconv.Itoa(p.step)
	}
	s, _ := f.spec("", 0)
	b, err := p.branch(s.Change)
	if err != nil {
		s.Turn = -1
		b, err = p.branch(s.Change)
	}
	if err == nil {
		c.inputs[0].SetValue(strconv.Itoa(b.Turn))
		c.inputs[0].CursorEnd()
	}
	return c
}

func (c *forkCard) form() forkForm {
	f := forkForm{}
	for i, k := range forkKeys {
		f[k] = c.inputs[i].Value()
	}
	return f
}

// Wide makes the card as wide as the screen.
func (*forkCard) Wide() {}

// Key implements overlay.
func (c *forkCard) Key(a *App, k tea.KeyPressMsg) tea.Cmd {
	switch k.String() {
	case "esc":
		return a.close()
	case "up", "shift+tab":
		c.at = (c.at + len(c.inputs) - 1) % len(c.inputs)
		return nil
	case "down", "tab":
		c.at = (c.at + 1) % len(c.inputs)
		return nil
	case "ctrl+e":
		if _, text := c.stored(); text != "" {
			c.inputs[c.at].SetValue(strings.Join(strings.Fields(text), " "))
			c.inputs[c.at].CursorEnd()
		}
		return nil
	case "ctrl+y":
		attempt, _ := c.pane.run()
		s, err := c.form().spec(c.pane.data.episode.ID, attempt)
		if err != nil {
			c.wrong = err.Error()
			return nil
		}
		return a.clip(forkCommand(s))
	case "enter":
		if c.wrong = c.mistake(); c.wrong != "" {
			return nil
		}
		a.close()
		return a.startFork(c.pane, c.form())
	}
	c.wrong = ""
	var cmd tea.Cmd
	c.inputs[c.at], cmd = c.inputs[c.at].Update(k)
	return cmd
}

// Paste implements paster.
func (c *forkCard) Paste(_ *App, m tea.PasteMsg) tea.Cmd {
	c.wrong = ""
	var cmd tea.Cmd
	c.inputs[c.at], cmd = c.inputs[c.at].Update(m)
	return cmd
}

// mistake says why the fork as it is written cannot be started; "" when it can.
func (c *forkCard) mistake() string {
	s, err := c.form().spec("", 0)
	if err == nil {
		_, err = c.pane.branch(s.Change)
	}
	if err != nil {
		return err.Error()
	}
	return ""
}

// stored is what the field with the cursor would replace, in words and as it is stored.
func (c *forkCard) stored() (words, text string) {
	f := c.form()
	s, err := forkForm{"turn": f["turn"], "at": "", "call": ""}.spec("", 0)
	if err != nil {
		return "", ""
	}
	b, err := c.pane.branch(s.Change)
	if err != nil || len(b.Lines) == 0 {
		return "", ""
	}
	switch forkKeys[c.at] {
	case "arguments", "call":
		n, _ := strconv.Atoi(f["call"])
		if n = max(n, 1); b.Turn == 0 || n > len(b.Steps[b.Turn-1].Calls) {
			return "", ""
		}
		call := b.Steps[b.Turn-1].Calls[n-1]
		return "call " + strconv.Itoa(n) + " of turn " + strconv.Itoa(b.Turn) + ", " + call.Name, call.Arguments
	case "message", "at":
		n, _ := strconv.Atoi(f["at"])
		if n < 1 || n > len(b.Lines) {
			n = len(b.Lines)
		}
		l := b.Lines[n-1]
		return "message " + strconv.Itoa(l.N) + ", " + strings.TrimSpace(l.Role+" "+l.Tool), l.Content
	}
	l := b.Lines[len(b.Lines)-1]
	return "the last that is kept is message " + strconv.Itoa(l.N) + ", " + strings.TrimSpace(l.Role+" "+l.Tool), ""
}

// Card implements overlay.
func (c *forkCard) Card(a *App, w, h int) (string, []string, int, int) {
	const lead = 12
	s := a.ctx.Style
	var rows []string
	x, y := -1, -1
	foot := 5
	room := max(1, h-foot)
	top := max(0, min(c.at-room/2, len(forkKeys)-room))
	for i := top; i < min(len(forkKeys), top+room); i++ {
		ground, mark := style.Panel, " "
		if i == c.at {
			ground, mark = style.Cursor, s.Glyphs.Pointer
		}
		row := s.Row(w, ground).Put(style.Accent, mark).Space(1).Cell(style.Heading, forkKeys[i], lead-2)
		value := []rune(c.inputs[i].Value())
		switch {
		case i == c.at:
			// The part around the cursor, so that it is always seen.
			from := max(0, c.inputs[i].Position()-max(1, w-lead-2))
			row.Put(style.Text, s.Clean(string(value[from:])))
			x, y = min(w-1, lead+s.Width(s.Clean(string(value[from:c.inputs[i].Position()])))), len(rows)
			if len(value) == 0 {
				row.Put(style.Faint, forkHints[forkKeys[i]])
			}
		case len(value) > 0:
			row.Put(style.Text, s.Clean(string(value)))
		default:
			row.Put(style.Faint, forkHints[forkKeys[i]])
		}
		rows = append(rows, row.String())
	}
	rows = append(rows, s.Row(w, style.Panel).String())
	wrong := c.wrong
	if wrong == "" && c.inputs[0].Value() != "" {
		wrong = c.mistake()
	}
	words, text := c.stored()
	told, role := words, style.Dim
	if text != "" {
		told += ": " + guard.Line(text, 400)
	}
	if wrong != "" {
		told, role = wrong, style.Warn
	}
	lines := vtext.Wrap(s.Clean(told), w, 0, s.Width)
	for i := range 2 {
		row := s.Row(w, style.Panel)
		if i < len(lines) {
			row.Put(role, lines[i])
		}
		rows = append(rows, row.String())
	}
	keys := "enter starts it, tab next field, ctrl+y copies its command, esc closes"
	if text != "" {
		keys = "enter starts, tab next, ctrl+e stored text, ctrl+y command, esc closes"
	}
	rows = append(rows,
		s.Row(w, style.Panel).Put(style.Dim, "a what-if: no notice is closed, no rule added; a accepts it afterwards").String(),
		s.Row(w, style.Panel).Put(style.Faint, keys).String())
	return "fork " + tag(c.pane.data.episode.ID), rows, x, y
}

// Wants implements writer.
func (c *forkCard) Wants() string {
	return "a text starts the fork, such as turn=2 model=ollama/qwen3 deny=rule_add message=what the tool said; " +
		"keys are " + strings.Join(forkKeys, " ")
}

// Write implements writer.
func (c *forkCard) Write(a *App, line string) tea.Cmd {
	f, err := parseFork(line)
	if err != nil {
		c.wrong = err.Error()
		return nil
	}
	for i, k := range forkKeys {
		if v, ok := f[k]; ok {
			c.inputs[i].SetValue(v)
		}
	}
	return c.Key(a, tea.KeyPressMsg{Code: tea.KeyEnter})
}
