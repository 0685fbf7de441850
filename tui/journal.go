package tui

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	tea "charm.land/bubbletea/v2"

	"vise/engine/event"
	"vise/store"
	"vise/tui/action"
	"vise/tui/style"
	"vise/tui/vlist"
)

// journalPage is how many events are read at a time.
const journalPage = 200

// topic is a filter of the journal: the types that belong together.
type topic struct {
	name  string
	types []event.Type // empty = all
}

// topics are the filters in the order in which `f` goes through them.
var topics = []topic{
	{name: "all"},
	{"problems", []event.Type{event.Notice, event.Regression, event.RuleFlagged, event.Skip, event.RuleRetire, event.RepairFailed, event.RepairTimedOut,
		event.BudgetStopped, event.StoreQuarantined}},
	{"repair", []event.Type{event.RepairStarted, event.RepairModelTurn, event.RepairToolCall, event.RepairCandidateAdded, event.RepairNoticeResolved,
		event.RepairCompleted, event.RepairDuplicate, event.RepairAlreadyCovered, event.RepairNoProposal, event.RepairUnactionable,
		event.RepairTimedOut, event.RepairFailed, event.EpisodeForked, event.ForkAccepted, event.ForkRemoved}},
	{"evidence", []event.Type{event.EvalsetCapture, event.CaseProtected, event.CaseRemoved, event.CaseShrunk, event.WinOffered, event.Regression, event.NoiseMeasured, event.Validation, event.ValidationRoundStarted,
		event.ValidationCandidate, event.ValidationReplayCase, event.ValidationPair, event.ValidationVerdict, event.ValidationRoundEnded}},
	{"rules", []event.Type{event.RuleAdd, event.RulePromote, event.RuleRetire, event.RuleRestore, event.RuleFlagged, event.RuleCleared, event.HoldbackEnded, event.RetestQueued, event.RetestDropped}},
	{"patch", patched},
	{"agent", []event.Type{event.ImportFinished, event.AgentStarted, event.TurnReplayed, event.ModelCallsKept, event.AgentExited, event.ProcessesReaped, event.SessionRemoved, event.SessionRestored, event.SessionRenamed, event.SessionPinned}},
}

// journalPane is the tail of the journal: it follows the end while it is there.
type journalPane struct {
	sheet
	list   *vlist.List[event.Event]
	q      query[journalWindow]
	topic  int
	last   uint64 // the newest sequence shown or known to be filtered out
	asking bool
	wanted uint64 // the event that a link leads to
	find   string
	widest int // the longest name of an event that was shown, in cells: columns only ever grow
}

type journalWindow struct {
	topic  int
	kind   journalAsk
	events []event.Event // oldest first
	before bool
	last   uint64
}

type journalAsk int

const (
	journalTail   journalAsk = iota // the newest page
	journalSince                    // what came after the last
	journalOlder                    // the page before
	journalAround                   // the page around the wanted one
)

func newJournal() *journalPane {
	return &journalPane{sheet: newSheet(PaneJournal, "Journal"), q: query[journalWindow]{pane: PaneJournal, name: "events"},
		list: vlist.NewFollowing(func(e event.Event) string { return strconv.FormatUint(e.Seq, 10) })}
}

// SetSize implements Pane.
func (p *journalPane) SetSize(w, h int) {
	if p.resize(w, h) {
		p.list.SetHeight(h)
	}
}

// Apply implements Pane: events that continue what is shown need no reading.
func (p *journalPane) Apply(ctx *Context, c Change) tea.Cmd {
	p.see(ctx, c)
	if c.Names {
		p.bump()
	}
	if c.Reload && p.last == 0 {
		return p.ask(ctx, journalTail)
	}
	if c.Reload {
		return p.ask(ctx, journalSince)
	}
	var fresh []event.Event
	for _, e := range c.Events {
		if e.Ephemeral() || e.Seq <= p.last {
			continue
		}
		if e.Seq != p.last+1 {
			p.add(fresh)
			return p.ask(ctx, journalSince)
		}
		p.last = e.Seq
		if p.shows(e) {
			fresh = append(fresh, e)
		}
	}
	p.add(fresh)
	return nil
}

func (p *journalPane) shows(e event.Event) bool {
	t := topics[p.topic].types
	return len(t) == 0 || slices.Contains(t, e.Type)
}

func (p *journalPane) add(events []event.Event) {
	if _, gap := p.list.More(); gap || len(events) == 0 {
		return // what lies between was let go; End reads it again
	}
	p.list.Append(events, false)
	p.changed()
}

func (p *journalPane) changed() {
	name := ""
	if p.topic > 0 {
		name = topics[p.topic].name + " only, "
	}
	switch n := p.list.Fresh(); {
	case p.list.Len() == 0:
		p.label(strings.TrimSuffix(name, ", "))
	case p.list.AtEnd():
		p.label(name + "following, 0 behind")
	case n > 0 && p.ctx != nil:
		p.label(fmt.Sprintf("%s%s %d new", name, p.st().Glyphs.Down, n))
	default:
		p.label(name + "not following: End")
	}
	p.bump()
}

func (p *journalPane) ask(ctx *Context, kind journalAsk) tea.Cmd {
	topicNo, last, wanted := p.topic, p.last, p.wanted
	types := topics[topicNo].types
	first, held := uint64(0), 0
	if items := p.list.Items(); len(items) > 0 {
		first, held = items[0].Seq, len(items)
	}
	p.asking = true
	return p.q.ask(ctx, func(tx *store.Tx) (w journalWindow, err error) {
		w.topic, w.kind = topicNo, kind
		if w.last, err = tx.LastSeq(); err != nil {
			return w, err
		}
		switch {
		case kind == journalAround:
			after := wanted - min(wanted, journalPage/2)
			w.events, err = tx.Events(after, journalPage, store.EventFilter{})
			w.before = after > 0
			return w, err
		case kind == journalSince && w.last-min(last, w.last) <= 5*journalPage:
			w.events, err = tx.Events(last, 0, store.EventFilter{Types: types})
			return w, err
		case kind == journalOlder && len(types) == 0:
			after := uint64(0)
			if first > journalPage+1 {
				after = first - journalPage - 1
			}
			w.events, err = tx.Events(after, int(first-1-after), store.EventFilter{})
			w.before = after > 0
			return w, err
		}
		// The newest of the types. Older pages of a filter are found through the end:
		// the index of a type is walked backwards only.
		n := journalPage
		if kind == journalOlder {
			n = held + journalPage
		} else {
			w.kind = journalTail
		}
		list, err := tx.LastEvents(n+1, types...)
		if err != nil {
			return w, err
		}
		w.before = len(list) > n
		list = list[:min(n, len(list))]
		slices.Reverse(list)
		w.events = list
		if kind == journalOlder {
			w.events = slices.DeleteFunc(list, func(e event.Event) bool { return e.Seq >= first })
		}
		return w, nil
	})
}

// Take implements Pane.
func (p *journalPane) Take(ctx *Context, msg any) (bool, tea.Cmd) {
	w, fresh, mine, err := p.q.take(msg)
	if !mine || !fresh {
		return mine, nil
	}
	p.asking = false
	if err != nil || w.topic != p.topic {
		return true, failed(err, "read the journal")
	}
	switch w.kind {
	case journalTail:
		p.list.Set(w.events, w.before, false)
		p.last = max(p.last, w.last)
	case journalSince:
		p.last = max(p.last, w.last)
		p.add(slices.DeleteFunc(w.events, func(e event.Event) bool { return e.Seq <= p.newest() }))
	case journalAround:
		p.last = max(p.last, w.last)
		n := len(w.events)
		p.list.Set(w.events, w.before, n > 0 && w.events[n-1].Seq < w.last)
		p.list.SelectKey(strconv.FormatUint(p.wanted, 10))
	case journalOlder:
		p.list.Prepend(w.events, w.before)
	}
	p.changed()
	return true, nil
}

func (p *journalPane) newest() uint64 {
	items := p.list.Items()
	if len(items) == 0 {
		return 0
	}
	return items[len(items)-1].Seq
}

// Rows implements Pane.
func (p *journalPane) Rows() []string { return p.cached(p.draw) }

func (p *journalPane) draw(*style.Style) []string {
	if p.list.Len() == 0 {
		if p.topic > 0 {
			return p.hint("No events of this kind.", "{pane.toggle} goes on to the next kind.")
		}
		return p.hint("The journal is empty.", "Everything that changes is told here: import a recording, or {run.replay} replays a session.")
	}
	visible, first := p.list.Visible()
	rows := make([]string, 0, len(visible))
	for _, e := range visible {
		p.widest = max(p.widest, len(e.Type))
	}
	for i, e := range visible {
		rows = append(rows, p.event(e, first+i == p.list.Index()))
	}
	return rows
}

// event is a row: when, what, and its words. The names of events get what the longest
// one seen needs, and not so much that the words have no room.
func (p *journalPane) event(e event.Event, selected bool) string {
	row := p.st().Row(p.w, p.ground(selected))
	at := e.At.Local().Format("15:04:05")
	if p.w >= 90 {
		at = e.At.Local().Format("15:04:05.000")
	}
	name := max(8, min(p.widest, (p.w-len(at))/2))
	row.Put(style.Dim, at+"  ").Cell(eventRole(e), strings.ReplaceAll(string(e.Type), "_", " "), name).Put(style.Text, "  ")
	words := eventWords(p.ctx, e)
	return marked(row.Link(placeOf(e)), style.Text, words, p.find).Link("").String()
}

// Do implements Pane.
func (p *journalPane) Do(ctx *Context, id action.ID) (tea.Cmd, bool) {
	switch id {
	case action.Up:
		p.list.Move(-1)
	case action.Down:
		p.list.Move(1)
	case action.PageUp:
		p.list.Page(-1)
	case action.PageDown:
		p.list.Page(1)
	case action.Home:
		p.list.Home()
	case action.End:
		if ends(p.list, placeEnd) {
			p.list.Set(nil, false, false) // the end was let go: begin there anew
			return p.ask(ctx, journalTail), true
		}
		p.list.End()
	case action.Toggle:
		p.topic = (p.topic + 1) % len(topics)
		p.list.Set(nil, false, false)
		p.changed()
		return p.ask(ctx, journalTail), true
	case action.Into:
		e, ok := p.list.Selected()
		if ok {
			p.enter(ctx, e)
		}
		return nil, ok
	default:
		return nil, false
	}
	p.changed()
	return p.older(ctx), true
}

// older asks for the page before when the view comes near it.
func (p *journalPane) older(ctx *Context) tea.Cmd {
	if p.asking || p.list.Wants() != vlist.Before {
		return nil
	}
	return p.ask(ctx, journalOlder)
}

// enter brings what an event tells of into scope.
func (p *journalPane) enter(ctx *Context, e event.Event) {
	s := ctx.Scope
	if e.SessionID != "" {
		s.Session, s.Compare, s.Span, s.Turn = e.SessionID, "", "", NoTurn
		if e.TurnIndex != nil {
			s.Turn = *e.TurnIndex
		}
	}
	if e.EpisodeID != "" {
		s.Episode, s.Attempt, s.Step = e.EpisodeID, 0, 0
		if n, ok := number(e.Data["turn"]); ok {
			s.Step = n
			s.Attempt, _ = number(e.Data["attempt"])
			s.Attempt = max(1, s.Attempt)
		}
	}
	if e.RuleID != "" {
		s.Rule = e.RuleID
	}
	if e.RunID != "" && strings.HasPrefix(string(e.Type), "patch_") {
		s.Run = e.RunID
	}
	if e.NoticeID != "" {
		s.Notice = e.NoticeID
	}
	if id, ok := e.Data["verdict_id"].(string); ok {
		s.Verdict = id
	}
}

// Mouse implements Pane.
func (p *journalPane) Mouse(ctx *Context, x, y int, m tea.MouseMsg) tea.Cmd {
	switch m := m.(type) {
	case Wheel:
		p.list.Scroll(m.N)
	case tea.MouseClickMsg:
		p.list.Click(y)
	}
	p.changed()
	return p.older(ctx)
}

// Thumb is the handle of the scroll bar.
func (p *journalPane) Thumb() (at, length int) { return p.list.Thumb() }

// Copy implements Pane: the event as JSON.
func (p *journalPane) Copy() string {
	e, ok := p.list.Selected()
	if !ok {
		return ""
	}
	raw, err := json.Marshal(e)
	if err != nil {
		return ""
	}
	return string(raw)
}

// Headless implements Pane.
func (p *journalPane) Headless() string {
	if seq := p.list.Key(); seq != "" {
		return "vise journal --event " + seq
	}
	cmd := "vise journal"
	for _, t := range topics[p.topic].types {
		cmd += " --type " + string(t)
	}
	return cmd
}

// JSON implements Pane: the events of the window.
func (p *journalPane) JSON() any { return p.list.Items() }
