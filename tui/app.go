package tui

import (
	"context"
	"log/slog"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/ansi"

	"vise/engine/guard"
	"vise/tui/action"
	"vise/tui/layout"
	"vise/tui/style"
)

// App is the only tea.Model of the program. Its fields belong to the update
// goroutine.
type App struct {
	cfg       Config
	ctx       *Context
	reg       *action.Registry
	conductor *Conductor

	panes map[PaneID]Pane
	boxes map[PaneID]*box
	last  Scope // the scope that panes were told of

	views []viewDef
	view  viewID
	focus PaneID
	// focused are the panes that have the focus in the other views.
	focused map[viewID]PaneID
	zoom    bool
	w, h    int
	// placed panes of the frame and the area they tile
	placed []layout.Placed
	area   layout.Rect

	overlays  []overlay
	search    *searchBar
	filtering *filterBar
	marked    marking
	held      *grip // what a pressed button holds

	shape      map[viewID]layout.Weights // sizes that a person gave
	half       bool                      // the focus has most of the room
	acts       acts
	ahead      ahead
	aim        aim               // a line that a link named
	steps      []footstep        // places from which something was gone into, newest last
	saved      map[string]string // filters by name
	recent     []string          // commands of the palette, newest first
	unsaved    bool              // the place has changed
	saving     bool
	placeKept  whereabouts
	placeSaved Place

	look      look
	progress  progress
	follow    bool // the scope follows what is running until the person moves
	pressed   time.Time
	deafWhy   string    // why a prompt did not open
	deafUntil time.Time // what is typed until then is meant for a prompt that did not open
	toast     toast
	tabs      []tab // clickable names of the last frame
	chrome    uint64
	frame     string
	frameKey  frameKey
	cursorAt  *tea.Cursor
	clickOnly bool // the terminal was just focused: the next click only focuses
	ticking   bool
	still     bool // nothing moves by itself
	away      bool // the terminal is not in front
	notifier  notifier
	tabs94    bool // the terminal shows progress in its tab
	ran       bool // something has been run
	status    *tea.ProgramStatus
	noStatus  bool // the terminal's console would print it, or it is switched off
	lastAct   action.ID
	start     int      // the choice under the cursor where there is no project
	question  question // what the next press of the same key does
	leaving   bool     // q was pressed while something runs; the next one quits
	title     string   // of the terminal's window
}

// toast is a line over the footer for a few seconds.
type toast struct {
	text string
	role style.Role
	id   int
	kept bool // a linear workbench has told it
}

// messages of the app itself
type (
	toastEndMsg struct{ id int }
	tickMsg     struct{}
	paintMsg    struct{}
	doMsg       struct {
		id  action.ID
		arg string
	}
	sayMsg struct {
		text string
		role style.Role
	}
)

// newApp makes the model; send delivers messages from goroutines to the program.
func newApp(ctx context.Context, cfg Config, keys *action.Registry, conductor *Conductor) *App {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	a := &App{
		cfg: cfg, reg: keys, conductor: conductor,
		panes: map[PaneID]Pane{}, boxes: map[PaneID]*box{}, views: views(), view: debugView, focus: PaneSessions,
		w: 80, h: 24, title: "vise " + guard.Line(cfg.Project, 60),
	}
	a.focused, a.shape, a.saved = map[viewID]PaneID{}, map[viewID]layout.Weights{}, map[string]string{}
	for _, v := range a.views {
		a.focused[v.id] = v.first
	}
	a.still, a.tabs94 = cfg.still(), cfg.knowsProgress()
	a.noStatus = cfg.NoStatus || cfg.env("TERM") == "linux"
	a.look.themes, a.look.chosen = cfg.themes, cfg.Theme
	a.look.hinted, a.look.light = cfg.env("COLORFGBG") != "", lightBackground(cfg.env("COLORFGBG"))
	a.look.options.NoColor, a.look.options.ASCII, a.look.options.Links = cfg.noColor(), cfg.ascii(), cfg.Hyperlinks()
	if cfg.linear() {
		a.look.options = style.Options{NoColor: true, ASCII: true, Words: true}
		a.still, a.tabs94, a.noStatus = true, false, true
	}
	a.ctx = &Context{Ctx: ctx, Store: cfg.Store, Harness: cfg.Harness, Patch: cfg.Patch, Now: cfg.Now, NoAgent: cfg.Replay == nil, Keys: keys, During: conductor.During,
		Scope: &Scope{Session: cfg.Session, Turn: NoTurn}}
	a.last = *a.ctx.Scope
	a.restyle()
	for _, p := range newPanes() {
		a.panes[p.ID()], a.boxes[p.ID()] = p, &box{}
	}
	a.setFocus(PaneSessions)
	return a
}

// newPanes makes every pane.
func newPanes() []Pane {
	return []Pane{newSessions(), newTurns(), newTrace(), newScores(), newRepair(), newRules(), newValidation(), newAttention(), newJournal(), newAttempts()}
}

// Init asks the terminal what it is and the panes to read.
func (a *App) Init() tea.Cmd {
	if a.cfg.linear() {
		if !a.ready() {
			return nil
		}
		return tea.Batch(a.apply(Change{Reload: true, Scope: true, Old: *a.ctx.Scope, Style: true}), a.begin())
	}
	cmds := []tea.Cmd{tea.RequestBackgroundColor, tea.Raw(ansi.SetModeLightDark)}
	if a.look.follows() && !a.look.options.NoColor {
		a.look.waits = true
		cmds = append(cmds, tea.Tick(paintAfter, func(time.Time) tea.Msg { return paintMsg{} }))
	}
	if a.cfg.syncOverSSH() {
		// Over SSH the library does not ask for synchronised output; the answer is what turns it on.
		cmds = append(cmds, func() tea.Msg {
			return tea.ModeReportMsg{Mode: ansi.ModeSynchronizedOutput, Value: ansi.ModeReset}
		})
	}
	if a.ready() {
		cmds = append(cmds, a.apply(Change{Reload: true, Scope: true, Old: *a.ctx.Scope, Style: true}), a.begin())
	}
	return tea.Batch(cmds...)
}

// begin goes to where the workbench is to begin: a link, the place where it was left,
// or the newest session. After an end out of order it asks.
func (a *App) begin() tea.Cmd {
	p, known := a.cfg.place, a.cfg.placed
	if known {
		a.settlePlace(p)
	}
	a.placeSaved = p
	switch {
	case a.cfg.Link != nil:
		return a.openLink(a.cfg.Link.String())
	case a.cfg.Session != "" || a.cfg.Fresh || !known || p.View == "":
		return nil
	case !p.Ended:
		return a.open(&resumeCard{p})
	}
	return a.goBack(p)
}

// ready reports whether there is a project to show.
func (a *App) ready() bool { return a.cfg.Store != nil }

// Update handles one message. The order is fixed: what the terminal says about
// itself, overlays, text inputs, keys, actions; replies and events at any time.
func (a *App) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	cmd := a.update(msg)
	settled := a.settleScope()
	a.settleAim()
	return a, tea.Batch(cmd, settled, a.keepPlace())
}

func (a *App) update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		a.w, a.h = msg.Width, msg.Height
		a.unmark()
		a.touch()
		a.arrange()
		return nil
	case tea.ModeReportMsg:
		if msg.Mode == ansi.ModeUnicodeCore && !msg.Value.IsNotRecognized() && !a.look.options.Graphemes {
			a.look.options.Graphemes = true
			return a.restyled()
		}
		return nil
	case tea.ColorProfileMsg:
		if few := msg.Profile == colorprofile.ANSI; few != a.look.sixteen {
			a.look.sixteen = few
			return a.restyled()
		}
		return nil
	case paintMsg:
		a.paint()
		return nil
	case tea.BackgroundColorMsg:
		a.paint()
		if !a.look.known || a.look.termDark != msg.IsDark() {
			a.look.known, a.look.termDark = true, msg.IsDark()
			return a.restyled()
		}
		return nil
	case uv.DarkColorSchemeEvent, uv.LightColorSchemeEvent:
		return tea.RequestBackgroundColor
	case tea.FocusMsg:
		a.clickOnly, a.away = true, false
		a.notifier.drop()
		return tea.RequestBackgroundColor
	case tea.BlurMsg:
		a.away = true
		return nil
	case flushMsg:
		return a.ring(a.notifier.flush(a.ctx.Now()))
	case tea.ResumeMsg:
		a.touch()
		return tea.Batch(tea.Raw(ansi.SetModeLightDark), tea.RequestBackgroundColor)
	case feedMsg:
		return a.fed(msg)
	case activityMsg:
		return a.activity(msg)
	case themesMsg:
		return a.reread(msg)
	case tickMsg:
		a.ticking = false
		a.touch()
		return a.tick()
	case toastEndMsg:
		if msg.id == a.toast.id {
			a.toast.text = ""
			a.touch()
		}
		return nil
	case sayMsg:
		return a.say(msg.role, msg.text)
	case notCopied:
		return tea.Batch(a.osc52(msg.text), a.say(msg.said.role, msg.said.text))
	case landedMsg:
		return a.landed(msg)
	case doMsg:
		return a.do(msg.id, msg.arg)
	case goLinkMsg:
		return a.goLink(msg)
	case originMsg:
		return a.goOrigin(msg.to)
	case auditMsg:
		return a.audited(msg)
	case whyMsg:
		return a.openLate(newWhyCard(msg))
	case besideMsg:
		return a.openLate(newBesideCard(msg))
	case acted:
		return a.acted(msg)
	case forkEnded:
		return a.forked(msg)
	case forkGone:
		return a.forkRemoved(msg)
	case undone:
		return a.settled(msg)
	case aheadMsg:
		return a.foreseen(msg)
	case pickMsg:
		return a.picked(msg)
	case namesMsg:
		return a.named(msg)
	case logMsg:
		return a.logged(msg)
	case logLook:
		return a.lookAtLog(msg.card)
	case saveMsg:
		return a.save()
	case savedMsg:
		a.saving = false
		return nil
	case filterMsg:
		return a.filterRested(msg)
	case paneReply:
		if m, ok := msg.(moved); ok && m.err == nil && m.undo.Kind != "" {
			a.did(m.undo)
		}
		if p := a.panes[msg.For()]; p != nil {
			_, cmd := p.Take(a.ctx, msg)
			a.touch()
			return cmd
		}
		return nil
	case tea.KeyPressMsg:
		a.pressed = a.ctx.Now()
		a.touch()
		return a.key(msg)
	case tea.PasteMsg:
		a.touch()
		return a.paste(msg)
	case tea.MouseMsg:
		return a.mouse(msg)
	case wheelMsg:
		return a.wheel(msg)
	}
	for _, id := range paneOrder {
		if taken, cmd := a.panes[id].Take(a.ctx, msg); taken {
			a.touch()
			return cmd
		}
	}
	return nil
}

// touch makes the next View draw the header and the footer anew.
func (a *App) touch() { a.chrome++ }

// apply tells all panes.
func (a *App) apply(c Change) tea.Cmd {
	a.touch()
	cmds := make([]tea.Cmd, 0, len(a.panes))
	for _, id := range paneOrder {
		cmds = append(cmds, a.panes[id].Apply(a.ctx, c))
	}
	if renaming(c) {
		cmds = append(cmds, a.readNames())
	}
	return tea.Batch(cmds...)
}

// scopeRounds bounds how often panes may answer a change of scope with another one.
const scopeRounds = 4

// settleScope tells the panes when the scope has moved.
func (a *App) settleScope() tea.Cmd {
	var cmds []tea.Cmd
	for range scopeRounds {
		if *a.ctx.Scope == a.last {
			break
		}
		old := a.last
		a.last = *a.ctx.Scope
		cmds = append(cmds, a.apply(Change{Scope: true, Old: old}))
	}
	return tea.Batch(cmds...)
}

// quiet is how long no key must have been pressed before something that happened
// may change the view: what a person types must not land elsewhere.
const quiet = 400 * time.Millisecond

// maxIncidents bounds what is remembered of errors.
const maxIncidents = 100

// say shows a line over the footer for some seconds.
func (a *App) say(role style.Role, text string) tea.Cmd {
	a.toast.id++
	a.toast.text, a.toast.role = a.ctx.Text(text), role
	a.touch()
	id := a.toast.id
	return tea.Tick(5*time.Second, func(time.Time) tea.Msg { return toastEndMsg{id} })
}
