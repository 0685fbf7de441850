package tui

import (
	"bufio"
	"context"
	"io"
	"reflect"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	tea "charm.land/bubbletea/v2"

	"vise/engine/guard"
	"vise/tui/action"
)

// linear is the workbench as text that only grows: for screen readers, for terminals
// that cannot draw, and for pipes. The panes are those of the screen, one at a time;
// a line of input is a command, the number of a row, or the name of a pane.
type linear struct {
	app  *App
	out  io.Writer
	msgs chan tea.Msg
	ctx  context.Context
	// crash is told of a panic.
	crash func(cause any, stack []byte)
	work  sync.WaitGroup
	busy  atomic.Int32 // commands whose message has not been taken; timers are none
	// behind reports whether events are on their way; nil = there are none.
	behind func() bool

	state string    // the last status that was told
	said  int       // the toast that was told
	rows  []readRow // rows of the pane by their number
}

// size of the panes in a linear workbench, in cells.
const (
	linearW = 240
	linearH = 64
)

const (
	// linearRest is how long nothing must come before a pane counts as up to date, once
	// no command and no event is under way; linearPatience is how long that is waited for
	// while something runs, which brings ever more, and linearLimit when nothing runs.
	linearRest     = 80 * time.Millisecond
	linearPatience = 3 * time.Second
	linearLimit    = 30 * time.Second
)

// maxInput bounds a line of input, in bytes.
const maxInput = 64 << 10

// inputLine is a line that was read; long: it was longer than maxInput and is cut.
type inputLine struct {
	text string
	long bool
}

// run reads commands until the input ends, the person quits or the context ends.
func (l *linear) run(ctx context.Context, in io.Reader) error {
	defer func() {
		if p := recover(); p != nil {
			l.crash(p, debug.Stack())
		}
	}()
	lines := make(chan inputLine)
	// The reader ends with the input; a read that never returns ends with the process.
	go func() {
		defer close(lines)
		r := bufio.NewReaderSize(in, maxInput)
		for {
			raw, long, err := r.ReadLine()
			if err != nil {
				return
			}
			line := inputLine{string(raw), long}
			for long && err == nil { // the rest of it
				_, long, err = r.ReadLine()
			}
			select {
			case lines <- line:
			case <-ctx.Done():
				return
			}
		}
	}()
	l.do(l.app.Init())
	l.update(tea.WindowSizeMsg{Width: linearW, Height: linearH})
	l.tell("vise, project %s, as plain lines. Type ? for the commands, the number of a row to select it, or the name of a pane.", guard.Line(l.app.cfg.Project, 60))
	l.settle()
	l.pane()
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case m := <-l.msgs:
			if l.update(m) {
				return nil
			}
			l.news()
		case line, ok := <-lines:
			if !ok {
				return nil
			}
			if line.long {
				l.tell("A line of more than %s bytes is not taken.", thousands(maxInput))
				continue
			}
			if l.command(strings.TrimSpace(line.text)) {
				return nil
			}
		}
	}
}

// rest waits for the commands that are under way when the program has ended, so that none
// reads a store that is closed; for a moment only, since some merely wait for a clock.
func (l *linear) rest() {
	done := make(chan struct{})
	go func() {
		l.work.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(linearRest):
	}
}

// send delivers a message; it is the send of the feed and the conductor.
func (l *linear) send(m tea.Msg) {
	select {
	case l.msgs <- m:
	case <-l.ctx.Done():
	}
}

// do runs a command beside the loop and what it brings.
func (l *linear) do(cmd tea.Cmd) {
	if cmd == nil {
		return
	}
	waits := isTimer(cmd)
	if !waits {
		l.busy.Add(1)
	}
	l.work.Go(func() {
		defer func() {
			if p := recover(); p != nil {
				l.crash(p, debug.Stack())
			}
			if !waits {
				l.busy.Add(-1)
			}
		}()
		switch m := cmd().(type) {
		case nil:
		case tea.BatchMsg:
			for _, c := range m {
				l.do(c)
			}
		default:
			l.send(m)
		}
	})
}

// update hands a message to the app; true when it ends the program.
func (l *linear) update(m tea.Msg) bool {
	switch m.(type) {
	case tea.QuitMsg:
		return true
	case tea.RawMsg:
		return false // there is no screen to send it to
	}
	a := l.app
	a.zoom = true // one pane at a time
	_, cmd := a.Update(m)
	l.do(cmd)
	if !a.zoom { // it has gone to another view
		a.zoom = true
		a.arrange()
	}
	return false
}

// isTimer tells a command that lets time pass (of Bubble Tea, or the blinking of a cursor
// of Bubbles) from one that does something: nobody waits for the former. Both are
// functions without arguments, so that only their names differ.
func isTimer(cmd tea.Cmd) bool {
	name := commandName(cmd)
	return strings.Contains(name, ".Tick.") || strings.Contains(name, "bubbles/v2/cursor.")
}

func commandName(cmd tea.Cmd) string { return runtime.FuncForPC(reflect.ValueOf(cmd).Pointer()).Name() }

// working reports whether messages are on their way that somebody will send.
func (l *linear) working() bool { return l.busy.Load() > 0 || l.behind != nil && l.behind() }

// settle takes messages until nothing is under way and none has come for a moment.
func (l *linear) settle() (quit bool) {
	begun := time.Now()
	for {
		rest := time.NewTimer(linearRest)
		select {
		case m := <-l.msgs:
			rest.Stop()
			if l.update(m) {
				return true
			}
		case <-rest.C:
			if !l.working() {
				return false
			}
		case <-l.ctx.Done():
			rest.Stop()
			return true
		}
		limit := linearLimit
		if l.app.conductor.Running().Kind != Idle {
			limit = linearPatience
		}
		if time.Since(begun) > limit {
			return false
		}
	}
}

// command runs one line of input; true when it ends the program.
func (l *linear) command(line string) bool {
	a := l.app
	pane := a.focus
	switch {
	case len(a.overlays) > 0:
		l.answer(line)
	case line == "":
	case line == "?" || line == "help":
		l.help()
		return false
	case line == "wait":
		if l.wait() {
			return true
		}
	default:
		if n, err := strconv.Atoi(line); err == nil {
			l.selectRow(n)
		} else if !l.act(line) {
			return false
		}
	}
	if l.settle() {
		return true
	}
	l.news()
	if len(a.overlays) > 0 {
		l.card()
		return false
	}
	if a.focus != pane || line == "" || line == "wait" || a.toast.text == "" || !a.toast.kept {
		l.pane()
	}
	return false
}

// act runs an action by its key, its name, or the name of a pane; false when there is none.
func (l *linear) act(line string) bool {
	a := l.app
	if len(line) > 1 {
		line = strings.TrimPrefix(line, ":") // as it is typed on the screen
	}
	name, arg, _ := strings.Cut(line, " ")
	if act, ok := a.reg.Action(action.Search); ok && len(act.Keys) > 0 && len(name) > 1 {
		if text, ok := strings.CutPrefix(line, act.Keys[0]); ok { // "/hose", as it is typed on the screen
			name, arg = act.Keys[0], text
		}
	}
	arg = strings.TrimSpace(arg)
	for _, id := range paneOrder {
		if strings.EqualFold(name, string(id)) && arg == "" {
			l.do(a.goTo(id))
			a.zoom = true
			a.arrange()
			return true
		}
	}
	act, ok := a.reg.Lookup(name, string(a.focus))
	if !ok {
		for _, x := range a.reg.All() {
			last := choice{Action: x}.text()
			if !ok && x.For(string(a.focus)) && (string(x.ID) == name || last == name || strings.HasPrefix(last, name) && len(name) > 2) {
				act, ok = x, true
			}
		}
	}
	switch {
	case !ok && a.elsewhere(name) != nil:
		l.news()
		return false
	case !ok:
		l.tell("There is no command %s. Type ? for the commands.", guard.Line(name, 40))
		return false
	case act.ID == action.Themes:
		l.tell("%s: plain lines have no colours; ui.theme in vise.toml chooses the theme of the screen, vise themes lists them.", act.Title)
		return false
	case onScreenOnly(act.ID):
		l.tell("%s: there is no screen for it here.", act.Title)
		return false
	case act.ID == action.Filter && arg == "":
		l.tellFilter(name)
		return false
	case needsText(act) && arg == "", act.ID == action.Search && arg == "":
		l.tell("%s: write %s and then %s.", act.Title, name, act.Arg)
		return false
	case act.ID == action.Help:
		l.help()
		return false
	}
	if act.ID == action.Escape {
		a.zoom, a.half = false, false // it is not what esc ends here
	}
	if act.ID == action.Palette {
		l.commands(arg)
	} else {
		l.do(a.do(act.ID, arg))
	}
	if len(a.overlays) == 0 {
		a.zoom = true
		a.arrange()
	}
	return true
}

// readRow is a row as it was read: where it was and what it said.
type readRow struct {
	y    int
	text string
}

// selectRow selects a row by its number, as a click on it does. What was read is what is
// meant: a row that has moved since is followed, one that is gone or says something else
// is not taken for another.
func (l *linear) selectRow(n int) {
	a := l.app
	if n < 1 || n > len(l.rows) {
		l.tell("There is no row %d; there are %d.", n, len(l.rows))
		return
	}
	p := a.panes[a.focus]
	row := l.rows[n-1]
	now := p.Rows()
	if row.y >= len(now) || unselected(now[row.y]) != row.text {
		if row.y = slices.IndexFunc(now, func(r string) bool { return unselected(r) == row.text }); row.y < 0 {
			l.tell("Row %d has changed since it was read: %s.", n, row.text)
			l.pane()
			return
		}
	}
	l.do(p.Mouse(a.ctx, 1, row.y, tea.MouseClickMsg{X: 1, Y: row.y, Button: tea.MouseLeft}))
	_, cmd := a.Update(nil) // the scope may have moved
	l.do(cmd)
}

// wait goes on when nothing runs any more, or a repair or a patch loop is held.
func (l *linear) wait() (quit bool) {
	for l.app.conductor.Running().Kind != Idle && l.app.ctx.Held == nil && l.app.ctx.PatchHeld == nil {
		select {
		case m := <-l.msgs:
			if l.update(m) {
				return true
			}
			l.news()
		case <-l.ctx.Done():
			return true
		}
	}
	return false
}

// elapsedAway takes the running clock out of a status.
var elapsedAway = regexp.MustCompile(`  [0-9]+ s$|  [0-9:]+ (min|h)$`)

// rules are lines and scales drawn with hyphens.
var rules = regexp.MustCompile(`-{4,}(\.\.\.)?`)

var gaps = regexp.MustCompile(` {2,}`)
