package tui

import (
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"

	"vise/tui/layout"
)

// wheelEvery is the least time between two wheel messages: trackpads send
// thousands a second, and none may be handled after the finger has stopped.
const wheelEvery = 16 * time.Millisecond

// wheelMsg is a sum of wheel turns at a place; positive is down.
type wheelMsg struct{ x, y, n int }

// wheelFilter thins mouse motion and sums wheel turns before they reach Update.
// Its timer sends what is left at the end of a burst.
type wheelFilter struct {
	send    func(tea.Msg)
	mu      sync.Mutex
	last    time.Time
	moved   time.Time // the last motion that was let through
	pending wheelMsg
	timer   *time.Timer
}

// filter is a tea.WithFilter function.
func (f *wheelFilter) filter(_ tea.Model, msg tea.Msg) tea.Msg {
	switch m := msg.(type) {
	case tea.MouseMotionMsg:
		// With a button held it drags; the release tells the last place.
		if now := time.Now(); m.Button == tea.MouseLeft && now.Sub(f.moved) >= wheelEvery {
			f.moved = now
			return m
		}
		return nil
	case tea.MouseWheelMsg:
		n := 0
		switch m.Button {
		case tea.MouseWheelUp:
			n = -1
		case tea.MouseWheelDown:
			n = 1
		default:
			return nil
		}
		return f.sum(m.X, m.Y, n)
	}
	return msg
}

func (f *wheelFilter) sum(x, y, n int) tea.Msg {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := time.Now()
	if wait := wheelEvery - now.Sub(f.last); wait > 0 {
		f.pending = wheelMsg{x, y, f.pending.n + n}
		if f.timer == nil {
			f.timer = time.AfterFunc(wait, f.flush)
		}
		return nil
	}
	f.last = now
	return wheelMsg{x, y, n}
}

// flush sends the rest of a burst. It runs on the timer's goroutine and must not
// hold the lock while it sends: Update may be waiting for the filter.
func (f *wheelFilter) flush() {
	f.mu.Lock()
	m := f.pending
	f.pending, f.timer, f.last = wheelMsg{}, nil, time.Now()
	f.mu.Unlock()
	if m.n != 0 {
		f.send(m)
	}
}

// stop ends the timer.
func (f *wheelFilter) stop() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.timer != nil {
		f.timer.Stop()
	}
}

// rowsPerTurn is how many rows one turn of the wheel moves.
const rowsPerTurn = 3

// wheel moves the pane under the pointer, whichever has the focus.
func (a *App) wheel(m wheelMsg) tea.Cmd {
	if len(a.overlays) > 0 {
		return nil
	}
	a.unmark()
	for _, p := range a.placed {
		if p.Rect.Contains(m.x, m.y) {
			a.follow = false
			in := p.Rect.Inside()
			w := Wheel{X: m.x, Y: m.y, N: m.n * rowsPerTurn}
			return a.panes[PaneID(p.Pane)].Mouse(a.ctx, m.x-in.X, m.y-in.Y, w)
		}
	}
	return nil
}

// Wheel is what a pane's Mouse gets for turns of the wheel: rows to scroll,
// positive downwards. Clicks come as tea.MouseClickMsg.
type Wheel struct{ X, Y, N int }

// String and Mouse make a Wheel a tea.MouseMsg.
func (w Wheel) String() string { return "wheel " + itoa(w.N) }

// Mouse is the event as Bubble Tea has it.
func (w Wheel) Mouse() tea.Mouse {
	b := tea.MouseWheelDown
	if w.N < 0 {
		b = tea.MouseWheelUp
	}
	return tea.Mouse{X: w.X, Y: w.Y, Button: b}
}

// mouse handles a click (a name in the header or the strip, or a pane), and dragging: a
// divider moves, text is marked.
func (a *App) mouse(msg tea.MouseMsg) tea.Cmd {
	switch m := msg.(type) {
	case tea.MouseMotionMsg:
		if a.held != nil && a.held.onLine {
			a.pull(m.X, m.Y)
		} else {
			a.markTo(m.X, m.Y)
		}
		return nil
	case tea.MouseReleaseMsg:
		if a.held != nil {
			if a.held.onLine {
				a.pull(m.X, m.Y)
			}
			a.drop()
			return nil
		}
		a.markTo(m.X, m.Y)
		return a.markEnd()
	}
	click, ok := msg.(tea.MouseClickMsg)
	if !ok || click.Button != tea.MouseLeft {
		return nil
	}
	only := a.clickOnly
	a.clickOnly = false
	a.drop()
	if len(a.overlays) > 0 || layout.FormOf(a.w, a.h) == layout.TooSmall {
		return nil
	}
	for _, t := range a.tabs {
		if click.Y == t.y && click.X >= t.from && click.X < t.to {
			return a.do(t.do, "")
		}
	}
	for _, p := range a.placed {
		if !p.Rect.Contains(click.X, click.Y) {
			continue
		}
		id := PaneID(p.Pane)
		a.setFocus(id)
		a.follow = false
		in := p.Rect.Inside()
		if d, ok := a.grab(click.X, click.Y); ok && !in.Contains(click.X, click.Y) {
			a.unmark()
			a.held = &grip{divider: d, onLine: true, from: click.X}
			if d.Dir == layout.Stack {
				a.held.from = click.Y
			}
			return nil
		}
		if !only && in.Contains(click.X, click.Y) {
			a.markStart(id, click.X-in.X, click.Y-in.Y)
		}
		if only || !in.Contains(click.X, click.Y) {
			return nil // the click that brought the terminal to the front only focuses
		}
		return a.panes[id].Mouse(a.ctx, click.X-in.X, click.Y-in.Y, msg)
	}
	return nil
}
