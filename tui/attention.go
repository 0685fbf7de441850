package tui

import (
	"errors"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"vise/engine/event"
	"vise/store"
	"vise/tui/action"
	"vise/tui/style"
)

// attentionEach bounds the entries of one kind; the rest is counted.
const attentionEach = 20

// AttentionItem is one thing that waits for a person.
type AttentionItem struct {
	// Kind: incident, held, paused, needs_human, breaker, quarantine, budget, dead_letter, failed, flagged, win_offered, wins_offered, patch, candidates.
	Kind string `json:"kind"`
	Text string `json:"text"`
	// Do says what a person can do about it.
	Do        string    `json:"do"`
	At        time.Time `json:"at,omitzero"`
	SessionID string    `json:"session_id,omitempty"`
	TurnIndex int       `json:"turn_index,omitempty"`
	NoticeID  string    `json:"notice_id,omitempty"`
	// NoticeIDs are the notices that still wait, where there may be several.
	NoticeIDs []string `json:"notice_ids,omitempty"`
	EpisodeID string   `json:"episode_id,omitempty"`
	RuleID    string   `json:"rule_id,omitempty"`
	RunID     string   `json:"run_id,omitempty"`
}

// attentionPane lists what waits for a person, each with what to do.
type attentionPane struct {
	sheet
	q      query[[]AttentionItem]
	stored []AttentionItem // what the store knows
	items  []AttentionItem // incidents first
	cursor int
	top    int // first row shown
	find   string
	wins   int // how many offers of wins are named
}

func newAttention() *attentionPane {
	return &attentionPane{sheet: newSheet(PaneAttention, "Attention"), q: query[[]AttentionItem]{pane: PaneAttention, name: "items"}, wins: Offered}
}

// SetSize implements Pane.
func (p *attentionPane) SetSize(w, h int) { p.resize(w, h) }

// attentive are the events after which something may wait, or no longer does.
var attentive = []event.Type{event.Notice, event.NoticeResumed, event.NoticeAcknowledged, event.NoticeReopened, event.RepairNoticeResolved, event.RepairFailed, event.RepairTimedOut,
	event.RepairCompleted, event.RepairStarted, event.RepairDuplicate, event.RepairAlreadyCovered, event.RepairNoProposal, event.RepairUnactionable,
	event.RuleAdd, event.RulePromote, event.RuleRetire, event.RuleRestore, event.RuleFlagged, event.RuleCleared, event.ValidationVerdict,
	event.StoreQuarantined, event.BudgetStopped, event.Recovery, event.ValidationRoundEnded,
	event.WinOffered, event.CaseProtected, event.SessionRemoved, event.SessionRenamed, event.SessionRestored,
	event.PatchRouted, event.PatchFinished, event.PatchApplied, event.PatchUndone, event.PatchRemoved}

// Apply implements Pane.
func (p *attentionPane) Apply(ctx *Context, c Change) tea.Cmd {
	p.see(ctx, c)
	if c.Incidents || c.Held {
		p.merge()
	}
	if c.Reload || c.Has(attentive...) || c.Incidents || c.Running {
		return p.ask(ctx)
	}
	return nil
}

func (p *attentionPane) ask(ctx *Context) tea.Cmd {
	now, wins := Context{Held: ctx.Held, Running: ctx.Running}, p.wins
	return p.q.ask(ctx, func(tx *store.Tx) ([]AttentionItem, error) { return Waiting(tx, wins, now.Repairs) })
}

// Take implements Pane.
func (p *attentionPane) Take(ctx *Context, msg any) (bool, tea.Cmd) {
	if m, ok := msg.(attended); ok {
		if m.err != nil {
			return true, failed(m.err, m.what)
		}
		return true, func() tea.Msg { return sayMsg{m.what, style.Good} }
	}
	list, fresh, mine, err := p.q.take(msg)
	if !mine || !fresh || err != nil {
		return mine, failed(err, "read what waits")
	}
	p.stored = list
	p.merge()
	return true, nil
}

// merge puts the incidents of this run, newest first, before what is stored.
func (p *attentionPane) merge() {
	p.items = p.items[:0]
	if p.ctx != nil {
		for i := len(p.ctx.Incidents) - 1; i >= 0 && len(p.items) < attentionEach; i-- {
			x := p.ctx.Incidents[i]
			text := x.Err.Error() // of a theme the place comes first
			if x.What != themesIncident {
				text = causeFirst(text, x.What)
			}
			p.items = append(p.items, AttentionItem{Kind: "incident", At: x.At, Text: text, Do: incidentAdvice(x)})
		}
	}
	if p.ctx != nil && p.ctx.Held != nil {
		h := p.ctx.Held
		p.items = append(p.items, AttentionItem{Kind: "held", SessionID: h.SessionID, EpisodeID: h.EpisodeID,
			Text: "repair " + tag(h.EpisodeID) + " is held " + strings.ReplaceAll(string(h.Point), "_", " ") + ", model turn " + itoa(h.Turn),
			Do:   "{run.step} steps, {run.continue} lets it go on, {run.cancel} cancels it"})
	}
	p.items = append(p.items, p.stored...)
	for i := range p.items {
		if p.ctx != nil {
			p.items[i].Do = p.ctx.Text(p.items[i].Do)
		}
	}
	p.cursor = max(0, min(p.cursor, len(p.items)-1))
	badge := ""
	if n := len(p.items); n > 0 {
		badge = itoa(n)
	}
	p.label(badge)
	p.bump()
}

// incidentAdvice says what to do about an error of something the workbench started.
func incidentAdvice(x Incident) string {
	var full *store.FullError
	switch {
	case x.What == themesIncident:
		return "mend the file: it is read again when it is saved"
	case errors.As(x.Err, &full):
		return "the store is read-only until there is room: free some disk space, then try again"
	case strings.Contains(x.What, string(Replaying)):
		return "check agent.command with vise doctor; {run.replay} tries again"
	case strings.Contains(x.What, string(Validating)):
		return "{run.validate} goes on where it stopped"
	case strings.Contains(x.What, string(Repairing)):
		return "{run.step} starts the repair again"
	}
	return "vise doctor checks the project"
}

// Rows implements Pane.
func (p *attentionPane) Rows() []string { return p.cached(p.draw) }

func (p *attentionPane) draw(*style.Style) []string {
	if len(p.items) == 0 {
		return p.hint("Nothing waits for you.", "Errors, paused repairs and candidates are shown here.")
	}
	var rows []string
	first, last := 0, 0
	for i, item := range p.fitted() {
		if i == p.cursor {
			first, last = len(rows), len(rows)+len(item)
		}
		rows = append(rows, item...)
	}
	if last > p.top+p.h {
		p.top = last - p.h
	}
	p.top = max(0, min(p.top, first, len(rows)-1))
	return rows[p.top:]
}

// offers reports whether an act has something to act on.
func (p *attentionPane) offers(id action.ID) bool {
	if id == action.Acknowledge {
		return len(p.notices()) > 0
	}
	return slices.ContainsFunc(p.items, func(x AttentionItem) bool { return x.Kind == "paused" || x.Kind == "breaker" })
}

// mark is the sign of a kind and its colour.
func (p *attentionPane) mark(kind string) (string, style.Role) {
	g := p.st().Glyphs
	switch kind {
	case "incident", "dead_letter", "quarantine", "failed", "flagged":
		return g.Fail, style.Bad
	case "candidates", "win_offered", "wins_offered":
		return g.Trial, style.Info
	case "held":
		return g.Held, style.Warn
	}
	return g.Alert, style.Warn
}

// attended is the end of something a person did here.
type attended struct {
	what string
	err  error
}

// For is the pane.
func (attended) For() PaneID { return PaneAttention }

// Do implements Pane.
func (p *attentionPane) Do(ctx *Context, id action.ID) (tea.Cmd, bool) {
	move := map[action.ID]int{action.Up: -1, action.Down: 1, action.PageUp: -5, action.PageDown: 5, action.Home: -len(p.items), action.End: len(p.items)}
	if n, ok := move[id]; ok {
		p.cursor = max(0, min(p.cursor+n, len(p.items)-1))
		p.bump()
		return nil, true
	}
	switch id {
	case action.Resume:
		h, end := ctx.Harness, ctx.Ctx
		if h == nil {
			return nil, false
		}
		return func() tea.Msg {
			n, err := h.Resume(end)
			if err != nil {
				return attended{"resume repair", err}
			}
			return attended{"repair goes on; " + count(n, "notice") + " acknowledged", nil}
		}, true
	case action.Acknowledge:
		if p.cursor < len(p.items) && p.items[p.cursor].Kind == "incident" {
			at := len(ctx.Incidents) - 1 - p.cursor // they stand first here, the newest on top
			x := ctx.dismiss(at)
			p.merge()
			return func() tea.Msg {
				return acted{said: "the error is dismissed; {edit.undo} brings it back", act: act{Kind: actDismiss, Target: x.key(), After: on(true)}}
			}, true
		}
		acked := p.notices()
		if len(acked) == 0 || ctx.Harness == nil {
			return func() tea.Msg { return sayMsg{"no notice waits in this row", style.Dim} }, true
		}
		h, end := ctx.Harness, ctx.Ctx
		return func() tea.Msg {
			for i, id := range acked {
				if err := h.AckNotice(end, id, acknowledgedHere); err != nil {
					return acted{err: err, act: acknowledgement(acked[:i])}
				}
			}
			x := acknowledgement(acked)
			return acted{said: x.words(ctx, x.After) + "; {edit.undo} takes it back", act: x}
		}, true
	case action.Protect:
		if p.cursor >= len(p.items) || p.items[p.cursor].Kind != "win_offered" || ctx.Harness == nil {
			return func() tea.Msg { return sayMsg{"no offer is selected", style.Dim} }, true
		}
		return protect(ctx, p.items[p.cursor].SessionID, p.items[p.cursor].TurnIndex), true
	case action.Into:
		if p.cursor >= len(p.items) {
			return nil, true
		}
		x, s := p.items[p.cursor], ctx.Scope
		if p.counts() {
			p.wins += attentionEach
			return p.ask(ctx), true
		}
		if x.SessionID != "" && x.Kind != "held" {
			s.Session, s.Turn, s.Span, s.Compare = x.SessionID, x.TurnIndex, "", ""
		}
		if x.EpisodeID != "" {
			s.Episode, s.Attempt, s.Step = x.EpisodeID, 0, 0
		}
		if x.NoticeID != "" {
			s.Notice = x.NoticeID
		}
		if x.RuleID != "" {
			s.Rule = x.RuleID
		}
		if x.RunID != "" {
			s.Run = x.RunID
			return func() tea.Msg { return doMsg{id: action.Focus0} }, true
		}
		return nil, true
	}
	return nil, false
}

// counts reports whether the row under the cursor stands for others that it can name.
func (p *attentionPane) counts() bool {
	return p.cursor < len(p.items) && p.items[p.cursor].Kind == "wins_offered"
}

// episode is the repair under the cursor, "" when it is none.
func (p *attentionPane) episode() string {
	if p.cursor >= len(p.items) {
		return ""
	}
	return p.items[p.cursor].EpisodeID
}

// notices are those that wait in the row under the cursor.
func (p *attentionPane) notices() []string {
	if p.cursor >= len(p.items) {
		return nil
	}
	x := p.items[p.cursor]
	if len(x.NoticeIDs) > 0 {
		return x.NoticeIDs
	}
	if x.NoticeID != "" && x.Kind == "needs_human" {
		return []string{x.NoticeID}
	}
	return nil
}

// Mouse implements Pane.
func (p *attentionPane) Mouse(ctx *Context, x, y int, m tea.MouseMsg) tea.Cmd {
	switch m := m.(type) {
	case Wheel:
		n := 1
		if m.N < 0 {
			n = -1
		}
		p.cursor = max(0, min(p.cursor+n, len(p.items)-1))
		p.bump()
	case tea.MouseClickMsg:
		row := -p.top
		for i, item := range p.fitted() {
			if row += len(item); y < row {
				p.cursor = i
				p.bump()
				break
			}
		}
	}
	return nil
}

// Copy implements Pane.
func (p *attentionPane) Copy() string {
	if p.cursor >= len(p.items) {
		return ""
	}
	return p.items[p.cursor].Text + "\n" + p.items[p.cursor].Do
}

// Headless implements Pane: what prints the row under the cursor.
func (p *attentionPane) Headless() string {
	if p.cursor >= len(p.items) {
		return "vise attention"
	}
	return p.items[p.cursor].command()
}

// JSON implements Pane.
func (p *attentionPane) JSON() any { return p.items }
