package tui

import (
	"cmp"
	"slices"
	"time"

	tea "charm.land/bubbletea/v2"

	"vise/engine/episode"
	"vise/engine/event"
	"vise/engine/guard"
	"vise/engine/notice"
	"vise/engine/trace"
	"vise/store"
	"vise/tui/action"
	"vise/tui/md"
	"vise/tui/vtext"
)

// repairPane shows one episode of repair: every step the agent took, the one that
// is streaming, and the checkpoint at which it is held.
type repairPane struct {
	sheet
	q       query[repairData]
	want    string // the episode asked for; "" = the newest of the session in scope
	data    repairData
	live    liveStep
	held    *Held
	attempt int // the selected step; 0 = following
	step    int
	open    bool // the prompt of the selected step is unfolded
	body    *vtext.Text
	at      map[[2]int]int // first line of a step in the body
	here    bool           // the episode is being repaired by this process, as of the last read
	ticking bool
	began   time.Time // when the newest run did, and of which episode it is
	beganOf string
	heldFor time.Duration // of the run under way; the clock of a run stands still meanwhile
	heldAt  time.Time
	since   since
	find    string
	md      *md.Renderer
	says    *md.Doc // what streams
	thinks  *md.Doc
	due     []dueText
	waits   bool   // a render comes later
	reading [2]int // the step that stays open since somebody reads it
	// revealed is the selected step, and how it was laid out, that was brought onto the screen.
	revealed [4]int
	// lead: a person, or the run that is followed, went to this repair; walked: with back
	// or forward. What stands beside it is then about its session too.
	lead, walked bool
	from         moment // between the two, something has changed since the last stop
	to           moment
}

type repairData struct {
	found   bool
	episode episode.Episode
	steps   []episode.Step
	notice  notice.Notice // the first of the episode
	session trace.Session
	settled bool   // a notice of it waits no longer: it cannot be started again
	older   string // neighbours in time
	newer   string
	wanted  string
}

func newRepair() *repairPane {
	r := md.New(guard.Visible)
	return &repairPane{sheet: newSheet(PaneRepair, "Repair"), q: query[repairData]{pane: PaneRepair, name: "episode"}, at: map[[2]int]int{},
		md: r, says: md.NewDoc(r), thinks: md.NewDoc(r)}
}

// bounds are the limits of a repair; zero when there is no engine to ask.
func (p *repairPane) bounds() (turns int, timeout time.Duration) {
	if f := p.data.episode.Fork; f != nil {
		return f.MaxTurns, f.Timeout
	}
	if p.ctx.Harness == nil {
		return 0, 0
	}
	b := p.ctx.Harness.RepairBounds()
	return b.MaxTurns, b.Timeout
}

// model is the repair agent's model as configured.
func (p *repairPane) model() string {
	if f := p.data.episode.Fork; f != nil {
		return f.Model
	}
	if p.ctx.Harness == nil {
		return ""
	}
	return p.ctx.Harness.RepairBounds().Model
}

func (p *repairPane) now() time.Time { return p.ctx.Now() }

// SetSize implements Pane.
func (p *repairPane) SetSize(w, h int) {
	if p.resize(w, h) {
		p.layout()
	}
}

// Apply implements Pane.
func (p *repairPane) Apply(ctx *Context, c Change) tea.Cmd {
	dirty := false
	if p.see(ctx, c) {
		p.body = vtext.New(ctx.Style.Width)
		useStyle(p.md, ctx.Style)
		p.says, p.thinks = md.NewDoc(p.md), md.NewDoc(p.md)
		dirty = true
	}
	dirty = dirty || c.Names
	again := c.Reload
	if c.Running {
		again = true // it begins, or whatever ran has ended
	}
	if c.Scope {
		again = p.follow(ctx, c.Old) || again
		dirty = true
	}
	if c.Held || p.held != ctx.Held {
		p.hold(ctx.Held)
		dirty = true
		again = again || p.held != nil && p.held.EpisodeID == p.data.episode.ID
	}
	dirty = dirty || c.Breaks
	for _, e := range c.Events {
		if e.NoticeID != "" && slices.Contains(p.data.episode.NoticeIDs, e.NoticeID) {
			again = true // it may be settled now, or wait again
		}
		if e.Type == event.RepairStarted {
			p.began, p.beganOf = e.At, e.EpisodeID
		}
		if e.EpisodeID == "" || e.EpisodeID != cmp.Or(p.data.episode.ID, p.want) {
			if e.Type == event.RepairStarted && p.want == "" && (e.SessionID == ctx.Scope.Session || !p.data.found) {
				p.want, again = e.EpisodeID, true
			}
			continue
		}
		switch e.Type {
		case event.RepairDelta:
			p.live.add(e)
			dirty = true
		case event.StepWaiting:
		case event.RepairStarted:
			p.live, p.heldFor = liveStep{}, 0
			again = true
		default:
			again = true
		}
	}
	if dirty {
		p.layout()
	}
	cmds := []tea.Cmd{p.tick(), p.render()}
	if again {
		cmds = append(cmds, p.ask(ctx))
	}
	return tea.Batch(cmds...)
}

// follow takes over the scope; true when another episode must be read.
func (p *repairPane) follow(ctx *Context, old Scope) bool {
	s := ctx.Scope
	p.attempt, p.step = s.Attempt, s.Step
	switch {
	case s.Episode != "" && s.Episode != p.want:
		p.want, p.lead = s.Episode, true
		return true
	case s.Session != old.Session && s.Episode == old.Episode && s.Session != p.data.episode.SessionID:
		// Another session was chosen: its own latest repair, if it had one.
		p.want, s.Episode, s.Step, s.Attempt = "", "", 0, 0
		p.attempt, p.step = 0, 0
		return true
	case s.Episode == "" && old.Episode == "" && !p.data.found:
		return s.Session != old.Session
	}
	return false
}

func (p *repairPane) hold(h *Held) {
	now := p.now()
	if p.held != nil && !p.heldAt.IsZero() {
		p.heldFor += now.Sub(p.heldAt)
	}
	p.held, p.heldAt = h, time.Time{}
	if h != nil {
		p.heldAt = now
	}
}

func (p *repairPane) ask(ctx *Context) tea.Cmd {
	want, session := p.want, ctx.Scope.Session
	return p.q.ask(ctx, func(tx *store.Tx) (d repairData, err error) {
		d.wanted = want
		id := want
		if id == "" {
			of, err := tx.EpisodesOfSession(session)
			if err != nil || len(of) == 0 {
				return d, err
			}
			id = of[len(of)-1].ID
		}
		if d.episode, d.found, err = tx.Episode(id); err != nil || !d.found {
			return d, err
		}
		if d.steps, err = tx.Steps(id); err != nil {
			return d, err
		}
		if len(d.episode.NoticeIDs) > 0 {
			if d.notice, _, err = tx.Notice(d.episode.NoticeIDs[0]); err != nil {
				return d, err
			}
		}
		open, err := pendingOf(tx, d.episode.NoticeIDs)
		if err != nil {
			return d, err
		}
		d.settled = len(open) < len(d.episode.NoticeIDs)
		if d.session, _, err = tx.Session(d.episode.SessionID); err != nil {
			return d, err
		}
		for _, w := range []struct {
			to     *string
			oldest bool
		}{{&d.older, false}, {&d.newer, true}} {
			list, err := tx.Episodes(store.Window{After: id, Limit: 1, Oldest: w.oldest})
			if err != nil {
				return d, err
			}
			if len(list) > 0 {
				*w.to = list[0].ID
			}
		}
		return d, nil
	})
}

// Take implements Pane.
func (p *repairPane) Take(ctx *Context, msg any) (bool, tea.Cmd) {
	if mine, cmd := p.takeRendered(msg); mine {
		return true, cmd
	}
	if f, ok := msg.(foundEpisode); ok {
		ctx.Scope.Episode, ctx.Scope.Attempt, ctx.Scope.Step = f.id, 0, 0
		return true, nil
	}
	d, fresh, mine, err := p.q.take(msg)
	if !mine || !fresh || err != nil {
		return mine, failed(err, "read the repair")
	}
	if d.wanted != p.want {
		return true, nil
	}
	if d.found && d.episode.ID != p.data.episode.ID {
		p.live, p.reading = liveStep{}, [2]int{}
		p.open = false
		p.body.End()
	}
	if d.found {
		p.bring(ctx, d)
		p.want = d.episode.ID
		ctx.Scope.Episode = d.episode.ID
		if p.step < 0 { // came here backwards: its last step
			p.step, p.attempt = 0, 0
			if n := len(d.steps); n > 0 {
				p.attempt, p.step = d.steps[n-1].Attempt, d.steps[n-1].Turn
			}
			ctx.Scope.Attempt, ctx.Scope.Step = p.attempt, p.step
		}
	}
	p.data = d
	p.here = d.found && ctx.Repairs(d.episode)
	for _, s := range d.steps {
		if s.Attempt == p.live.attempt && s.Turn >= p.live.turn {
			p.keepPlace(p.live.attempt, p.live.turn)
			p.live = liveStep{} // what streamed is stored now
		}
	}
	p.layout()
	return true, tea.Batch(p.tick(), p.render())
}

// bring lets the scope follow to the session and the turn of a repair that somebody went to.
func (p *repairPane) bring(ctx *Context, d repairData) {
	s := ctx.Scope
	if at := d.episode; d.session.ID != "" && (p.walked || p.lead && s.Session != at.SessionID) && (s.Session != at.SessionID || s.Turn != at.TurnIndex) {
		s.Session, s.Turn, s.Span, s.Compare = at.SessionID, at.TurnIndex, "", ""
	}
	p.lead, p.walked = false, false
}

// running reports that the clock of the episode goes.
func (p *repairPane) running() bool {
	return p.data.found && p.here && p.held == nil
}

// tick keeps the elapsed time going, only while there is something to count.
func (p *repairPane) tick() tea.Cmd {
	if p.ticking || !p.running() {
		return nil
	}
	p.ticking = true
	return later(PaneRepair, "clock", time.Second)
}

// Do implements Pane: back and forward go through the steps of this and other episodes.
func (p *repairPane) Do(ctx *Context, id action.ID) (tea.Cmd, bool) {
	switch id {
	case action.Back:
		return p.travel(ctx, -1), true
	case action.Forward:
		return p.travel(ctx, 1), true
	case action.Up, action.Down:
		p.scroll(map[action.ID]int{action.Up: -1, action.Down: 1}[id])
	case action.PageUp, action.PageDown:
		p.body.Page(map[action.ID]int{action.PageUp: -1, action.PageDown: 1}[id])
		p.bump()
	case action.Home:
		p.body.Home()
		p.bump()
	case action.End:
		p.body.End()
		ctx.Scope.Attempt, ctx.Scope.Step = 0, 0
		p.bump()
	case action.Into:
		if p.open && p.data.found {
			p.into(ctx.Scope)
			return nil, true
		}
		p.open = true
		p.pick(ctx)
		p.layout()
	case action.Toggle:
		if p.open = !p.open; p.open {
			p.pick(ctx)
		}
		p.layout()
	case action.Out:
		if !p.open {
			return nil, false
		}
		p.open = false
		p.layout()
	default:
		return nil, false
	}
	return nil, true
}

func (p *repairPane) scroll(n int) {
	p.body.Scroll(n)
	p.bump()
}

// Mouse implements Pane.
func (p *repairPane) Mouse(ctx *Context, x, y int, m tea.MouseMsg) tea.Cmd {
	switch m := m.(type) {
	case Wheel:
		p.scroll(m.N)
	case tea.MouseClickMsg:
		line := p.body.Top() + y - repairHead
		best := [2]int{}
		for k, l := range p.at {
			if l <= line && (best[1] == 0 || l > p.at[best]) {
				best = k
			}
		}
		if best[1] > 0 && y >= repairHead {
			ctx.Scope.Attempt, ctx.Scope.Step = best[0], best[1]
		}
	}
	return nil
}
