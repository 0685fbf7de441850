package tui

import (
	"fmt"
	"strings"
	"time"

	"vise/engine/patch"
	"vise/engine/patch/risk"
	"vise/engine/patch/run"
	"vise/tui/style"
)

// Rows implements Pane.
func (p *attemptsPane) Rows() []string { return p.cached(p.draw) }

// listRows is how many rows the list gets: a third, and no more than it has.
func (p *attemptsPane) listRows() int { return max(1, min(p.list.Len(), max(3, p.h/3))) }

func (p *attemptsPane) draw(*style.Style) []string {
	if p.list.Len() == 0 {
		return p.hint("No coding agent has run yet.", "{run.patch} runs one on a copy of the project and proves its patch; here its attempts are compared and repaired.")
	}
	visible, first := p.list.Visible()
	rows := make([]string, 0, p.h)
	for i, r := range visible {
		rows = append(rows, p.row(r, first+i == p.list.Index()))
	}
	rows = append(rows, p.rule(runTag(p.detail.run.ID)))
	if p.body != nil {
		rows = append(rows, p.body.Rows()...)
	}
	return rows
}

func (p *attemptsPane) row(r attemptRow, selected bool) string {
	g := p.st().Glyphs
	row := p.st().Row(p.w, p.ground(selected))
	next, role := nextWord(r.run)
	if r.repaired() {
		next, role = "repaired", style.Dim
	}
	mark := map[style.Role]string{style.Good: g.Pass, style.Bad: g.Fail, style.Warn: g.Alert, style.Info: g.Busy, style.Dim: g.Neutral}[role]
	under := "  " // a repair lies under its run; the columns are the same
	if r.depth > 0 {
		under = g.Again + " "
	}
	verdict, class := g.Neutral, ""
	if pr := r.run.Proof; pr != nil {
		verdict = strings.ToLower(strings.ReplaceAll(pr.Verdict, "_", " "))
		class = string(pr.Class)
	}
	row.Put(role, " "+mark+" ").Cell(style.Dim, under, 2).Link(r.run.Link()).Cell(style.Strong, runTag(r.run.ID), 13).Link("")
	if p.w >= 100 {
		row.Cell(style.Dim, clock(r.run.Created), 9)
	}
	row.Cell(role, next, 10).Cell(style.Text, verdict, 11).Cell(style.Dim, classWord(class), 15)
	if p.w >= 100 {
		files := 0
		if r.run.Patch != nil {
			files = len(r.run.Patch.Entries)
		}
		row.Cell(style.Dim, count(files, "file"), 9)
	}
	what := r.run.Task
	if what == "" {
		what = strings.Join(r.run.Command, " ")
	}
	return row.Put(style.Text, p.st().Clean(what)).String()
}

// classWord is the class of a failed proof in at most 14 cells.
func classWord(class string) string {
	return strings.TrimPrefix(strings.ReplaceAll(class, "_", " "), "patch ")
}

// layout makes the body anew; layoutKept only tells that it was scrolled.
func (p *attemptsPane) layout() {
	p.bump()
	if p.ctx == nil || p.body == nil {
		return
	}
	p.list.SetHeight(p.listRows())
	p.body.SetSize(p.w, max(0, p.h-p.listRows()-1))
	top := p.body.Top()
	p.body.Set(ready(p.bodyRows()))
	if top == 0 {
		p.body.Home()
	}
}

func (p *attemptsPane) layoutKept() { p.bump() }

// bodyRows are all rows of the run under the cursor.
func (p *attemptsPane) bodyRows() []string {
	d := p.detail
	if d.run.ID == "" {
		return nil
	}
	rows := p.loopRows()
	rows = append(rows, p.proofRows()...)
	rows = append(rows, p.liveRows()...)
	if p.patch.rows == nil || p.patch.w != p.w || p.patch.epoch != p.st().Epoch() {
		p.patch = patchDrawn{p.w, p.st().Epoch(), p.patchRows()}
	}
	return append(rows, p.patch.rows...)
}

func (p *attemptsPane) field(name string, role style.Role, text string) []string {
	const w = 10
	lines := p.part(max(1, p.w-w)).wrapped(role, text, 0, 0, 6)
	for i, l := range lines {
		r := p.line()
		if i == 0 {
			r.Cell(style.Dim, " "+name, w)
		} else {
			r.Space(w)
		}
		lines[i] = r.Styled(l).String()
	}
	return lines
}

// loopRows tell of the loop: its state, its budget, its attempts, and what is
// asked of the person.
func (p *attemptsPane) loopRows() []string {
	d, g := p.detail, p.st().Glyphs
	var rows []string
	if l := d.loop; l != nil {
		role, text := style.Info, fmt.Sprintf("%s, attempt %d of %d", l.State, attemptAt(l.State, l.Attempt), l.MaxAttempts-1)
		held := p.ctx.PatchHeld
		switch {
		case held != nil && held.RunID == l.RunID:
			role, text = style.Warn, fmt.Sprintf("%s held before %s, attempt %d of %d", g.Held, held.State, attemptAt(held.State, held.Attempt), l.MaxAttempts-1)
		case l.Status == run.Repaired:
			role, text = style.Good, g.Pass+" "+l.Status
		case l.Status != "":
			role, text = style.Bad, g.Fail+" "+l.Status
			if l.Status == run.NeedsHuman || l.Status == run.NeedsAgent {
				role, text = style.Warn, g.Alert+" "+l.Status
			}
			text += ": " + patch.Says(*l)
		case p.ctx.Running.Kind != Mending:
			role, text = style.Warn, "stopped before "+string(l.State)+p.ctx.Text("; {patch.repair} goes on")
		}
		rows = append(rows, p.field("loop", role, text)...)
		budget := fmt.Sprintf("%s of %s used, %s", elapsedMillis(l.Spent.Milliseconds()), elapsed(l.MaxRuntime), counts(l))
		if used := l.UsedWords(); used != "" {
			budget += "; repairs: " + used
		}
		rows = append(rows, p.field("budget", style.Text, budget)...)
		for _, a := range l.Attempts {
			mark, role := g.Fail, style.Bad
			if a.Verdict == run.Proven {
				mark, role = g.Pass, style.Good
			}
			r := p.line().Space(1).Put(role, mark+" ").Cell(style.Dim, "attempt "+itoa(a.Attempt), 11).Cell(style.Strong, runTag(a.RunID), 14)
			r.Cell(role, strings.ToLower(strings.ReplaceAll(a.Verdict, "_", " ")), 11).Cell(style.Text, classWord(string(a.Class)), 15).Right(style.Dim, elapsedMillis(a.Millis), 7)
			rows = append(rows, r.Put(style.Dim, "  "+p.st().Clean(strings.Join(a.Failed, " "))).String())
		}
	} else if why := waitsForPerson(d.run, nil); why != "" {
		rows = append(rows, p.field("next", style.Warn, g.Alert+" needs you: "+why)...)
	}
	for _, c := range d.run.Causes {
		rows = append(rows, p.field("look at", style.Warn, c.Says())...)
	}
	if d.run.NeedsScope != "" {
		rows = append(rows, p.field("asks", style.Warn, d.run.NeedsScope)...)
	}
	text := strings.TrimSpace(strings.Join(d.run.Command, " "))
	rows = append(rows, p.field("agent", style.Text, text)...)
	status := strings.TrimSpace(string(d.run.Status) + " " + d.run.Exit + " " + d.run.Error)
	if d.run.Sandbox != "" { // while it runs nobody knows yet
		status += "; " + d.run.Sandbox
	}
	rows = append(rows, p.field("", style.Dim, status)...)
	if left := d.run.LeftOut; len(left) > 0 {
		rows = append(rows, p.field("left out", style.Dim, strings.Join(left, ", ")+": ignored, and in no workspace")...)
	}
	if words := d.run.NotTakenWords(5); words != "" {
		rows = append(rows, p.field("not taken", style.Warn, words)...)
	}
	if d.run.ProofCut {
		rows = append(rows, p.field("proof", style.Warn, p.ctx.Text("it was cut off; {patch.repair} makes it"))...)
	}
	if d.run.Usage != nil {
		rows = append(rows, p.field("used", style.Text, run.Words(*d.run.Usage))...)
	}
	if d.loop != nil && d.loop.Packet != "" {
		name := d.loop.Packet
		if i := strings.LastIndex(name, "/.vise/"); i >= 0 {
			name = name[i+1:] // the project's folder is known
		}
		rows = append(rows, p.field("packet", style.Dim, name)...)
	}
	return rows
}

func counts(l *run.Loop) string {
	return fmt.Sprintf("%d of %s", len(l.Attempts), count(l.MaxAttempts, "proof"))
}

func elapsedMillis(ms int64) string {
	if ms < 10_000 {
		return fmt.Sprintf("%.1f s", float64(ms)/1000)
	}
	return elapsed(time.Duration(ms) * time.Millisecond)
}

// proofTail is how many lines of a failed phase are shown.
const proofTail = 14

// proofRows tell of the proof: every phase, the failing tests, the end of the output.
func (p *attemptsPane) proofRows() []string {
	pr, g := p.detail.run.Proof, p.st().Glyphs
	if pr == nil {
		return nil
	}
	rows := []string{p.rule("proof")}
	for _, f := range pr.Phases {
		mark, role := g.Pass, style.Good
		if !f.Passed {
			mark, role = g.Fail, style.Bad
		}
		r := p.line().Space(1).Put(role, mark+" ").Cell(style.Text, strings.ReplaceAll(f.Phase, "_", " "), 18).Right(style.Dim, elapsedMillis(f.Millis), 7).Space(2)
		if f.TestsPassed != nil && f.TestsTotal != nil {
			r.Put(style.Number, fmt.Sprintf("%d/%d  ", *f.TestsPassed, *f.TestsTotal))
		}
		rows = append(rows, r.Put(style.Text, p.st().Clean(strings.Join(f.Command, " "))).String())
	}
	for _, why := range pr.Reasons {
		rows = append(rows, p.field("because", style.Bad, why)...)
	}
	for _, name := range pr.FailedTests {
		rows = append(rows, p.field("failing", style.Bad, name)...)
	}
	rows = append(rows, p.field("held by", style.Dim, pr.Sandbox)...)
	if n := len(pr.Phases); n > 0 && !pr.Phases[n-1].Passed {
		rows = append(rows, p.tail(pr.Phases[n-1])...)
	}
	if f := pr.FirstFailure; f != nil {
		rows = append(rows, p.rule("at first, before it was proven once more"))
		rows = append(rows, p.tail(*f)...)
	}
	return rows
}

// tail is the end of what a phase wrote.
func (p *attemptsPane) tail(f run.Phase) []string {
	lines := strings.Split(strings.TrimRight(f.Output, "\n"), "\n")
	return p.wrapped(style.Dim, strings.Join(lines[max(0, len(lines)-proofTail):], "\n"), 3, asText, proofTail)
}

// liveRows are the end of what is being written now.
func (p *attemptsPane) liveRows() []string {
	if p.live.text == "" || p.live.run != p.detail.run.ID {
		return nil
	}
	lines := strings.Split(strings.TrimRight(p.live.text, "\n"), "\n")
	rows := []string{p.rule("now: " + strings.ReplaceAll(p.live.phase, "_", " "))}
	return append(rows, p.wrapped(style.Text, strings.Join(lines[max(0, len(lines)-proofTail):], "\n"), 3, asText, proofTail)...)
}

// diffMost is how many lines of a patch are shown; `y` copies all of them.
const diffMost = 2000

// patchRows are the files of the patch, each with its decision and its risk, and
// their diffs.
func (p *attemptsPane) patchRows() []string {
	d := p.detail
	if d.run.Patch == nil {
		return nil
	}
	rows := []string{p.rule(fmt.Sprintf("patch: %s, blast radius %d, later %s", count(len(d.run.Patch.Entries), "file"), d.run.Blast.Score, d.run.Future.Level))}
	if d.note != "" {
		rows = append(rows, p.wrapped(style.Warn, d.note, 1, 0, 4)...)
	}
	of := map[string]patch.FileDiff{}
	for _, f := range d.diff {
		of[f.Entry.Path] = f
	}
	lines := 0
	for _, e := range d.run.Patch.Entries {
		f := of[e.Path]
		role := map[string]style.Role{run.Created: style.Added, run.Deleted: style.Removed, run.Modified: style.Info}[e.ChangeType]
		decision := style.Good
		if e.Decision != "allow" {
			decision = style.Warn
		}
		r := p.line().Space(1).Cell(role, e.ChangeType, 9).Cell(decision, string(e.Decision), 8)
		risky := ""
		if k, is := risk.Protected(e.Path); is {
			risky = "  protected: " + strings.ReplaceAll(string(k), "_", " ")
		}
		name := p.st().CutMiddle(p.st().Clean(e.Path), max(8, r.Left()-len(risky)-2))
		rows = append(rows, r.Put(style.Strong, name).Put(style.Warn, risky).String())
		if f.Note != "" {
			rows = append(rows, p.wrapped(style.Dim, f.Note, 3, 0, 2)...)
		}
		code := highlight(e.Path)
		for line := range strings.Lines(f.Text) {
			if strings.HasPrefix(line, "--- ") || strings.HasPrefix(line, "+++ ") {
				continue
			}
			if lines++; lines > diffMost {
				return append(rows, p.line().Space(3).Put(style.Faint, p.st().Glyphs.Ellipsis+p.ctx.Text(" more: {copy.item} copies all of it")).String())
			}
			role := style.Dim
			switch line[0] {
			case '+':
				role = style.Added
			case '-':
				role = style.Removed
			case '@':
				role = style.Accent
			}
			if row, fits := p.codeRow(code, role, line); fits && line[0] != '@' && lines <= highlightLines {
				rows = append(rows, row)
				continue
			}
			rows = append(rows, p.wrapped(role, line, 3, 1, 3)...)
		}
	}
	return rows
}

// codeRow is a line of a diff in the colours of its language behind a mark that says
// what became of it; fits is false for one that must be wrapped, and for one without a
// known language: it is all in the colour of its mark.
func (p *attemptsPane) codeRow(code highlighter, role style.Role, line string) (row string, fits bool) {
	if code.lexer == nil {
		return "", false
	}
	mark, rest := line[:1], strings.TrimRight(line[1:], "\r\n")
	r := p.line().Space(3)
	shown := p.st().Clean(strings.ReplaceAll(rest, "\t", "    "))
	if p.st().Width(shown)+1 > r.Left() {
		return "", false
	}
	plain := style.Text
	if role == style.Dim {
		plain = style.Dim
	}
	r.Put(role, mark)
	for _, t := range code.pieces(shown, plain) {
		r.Put(t.role, t.text)
	}
	return r.String(), true
}
