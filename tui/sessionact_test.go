package tui

import (
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"vise/engine/trace"
	"vise/store"
)

// step presses keys and then lets what they changed in the store reach the panes.
func (b *bench) step(keys ...string) {
	for _, k := range keys {
		b.press(k)
		b.pumpApp()
	}
}

func (b *bench) redo() {
	b.send(tea.KeyPressMsg{Code: 'r', Mod: tea.ModCtrl})
	b.pumpApp()
}

func (b *bench) headOf(id string) (h trace.Session, ok bool) {
	b.t.Helper()
	b.view(func(tx *store.Tx) (err error) {
		h, ok, err = tx.Session(id)
		return err
	})
	return h, ok
}

// A name stands wherever the session is named; u and ctrl+r take it back and give it again.
func TestRenameSession(t *testing.T) {
	b := newBench(t, worked(t), 160, 50)
	b.app.ctx.Scope.Session, b.app.ctx.Scope.Turn = "s-0001", 2
	b.send(nil)
	b.step("1", "e")
	for _, r := range "Blanket case" {
		b.press(string(r))
	}
	b.step("enter")
	if h, _ := b.headOf("s-0001"); h.Name != "Blanket case" {
		t.Fatalf("the name is %q", h.Name)
	}
	screen := b.screen()
	for _, want := range []string{"▸Blanket case", "Turns Blanket case", "Trace Blanket case/2"} {
		if !strings.Contains(screen, want) {
			t.Errorf("no %q on the screen:\n%s", want, screen)
		}
	}
	b.step("R")
	if !strings.Contains(b.screen(), "· Blanket case turn 2") {
		t.Errorf("the repair does not name it:\n%s", b.screen())
	}
	b.step("E")
	if !strings.Contains(b.screen(), "is called Blanket case") {
		t.Errorf("the journal does not tell:\n%s", b.screen())
	}
	b.step("D", "u")
	if h, _ := b.headOf("s-0001"); h.Name != "" || strings.Contains(b.screen(), "Turns Blanket case") {
		t.Errorf("after u it is called %q:\n%s", h.Name, b.screen())
	}
	b.redo()
	if h, _ := b.headOf("s-0001"); h.Name != "Blanket case" || !strings.Contains(b.screen(), "Turns Blanket case") {
		t.Errorf("after ctrl+r it is called %q", h.Name)
	}
}

// A pinned session is the first of the list; u lets it go.
func TestPinSession(t *testing.T) {
	b := newBench(t, worked(t), 160, 50)
	list := b.app.panes[PaneSessions].(*sessionsPane).list
	b.step("1", "G")
	last, n := list.Key(), list.Len()
	if n < 2 || list.Index() == 0 {
		t.Fatalf("%d sessions, the cursor at %d", n, list.Index())
	}
	b.step("*")
	if list.Items()[0].ID != last || list.Key() != last || list.Len() != n || !strings.Contains(b.screen(), "• ") {
		t.Errorf("%s is not first: %v\n%s", last, list.Items()[0].ID, b.screen())
	}
	b.step("u")
	if list.Items()[0].ID == last || strings.Contains(b.screen(), "• ") {
		t.Errorf("after u %s is still first", last)
	}
	b.redo()
	if list.Items()[0].ID != last {
		t.Errorf("after ctrl+r %s is not first", last)
	}
}

// X removes a session from the list, u brings it back with its turns, also after a restart.
func TestRemoveSession(t *testing.T) {
	d := worked(t)
	b := newBench(t, d, 160, 50)
	b.app.ctx.Scope.Session, b.app.ctx.Scope.Turn = "s-0001", 2
	b.send(nil)
	b.step("1", "X")
	if _, ok := b.headOf("s-0001"); ok || b.app.ctx.Scope.Session == "s-0001" {
		t.Fatalf("it is still there, the scope is %+v", b.app.ctx.Scope)
	}
	b.step("u")
	if h, ok := b.headOf("s-0001"); !ok || h.Counts.Turns != 3 {
		t.Fatalf("after u: %v, %+v", ok, h.Counts)
	}
	b.redo()
	if _, ok := b.headOf("s-0001"); ok {
		t.Fatal("after ctrl+r it is there")
	}
	if err := writePlace(t.Context(), b.store, b.app.place()); err != nil {
		t.Fatal(err)
	}
	p, _, err := ReadPlace(b.store)
	if err != nil {
		t.Fatal(err)
	}
	again := newBench(t, d, 160, 50)
	again.app.settlePlace(p)
	again.step("u")
	if _, ok := again.headOf("s-0001"); !ok {
		t.Errorf("another start cannot take it back: %q", again.app.toast.text)
	}
	// What is gone for good cannot come back, and is said; the journal goes on without it.
	again.redo()
	if _, err := again.harness.EmptyTrash(t.Context()); err != nil {
		t.Fatal(err)
	}
	again.step("u")
	if !strings.Contains(again.app.toast.text, "cannot be taken back") || again.app.undoable(false) == "" {
		t.Errorf("said %q; %d acts", again.app.toast.text, len(again.app.acts.list))
	}
}

// S finds a session by letters of its name, id, input or agent; enter goes there.
func TestPickSession(t *testing.T) {
	b := newBench(t, worked(t), 120, 34)
	if _, err := b.harness.RenameSession(t.Context(), "s-0001", "Hose and Blanket"); err != nil {
		t.Fatal(err)
	}
	b.pumpApp()
	b.app.ctx.Scope.Session = b.head.ID
	b.send(nil)
	b.press("E", "S")
	b.screenHas("2 of 2 sessions", "Hose and Blanket", "torn-blanket")
	b.typed("hsblk")
	b.screenHas("1 of 2 sessions")
	b.press("enter")
	if s := b.app.ctx.Scope; s.Session != "s-0001" || b.app.view != debugView || len(b.app.overlays) != 0 {
		t.Errorf("went to %+v in view %s", s, b.app.view)
	}
	b.press("S")
	b.typed("zzzz")
	b.screenHas("no session matches")
	b.press("enter", "esc")
	if b.app.ctx.Scope.Session != "s-0001" || len(b.app.overlays) != 0 {
		t.Errorf("nothing was picked, and the scope is %+v", b.app.ctx.Scope)
	}
	// What is typed meanwhile is not the picker's.
	b.press("/")
	b.send(pickMsg{list: []sessionRow{{}}})
	if len(b.app.overlays) != 0 {
		t.Error("the picker opened over a search")
	}
}

// The next start is where the last was: view, pane, cursor, filters, sizes.
func TestResumesExactly(t *testing.T) {
	d := worked(t)
	b := newBench(t, d, 160, 50)
	b.app.ctx.Scope.Session, b.app.ctx.Scope.Turn = "s-0001", 1
	b.send(nil)
	b.press("1", "f")
	b.typed("turns>1")
	b.press("enter", ">", ">", "3", "down", "+", "Z")
	b.frame()
	if err := writePlace(t.Context(), b.store, b.app.place()); err != nil {
		t.Fatal(err)
	}
	p, _, err := ReadPlace(b.store)
	if err != nil {
		t.Fatal(err)
	}
	again := newBench(t, d, 160, 50)
	again.app.settlePlace(p)
	again.run(again.app.goBack(p))
	again.send(nil)
	if got, want := again.screen(), b.screen(); got != want || !strings.Contains(want, "filter 2 of 2") {
		t.Errorf("the screen is another one:\n%s\nwas\n%s", got, want)
	}
	if *again.app.ctx.Scope != *b.app.ctx.Scope || again.app.focus != b.app.focus || again.app.half != b.app.half || b.app.ctx.Scope.Span == "" {
		t.Errorf("at %+v %s, was %+v %s", again.app.ctx.Scope, again.app.focus, b.app.ctx.Scope, b.app.focus)
	}
}

// What a session is called counts before what it says.
func TestPickRanksNamesFirst(t *testing.T) {
	p := &sessionPick{input: newInput("trn"), list: []sessionRow{{Session: trace.Session{ID: "long-queue"}}, {Session: trace.Session{ID: "torn-blanket"}}, {Session: trace.Session{ID: "quiet"}}}}
	p.names = []string{" long-queue", " torn-blanket", " quiet"}
	p.texts = []string{" long-queue a long queue at the trn counter", " torn-blanket a torn blanket", " quiet nothing"}
	p.filter()
	if len(p.shown) != 2 || p.list[p.shown[0]].ID != "torn-blanket" {
		t.Errorf("shown %v", p.shown)
	}
}
