package tui

import (
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"

	"vise/engine/event"
	"vise/engine/guard"
	"vise/engine/patch/policy"
	"vise/engine/patch/risk"
	"vise/engine/patch/run"
	"vise/tui/action"
	"vise/tui/style"
	"vise/tui/vlist"
	"vise/tui/vtext"
)

// attemptsPane shows the runs of coding agents with the loops that repair them:
// the runs above, and below what is known of the one under the cursor: its loop,
// its proof with live output, its patch and its packet.
type attemptsPane struct {
	sheet
	q      query[attemptsData]
	dq     query[attemptDetail]
	list   *vlist.List[attemptRow]
	detail attemptDetail
	body   *vtext.Text
	live   liveOutput
	find   string
	patch  patchDrawn
	sure   string // see seen: the patch that the next `a` applies although a person must look
	busy   string // what is being done to the project, for a message; "" = nothing
}

// liveOutput is the end of what an agent or a phase of a proof is writing.
type liveOutput struct{ run, phase, text string }

// patchDrawn are the rows of the patch, which are laid out once: agents write much while a
// large patch is shown.
type patchDrawn struct {
	w     int
	epoch uint64
	rows  []string
}

// maxLive is how much of it is kept, in bytes.
const maxLive = 8 << 10

// AttemptsJSON is what the pane shows: a run and the loop that began with it.
type AttemptsJSON struct {
	Run  run.Run   `json:"run"`
	Loop *run.Loop `json:"loop,omitempty"`
}

func newAttempts() *attemptsPane {
	return &attemptsPane{sheet: newSheet(PaneAttempts, "Attempts"), q: query[attemptsData]{pane: PaneAttempts, name: "runs"}, dq: query[attemptDetail]{pane: PaneAttempts, name: "run"},
		list: vlist.New(func(r attemptRow) string { return r.run.ID })}
}

// SetSize implements Pane.
func (p *attemptsPane) SetSize(w, h int) {
	if p.resize(w, h) {
		p.layout()
	}
}

// patched are the events after which runs, proofs or loops are other ones.
var patched = []event.Type{event.PatchStarted, event.PatchDriven, event.PatchProved, event.PatchPacket, event.PatchRouted, event.PatchState, event.PatchFinished,
	event.PatchApplied, event.PatchUndone, event.PatchRemoved}

// Apply implements Pane.
func (p *attemptsPane) Apply(ctx *Context, c Change) tea.Cmd {
	dirty := c.Held || c.Running
	if p.see(ctx, c) {
		p.body = vtext.New(p.st().Width)
		dirty = true
	}
	for _, e := range c.Events {
		switch e.Type {
		case event.PatchProgress:
			phase, _ := e.Data["phase"].(string)
			text, _ := e.Data["text"].(string)
			if p.live.run != e.RunID || p.live.phase != phase {
				p.live = liveOutput{run: e.RunID, phase: phase}
			}
			p.live.text += text
			if over := len(p.live.text) - maxLive; over > 0 {
				p.live.text = strings.ToValidUTF8(p.live.text[over:], "")
			}
			dirty = dirty || e.RunID == p.detail.run.ID
		case event.PatchProved, event.PatchDriven:
			p.live = liveOutput{}
		}
	}
	if dirty {
		p.layout()
	}
	switch {
	case c.Reload || c.Has(patched...):
		return p.q.ask(ctx, readAttempts)
	case c.Scope && c.Old.Run != ctx.Scope.Run:
		if p.list.SelectKey(ctx.Scope.Run) {
			return p.open(ctx)
		}
		return p.q.ask(ctx, readAttempts)
	}
	return nil
}

// Take implements Pane.
func (p *attemptsPane) Take(ctx *Context, msg any) (bool, tea.Cmd) {
	if m, ok := msg.(mended); ok {
		p.busy = ""
		if m.err != nil {
			return true, failed(m.err, m.what)
		}
		return true, func() tea.Msg { return sayMsg{m.what, style.Good} }
	}
	if d, fresh, mine, err := p.dq.take(msg); mine {
		if !fresh || err != nil {
			return true, failed(err, "read the run")
		}
		p.detail, p.patch = d, patchDrawn{}
		p.layout()
		return true, nil
	}
	d, fresh, mine, err := p.q.take(msg)
	if !mine || !fresh || err != nil {
		return mine, failed(err, "read the runs")
	}
	p.list.Set(d.rows, false, d.more)
	if ctx.Scope.Run != "" {
		p.list.SelectKey(ctx.Scope.Run)
	}
	badge := ""
	if d.humans > 0 {
		badge = itoa(d.humans) + " for you"
	} else if n := len(d.rows); n > 0 {
		badge = count(n, "run")
	}
	p.label(badge)
	p.layout()
	return true, p.open(ctx)
}

// open reads what is known of the run under the cursor.
func (p *attemptsPane) open(ctx *Context) tea.Cmd {
	row, ok := p.list.Selected()
	if !ok {
		p.detail = attemptDetail{}
		p.layout()
		return nil
	}
	if p.detail.run.ID != row.run.ID {
		p.sure = ""
		if p.body != nil {
			p.body.Home()
		}
	}
	return p.dq.outside(ctx, func() (attemptDetail, error) { return readAttempt(ctx, row) })
}

// mended is the end of something a person did here.
type mended struct {
	what string
	err  error
}

// For is the pane.
func (mended) For() PaneID { return PaneAttempts }

// Do implements Pane.
func (p *attemptsPane) Do(ctx *Context, id action.ID) (tea.Cmd, bool) {
	switch id {
	case action.Up:
		p.list.Move(-1)
	case action.Down:
		p.list.Move(1)
	case action.Back:
		p.list.Move(1) // the newest is at the top
	case action.Forward:
		p.list.Move(-1)
	case action.Home:
		p.list.Home()
	case action.End:
		p.list.End()
	case action.NextProblem, action.PrevProblem:
		if !p.list.Seek(id == action.NextProblem, func(r attemptRow) bool { return r.problem() }) {
			return nil, false
		}
	case action.PageUp, action.PageDown:
		if p.body != nil {
			p.body.Page(map[action.ID]int{action.PageUp: -1, action.PageDown: 1}[id])
		}
		p.layoutKept()
		return nil, true
	case action.PatchApply:
		return p.apply(ctx), true
	case action.PatchUndo:
		return p.change(ctx, "taken back", func(id string) error { _, err := ctx.Patch.Undo(ctx.Ctx, id); return err }), true
	default:
		return nil, false
	}
	return p.moved(ctx), true
}

// moved puts the run under the cursor into scope.
func (p *attemptsPane) moved(ctx *Context) tea.Cmd {
	p.bump()
	if row, ok := p.list.Selected(); ok {
		ctx.Scope.Run = row.run.ID
	}
	return nil
}

// apply writes the patch to the project. One that asks for a person is applied
// by the second press only, which says that the person has looked.
func (p *attemptsPane) apply(ctx *Context) tea.Cmd {
	r := p.detail.run
	reviewed := p.sure == seen(r)
	if len(r.Causes) > 0 && !reviewed && r.Proof != nil && r.Proof.Passes() && r.Outcome != policy.Deny {
		p.sure = seen(r)
		return func() tea.Msg {
			return sayMsg{"you must look at it first: " + r.Causes[0].Says() + "; a again says that you did and applies it", style.Warn}
		}
	}
	p.sure = ""
	return p.change(ctx, "applied to the project; {patch.undo} takes it back", func(id string) error {
		if now, err := ctx.Patch.Run(id); err == nil && reviewed && seen(now) != seen(r) {
			return fmt.Errorf("apply %s: a new proof gave other reasons to look at it; a shows them", id)
		}
		_, err := ctx.Patch.Apply(ctx.Ctx, id, reviewed)
		return err
	})
}

// seen is a run with the reasons to look at it: a person has looked at these only.
func seen(r run.Run) string {
	key := r.ID
	for _, c := range r.Causes {
		key += "\n" + c.Says()
	}
	return key
}

func (p *attemptsPane) change(ctx *Context, done string, do func(id string) error) tea.Cmd {
	id := p.detail.run.ID
	if id == "" {
		return func() tea.Msg { return sayMsg{"no run is selected", style.Dim} }
	}
	p.busy = "the patch of " + runTag(id) + " is being written to the project, or taken back"
	return func() tea.Msg {
		if err := do(id); err != nil {
			return mended{"patch", err}
		}
		return mended{done, nil}
	}
}

// Disabled implements Disabler.
func (p *attemptsPane) Disabled(ctx *Context, id action.ID) string {
	switch id {
	case action.PatchApply, action.PatchUndo, action.PatchRepair:
		switch {
		case ctx.Patch == nil:
			return "there is no project"
		case p.list.Len() == 0:
			return "there is no run; {run.patch} runs one"
		case p.busy != "" && id != action.PatchRepair:
			return p.busy
		}
		row, _ := p.list.Selected()
		r := row.run
		in := r.Applied != nil && !r.Applied.At.IsZero() && r.Applied.Undone.IsZero()
		switch {
		case id == action.PatchApply && in:
			return "it is applied already; " + ctx.Key(action.PatchUndo) + " takes it back"
		case id == action.PatchApply && (r.Proof == nil || !r.Proof.Passes()):
			return "it is not proven; " + ctx.Key(action.PatchRepair) + " gives its agent another try"
		case id == action.PatchUndo && r.Applied == nil:
			return "it is not applied to the project"
		}
	}
	return ""
}

// origin is the run that the loop of the one under the cursor began with.
func (p *attemptsPane) origin() string {
	row, ok := p.list.Selected()
	switch {
	case !ok:
		return ""
	case row.run.RepairOf != "":
		return row.run.RepairOf
	}
	return row.run.ID
}

// Mouse implements Pane.
func (p *attemptsPane) Mouse(ctx *Context, x, y int, m tea.MouseMsg) tea.Cmd {
	switch m := m.(type) {
	case Wheel:
		if y < p.listRows() {
			p.list.Move(m.N)
			return p.moved(ctx)
		}
		if p.body != nil {
			p.body.Scroll(m.N)
			p.layoutKept()
		}
	case tea.MouseClickMsg:
		if y < p.listRows() && p.list.Click(y) {
			return p.moved(ctx)
		}
	}
	return nil
}

// Copy implements Pane: the diff.
func (p *attemptsPane) Copy() string {
	var b strings.Builder
	for _, d := range p.detail.diff {
		if d.Note != "" {
			fmt.Fprintf(&b, "# %s %s: %s\n", d.Entry.ChangeType, d.Entry.Path, d.Note)
		}
		b.WriteString(d.Text)
	}
	return b.String()
}

// Headless implements Pane.
func (p *attemptsPane) Headless() string {
	if p.detail.run.ID == "" {
		return "vise patch ls"
	}
	return "vise patch show " + p.detail.run.ID
}

// JSON implements Pane.
func (p *attemptsPane) JSON() any {
	if p.detail.run.ID == "" {
		return nil
	}
	return AttemptsJSON{p.detail.run, p.detail.loop}
}

// Thumb is the handle of the scroll bar.
func (p *attemptsPane) Thumb() (at, length int) {
	if p.list.Len() <= p.listRows() {
		return 0, 0
	}
	return p.list.Thumb()
}

// nextWord is where a run goes next, with its colour.
func nextWord(r run.Run) (string, style.Role) {
	switch {
	case r.Applied != nil && !r.Applied.At.IsZero() && r.Applied.Undone.IsZero():
		return "applied", style.Good
	case r.Status == run.Running:
		return "running", style.Info
	case r.Proving:
		return "proving", style.Info
	case r.ProofCut:
		return "cut off", style.Warn
	case r.Route == nil:
		return string(r.Status), style.Dim
	case r.Route.Kind == risk.Auto:
		return "ready", style.Good
	case r.Route.Kind == risk.Human:
		return "needs you", style.Warn
	}
	return "retry", style.Bad
}

// runTag is a run's id short enough for a row: its random part.
func runTag(id string) string {
	if i := strings.LastIndexByte(id, '-'); i >= 0 {
		return id[i+1:]
	}
	return guard.Line(id, 12)
}
