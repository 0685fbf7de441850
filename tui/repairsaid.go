package tui

import (
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"vise/tui/md"
	"vise/tui/style"
)

// saidWidth is the room of what the model says, and what stands before it.
func (p *repairPane) saidWidth() (w, indent int) {
	const label = 14
	if p.w < 40 {
		return max(1, p.w-4), 4
	}
	return p.w - label, label
}

// said is what the model thinks or says: a plain row of a step that is not looked at, else
// rendered.
func (p *repairPane) said(word, text string, limit int) []string {
	if strings.TrimSpace(text) == "" {
		return nil
	}
	if limit > 1 {
		w, _ := p.saidWidth()
		return p.spoken(word, p.markdown(text, w), limit)
	}
	role := style.Text
	if word == "thinks" {
		role = style.Dim
	}
	return p.labelled(word, role, text, limit)
}

// spoken puts rendered rows behind a word.
func (p *repairPane) spoken(word string, rows []string, limit int) []string {
	w, indent := p.saidWidth()
	var out []string
	for i, r := range rows {
		lead := p.line().Space(4)
		if indent > 4 {
			if i > 0 {
				word = ""
			}
			lead.Cell(style.Heading, word, indent-4)
		}
		if i == limit {
			return append(out, lead.Put(style.Faint, p.st().Glyphs.Ellipsis+" more").String())
		}
		out = append(out, lead.Styled(p.st().Cut(r, w)).String())
	}
	return out
}

// markdown is a text rendered, or plain until it is: a long one in a command.
func (p *repairPane) markdown(text string, w int) []string {
	for _, d := range []*md.Doc{p.says, p.thinks} {
		if rows, ok := d.Shown(text, w); ok { // it streamed a moment ago
			return rows
		}
	}
	if rows, ok := p.md.Now(text, w); ok {
		return rows
	}
	p.due = append(p.due, dueText{text, w})
	return p.md.Plain(text, w)
}

// dueText is a text that is to be rendered.
type dueText struct {
	text string
	w    int
}

// textsRendered tells that texts of a transcript are ready.
type textsRendered struct{}

// For is the pane.
func (textsRendered) For() PaneID { return PaneRepair }

// renderEvery bounds how many texts one command renders.
const renderEvery = 64

// render starts what is due: of texts that grow, at most ten times a second.
func (p *repairPane) render() tea.Cmd {
	var cmds []tea.Cmd
	for _, d := range []*md.Doc{p.says, p.thinks} {
		job, wait := d.Next(p.ctx.Now())
		switch {
		case job != nil:
			cmds = append(cmds, func() tea.Msg { return rendered{PaneRepair, job.Do()} })
		case wait > 0 && !p.waits:
			p.waits = true
			cmds = append(cmds, later(PaneRepair, "render", wait))
		}
	}
	if due := p.due[:min(len(p.due), renderEvery)]; len(due) > 0 {
		p.due = nil
		r, end := p.md, p.ctx.Ctx
		cmds = append(cmds, func() tea.Msg {
			for _, d := range due {
				if end.Err() == nil {
					r.Render(d.text, d.w)
				}
			}
			return textsRendered{}
		})
	}
	return tea.Batch(cmds...)
}

// takeRendered takes what a render brought; false when the message is another one.
func (p *repairPane) takeRendered(msg any) (mine bool, cmd tea.Cmd) {
	switch m := msg.(type) {
	case rendered:
		if m.pane != PaneRepair {
			return false, nil
		}
		says, thinks := p.says.Take(m.done), p.thinks.Take(m.done)
		if says || thinks {
			p.layout()
		}
		return true, p.render()
	case textsRendered:
		p.layout()
		return true, p.render()
	case wake:
		if m.pane != PaneRepair {
			return false, nil
		}
		if m.name == "render" {
			p.waits = false
			return true, p.render()
		}
		p.ticking = false
		p.bump()
		return true, p.tick()
	}
	return false, nil
}

// liveRows show the turn that streams, from its beginning: the reader's place in it stays, and the
// view follows its end only while it is there. The row that tells of it comes last,
// so that nothing moves when the turn is stored.
func (p *repairPane) liveRows() []string {
	l := p.live
	w, _ := p.saidWidth()
	p.thinks.Set(l.reasoning, w)
	p.says.Set(l.text, w)
	rows := p.spoken("thinks", p.thinks.Rows(), spokenRows)
	rows = append(rows, p.spoken("says", p.says.Rows(), spokenRows)...)
	for _, c := range l.calls {
		rows = append(rows, p.line().Space(2).Int(style.Dim, l.turn, 2).Space(1).Cell(style.Strong, verb(c.name), 8).Put(style.Text, c.name).String())
		if strings.TrimSpace(c.arguments) != "" {
			rows = append(rows, p.labelled("arguments", style.Text, c.arguments, spokenRows)...)
		}
	}
	if l.cut {
		rows = append(rows, p.wrapped(style.Faint, p.st().Glyphs.Ellipsis+" too much to show while it comes; the stored turn has all of it", 4, 2, 2)...)
	}
	return append(rows, p.line().Space(2).Int(style.Dim, l.turn, 2).Space(1).Put(style.Info, p.st().Glyphs.Busy+" answering").String())
}

// keepPlace remembers the step whose streamed text a person is reading when it is stored:
// it stays open until the view follows the end again.
func (p *repairPane) keepPlace(attempt, turn int) {
	if !p.body.Following() {
		p.reading = [2]int{attempt, turn}
	}
}

// begin is since when the clock of the newest run counts; zero when its beginning was not seen.
func (p *repairPane) begin(of string) time.Time {
	if p.beganOf == of {
		return p.began
	}
	return time.Time{}
}

// catchUp goes to the end, where what a person lets go on will appear.
func (p *repairPane) catchUp() {
	if p.body != nil {
		p.body.End()
		p.bump()
	}
}
