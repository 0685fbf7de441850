package tui

import (
	"fmt"
	"image/color"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
	"pgregory.net/rapid"

	"vise/engine/event"
	"vise/engine/trace"
	"vise/store"
	"vise/themes"
	"vise/tui/action"
)

// bench is the whole app over a desk, without a program around it: messages are
// handed in and commands run by hand.
type bench struct {
	*desk
	app *App
	cfg Config
}

func newBench(t testing.TB, d *desk, w, h int) *bench {
	t.Helper()
	list, err := themes.Builtin()
	if err != nil {
		t.Fatal(err)
	}
	cfg := Config{Project: "refund-desk", Harness: d.harness, Store: d.store, Bus: d.bus, Stepper: d.hold, MaxTurns: 6,
		Theme: "dark", Now: func() time.Time { return noon }, themes: list, Env: []string{"COLORFGBG=15;0"}}
	conductor := &Conductor{ctx: t.Context(), harness: d.harness, hold: d.hold, now: cfg.Now, send: func(tea.Msg) {}, crash: func(any, []byte) {}}
	b := &bench{desk: d, app: newApp(t.Context(), cfg, action.Default(), conductor), cfg: cfg}
	b.run(b.app.Init())
	b.send(tea.WindowSizeMsg{Width: w, Height: h})
	return b
}

// send hands a message in and runs what comes of it.
func (b *bench) send(m tea.Msg) {
	b.t.Helper()
	_, cmd := b.app.Update(m)
	b.run(cmd)
}

func (b *bench) run(cmd tea.Cmd) {
	b.t.Helper()
	switch m := answer(b.t, cmd).(type) {
	case tea.BatchMsg:
		for _, c := range m {
			b.run(c)
		}
	case paneReply, landedMsg, doMsg, sayMsg, feedMsg, activityMsg, goLinkMsg, originMsg, whyMsg, auditMsg, besideMsg, acted, undone, namesMsg, pickMsg, logMsg, aheadMsg, forkGone:
		b.send(m)
	}
}

func (b *bench) press(keys ...string) {
	b.t.Helper()
	for _, k := range keys {
		b.send(press(k))
	}
}

// press is the message of a key.
func press(k string) tea.KeyPressMsg {
	codes := map[string]rune{"enter": tea.KeyEnter, "esc": tea.KeyEscape, "tab": tea.KeyTab, "up": tea.KeyUp, "down": tea.KeyDown,
		"pgdown": tea.KeyPgDown, "pgup": tea.KeyPgUp, "home": tea.KeyHome, "end": tea.KeyEnd}
	if c, ok := codes[k]; ok {
		return tea.KeyPressMsg{Code: c}
	}
	return tea.KeyPressMsg{Code: []rune(k)[0], Text: k}
}

// frame is what is drawn, checked to be exactly the screen.
func (b *bench) frame() []string {
	b.t.Helper()
	rows := strings.Split(b.app.View().Content, "\n")
	if len(rows) != b.app.h {
		b.t.Fatalf("the frame has %d rows, the screen %d", len(rows), b.app.h)
	}
	for y, r := range rows {
		if n := b.app.ctx.Style.Width(r); n != b.app.w {
			b.t.Fatalf("row %d has %d cells, the screen %d: %q", y, n, b.app.w, ansi.Strip(r))
		}
	}
	return rows
}

// worked is a desk at which the loop has run once: a failing run, a notice, a
// repair, a candidate.
func worked(t testing.TB) *desk {
	d := newDesk(t, false)
	if err := d.live(t.Context(), "s-0001"); err != nil {
		t.Fatal(err)
	}
	if err := d.harness.BeginSession(t.Context(), d.head, started(d.head)); err != nil {
		t.Fatal(err)
	}
	for _, x := range d.turns {
		x.SessionID = d.head.ID
		if err := d.harness.EndTurn(t.Context(), x); err != nil {
			t.Fatal(err)
		}
		for scored := false; !scored; time.Sleep(time.Millisecond) { // one after the other: the journal is on the screen
			if err := d.store.View(func(tx *store.Tx) (err error) {
				_, scored, err = tx.Report(d.head.ID, x.Index)
				return err
			}); err != nil {
				t.Fatal(err)
			}
		}
	}
	return d
}

// The whole screen in each of its forms.
func TestScreens(t *testing.T) {
	d := worked(t)
	for _, size := range []struct{ w, h int }{{200, 60}, {118, 34}, {80, 24}} {
		b := newBench(t, d, size.w, size.h)
		shot := func(name string) {
			t.Helper()
			golden(t, fmt.Sprintf("screens/%s-%dx%d", name, size.w, size.h), b.frame())
		}
		b.app.ctx.Scope.Session, b.app.ctx.Scope.Turn = "s-0001", 2
		b.send(nil)
		shot("debug")
		b.app.ctx.Scope.Compare = d.head.ID
		b.send(nil)
		b.press("3")
		shot("compare")
		b.press("R")
		shot("repair")
		b.press("E")
		shot("evidence")
		b.press("z", "?")
		shot("help")
		b.press("esc", "z", ":", "t", "h", "e")
		shot("palette")
		b.press("esc", "1", "/", "t", "o", "r", "n")
		shot("search")
	}
	b := newBench(t, d, 39, 11)
	golden(t, "screens/too-small", b.frame())
}

// Without a project there is a card, and nothing to break by keys.
func TestFirstRunCard(t *testing.T) {
	list, err := themes.Builtin()
	if err != nil {
		t.Fatal(err)
	}
	cfg := Config{Project: "no project", Theme: "dark", Now: func() time.Time { return noon }, themes: list}
	b := &bench{desk: &desk{t: t}, app: newApp(t.Context(), cfg, action.Default(), &Conductor{ctx: t.Context()})}
	b.run(b.app.Init())
	b.send(tea.WindowSizeMsg{Width: 80, Height: 24})
	golden(t, "screens/first-run", b.frame())
	for _, a := range action.Default().All() {
		if a.ID != action.Quit {
			b.send(doMsg{id: a.ID})
			b.press("esc")
			b.frame()
		}
	}
}

// An unchanged screen is the very same string: the renderer compares it for free.
func TestViewIsCached(t *testing.T) {
	b := newBench(t, worked(t), 120, 40)
	first := b.app.View().Content
	b.send(tea.MouseMotionMsg{})
	b.send(tea.BlurMsg{})
	if n := testing.AllocsPerRun(100, func() { b.app.View() }); n > 0 {
		t.Errorf("an unchanged view costs %v allocations", n)
	}
	if b.app.View().Content != first {
		t.Error("the frame changed by itself")
	}
}

// Every printable key that is typed into an input arrives there, whatever it
// means elsewhere.
func TestInputsTakeEveryKey(t *testing.T) {
	b := newBench(t, worked(t), 120, 40)
	all := ""
	for r := rune('!'); r <= '~'; r++ {
		all += string(r)
	}
	b.press("1", "/")
	for _, r := range all {
		b.press(string(r))
	}
	if got := b.app.search.input.Value(); got != all {
		t.Errorf("the search got %q", got)
	}
	b.press("esc", ":")
	for _, r := range all {
		b.press(string(r))
	}
	if got := b.app.overlays[0].(*palette).input.Value(); got != all {
		t.Errorf("the palette got %q", got)
	}
}

// What a key means may move; what is drawn is always exactly the screen, with the
// focus on a pane that is on it.
func TestMonkey(t *testing.T) {
	d := worked(t)
	keys := []string{"j", "k", "h", "l", "g", "G", "i", "o", "esc", "tab", "1", "2", "3", "4", "5", "6", "7", "8", "9", "D", "R", "E", "z", "Z", "[", "]", "<", ">", "+", "-", "=", "F", "#", "O", "M", "u",
		"n", "N", "/", "a", "?", ":", "T", "f", "u", "b", "y", "Y", "L", "pgdown", "pgup", "home", "end", "down", "up", "enter", " "}
	b := newBench(t, d, 120, 40)
	rapid.Check(t, func(rt *rapid.T) {
		for range rapid.IntRange(1, 12).Draw(rt, "n") {
			switch rapid.IntRange(0, 9).Draw(rt, "what") {
			case 0:
				b.send(tea.WindowSizeMsg{Width: rapid.IntRange(1, 220).Draw(rt, "w"), Height: rapid.IntRange(1, 70).Draw(rt, "h")})
			case 1:
				b.send(wheelMsg{rapid.IntRange(0, 220).Draw(rt, "x"), rapid.IntRange(0, 70).Draw(rt, "y"), rapid.IntRange(-9, 9).Draw(rt, "turns")})
			case 2:
				m := tea.Mouse{X: rapid.IntRange(0, 220).Draw(rt, "x"), Y: rapid.IntRange(0, 70).Draw(rt, "y"), Button: tea.MouseLeft}
				b.send([]tea.Msg{tea.MouseClickMsg(m), tea.MouseMotionMsg(m), tea.MouseReleaseMsg(m)}[rapid.IntRange(0, 2).Draw(rt, "button")])
			default:
				b.press(rapid.SampledFrom(keys).Draw(rt, "key"))
			}
			b.frame()
			if len(b.app.placed) > 0 && !b.app.viewDef().root.Has(string(b.app.focus)) {
				rt.Fatalf("the focus %s is not in view %s", b.app.focus, b.app.view)
			}
		}
	})
}

// forget makes the next Rows draw, whatever the version says.
func (s *surface) forget() { s.rows = nil }

// Whatever changes what a pane shows raises its version: else the old rows would
// stay on the screen.
func TestVersionRises(t *testing.T) {
	d := worked(t)
	b := newBench(t, d, 200, 60)
	look := func(p Pane) string {
		p.(interface{ forget() }).forget()
		return p.Title() + "\n" + p.Badge() + "\n" + strings.Join(p.Rows(), "\n")
	}
	check := func(what string, do func()) {
		t.Helper()
		before, versions := map[PaneID]string{}, map[PaneID]uint64{}
		for id, p := range b.app.panes {
			before[id], versions[id] = look(p), p.Version()
		}
		do()
		for id, p := range b.app.panes {
			if after := look(p); after != before[id] && p.Version() == versions[id] {
				t.Errorf("%s changes pane %s without raising its version", what, id)
			}
		}
	}
	for _, id := range paneOrder {
		p := b.app.panes[id]
		p.SetSize(90, 30)
		for _, a := range action.Default().All() {
			if a.Scope != action.Global {
				check(string(a.ID)+" in "+string(id), func() { p.Do(b.app.ctx, a.ID) })
			}
		}
		check("focus", func() { p.SetFocus(true) })
		check("wheel", func() { p.Mouse(b.app.ctx, 3, 3, Wheel{N: 2}) })
		check("click", func() { p.Mouse(b.app.ctx, 3, 2, tea.MouseClickMsg{Button: tea.MouseLeft}) })
		if s, ok := p.(Searcher); ok {
			check("search", func() { s.Search(b.app.ctx, "refund") })
			check("next match", func() { s.NextMatch(b.app.ctx, 1) })
			check("end of search", func() { s.Search(b.app.ctx, "") })
		}
		check("size", func() { p.SetSize(70, 20) })
	}
	for _, s := range []Scope{{Session: "s-0001", Turn: 1}, {Session: "s-0001", Turn: 2, Compare: d.head.ID}, {Turn: NoTurn}} {
		check(fmt.Sprintf("scope %+v", s), func() { *b.app.ctx.Scope = s; b.send(nil) })
	}
	check("style", func() { b.run(b.app.chooseTheme("light")) })
	check("running", func() {
		b.app.ctx.Running = Activity{Kind: Replaying, Session: "s-0001"}
		b.run(b.app.apply(Change{Running: true}))
	})
}

func started(s trace.Session) event.Event {
	return event.Event{Type: event.ImportFinished, SessionID: s.ID}
}

// The theme follows the terminal while the program runs, unless one was chosen; a
// chosen one that does not fit the terminal paints its own ground; the picker
// previews and gives the old one back.
func TestThemeFollows(t *testing.T) {
	b := newBench(t, worked(t), 120, 40)
	name := func() string { return b.app.ctx.Style.Theme().Name }
	b.run(b.app.chooseTheme(autoTheme))
	white, black := tea.BackgroundColorMsg{Color: color.White}, tea.BackgroundColorMsg{Color: color.Black}
	b.send(white)
	if name() != "light" || b.app.ctx.Style.Options().Fill {
		t.Errorf("on white: theme %s, filled %v", name(), b.app.ctx.Style.Options().Fill)
	}
	frame := b.app.View().Content
	b.send(black)
	if name() != "dark" || b.app.View().Content == frame {
		t.Errorf("on black: theme %s; the frame must have changed", name())
	}
	pick := func(name string) {
		b.press("T")
		for range ThemeChoices(b.app.look.themes) {
			if b.app.look.chosen == name {
				return
			}
			b.press("down")
		}
		t.Fatalf("the picker does not offer %s", name)
	}
	pick("light")
	if name() != "light" || !b.app.ctx.Style.Options().Fill {
		t.Errorf("the picker previews %s, filled %v", name(), b.app.ctx.Style.Options().Fill)
	}
	b.frame()
	b.press("esc")
	if name() != "dark" || b.app.look.chosen != autoTheme {
		t.Errorf("after esc: theme %s, chosen %s", name(), b.app.look.chosen)
	}
	pick("auto:safe-dark")
	b.press("enter")
	for m, want := range map[tea.Msg]string{white: "safe-light", black: "safe-dark"} {
		if b.send(m); name() != want {
			t.Errorf("of the pair, on %v: %s, want %s", m, name(), want)
		}
	}
	b.send(white)
	pick("ansi")
	b.press("enter")
	if name() != "ansi" || b.app.ctx.Style.Options().Fill {
		t.Errorf("ansi: theme %s, filled %v", name(), b.app.ctx.Style.Options().Fill)
	}
	if f := b.app.View().Content; strings.Contains(f, "38;2;") || strings.Contains(f, "48;2;") {
		t.Error("the theme ansi sends a colour of its own")
	}
	b.send(black)
	b.app.look.chosen = "light"
	b.send(white)
	b.send(black)
	if name() != "light" {
		t.Errorf("a chosen theme stays, got %s", name())
	}
}
