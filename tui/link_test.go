package tui

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"vise/engine/evidence"
	"vise/engine/link"
	"vise/engine/notice"
	"vise/store"
)

// L copies the place, O goes there from anywhere.
func TestLinkThereAndBack(t *testing.T) {
	b := newBench(t, worked(t), 160, 50)
	b.app.ctx.Scope.Session, b.app.ctx.Scope.Turn = "s-0001", 1
	b.send(nil)
	b.press("3", "down")
	l, ok := b.app.link()
	if !ok || l.Kind != "session" || l.Turn != 1 || l.Span == "" || l.Pane != string(PaneTrace) {
		t.Fatalf("the link is %+v", l)
	}
	b.press("E")
	b.app.ctx.Scope.Session, b.app.ctx.Scope.Turn = b.head.ID, 0
	b.send(nil)
	b.press("O")
	for _, r := range l.String() {
		b.press(string(r))
	}
	b.press("enter")
	if s := b.app.ctx.Scope; s.Session != "s-0001" || s.Turn != 1 || s.Span != l.Span || b.app.focus != PaneTrace || b.app.view != debugView {
		t.Errorf("went to %+v, pane %s", s, b.app.focus)
	}
	b.send(b.app.openLink("vise://session/nobody")())
	if !strings.Contains(b.app.toast.text, "this project has no session/nobody") {
		t.Errorf("of a place that is not there: %q", b.app.toast.text)
	}
	b.press("1", "#", "2", "enter")
	if b.app.ctx.Scope.Turn != 2 || b.app.focus != PaneTurns {
		t.Errorf(":turn 2 went to turn %d, pane %s", b.app.ctx.Scope.Turn, b.app.focus)
	}
	b.press("#", "9", "9", "enter")
	if !strings.Contains(b.app.toast.text, "has no turn 99") {
		t.Errorf("of a turn that is not there: %q", b.app.toast.text)
	}
}

// The panes that links name are those of the workbench.
func TestLinkPanes(t *testing.T) {
	var names []string
	for _, id := range paneOrder {
		names = append(names, string(id))
	}
	if !slices.Equal(names, link.Panes) {
		t.Errorf("links name %v, the panes are %v", link.Panes, names)
	}
}

// L writes the line at the top of a text, and the link goes to that line from elsewhere,
// in every pane with a text.
func TestLinkToALine(t *testing.T) {
	d := worked(t)
	b := newBench(t, d, 100, 30)
	b.app.ctx.Scope.Session, b.app.ctx.Scope.Turn = "s-0001", 2
	b.send(nil)
	b.pumpApp()
	// The trace: into a span with a long text, some lines down.
	b.press("3", "G", "up", "i", "down", "down", "down")
	l, ok := b.app.link()
	if !ok || l.Line < 2 || l.Pane != "trace" {
		t.Fatalf("the link is %+v", l)
	}
	p := b.app.panes[PaneTrace].(*tracePane)
	elsewhere := func() {
		b.t.Helper()
		b.press("o", "D", "1")
		b.app.ctx.Scope.Session, b.app.ctx.Scope.Turn, b.app.ctx.Scope.Span = b.head.ID, 0, ""
		b.send(nil)
	}
	elsewhere()
	b.run(b.app.openLink(l.String()))
	if p.Line() != l.Line || p.shown != l.Span || b.app.focus != PaneTrace {
		t.Errorf("%s went to line %d of span %s in %s", l, p.Line(), p.shown, b.app.focus)
	}
	if b.app.aim.line != 0 {
		t.Errorf("the aim is %+v", b.app.aim)
	}
	// The repair, and a rule: their rows.
	for _, keys := range [][]string{{"R", "5", "z", "g", "pgdown"}, {"R", "6", "z", "pgdown"}} {
		b := newBench(t, d, 60, 20)
		b.app.ctx.Scope.Session, b.app.ctx.Scope.Turn = "s-0001", 2
		b.send(nil)
		b.app.ctx.Scope.Rule = b.app.panes[PaneRules].(*rulesPane).list.Key()
		b.send(nil)
		b.press(keys...)
		b.frame()
		l, ok := b.app.link()
		if !ok || l.Line < 2 {
			t.Errorf("%v: the link is %+v", keys, l)
			continue
		}
		pane := b.app.panes[PaneID(l.Pane)].(liner)
		b.press("pgup", "pgup", "pgup", "D", "1")
		if pane.Line() == l.Line {
			t.Errorf("%v: line %d was not left", keys, l.Line)
		}
		b.run(b.app.openLink(l.String()))
		b.frame()
		if pane.Line() != l.Line {
			t.Errorf("%s went to line %d", l, pane.Line())
		}
	}
}

// Links to a notice, a verdict and a patch run go where these are shown.
func TestLinkKinds(t *testing.T) {
	b := newBench(t, worked(t), 160, 50)
	var n notice.Notice
	b.view(func(tx *store.Tx) error {
		list, err := tx.Notices(store.Window{Limit: 1})
		n = list[0]
		return err
	})
	b.run(b.app.openLink(n.Link()))
	if s := b.app.ctx.Scope; s.Notice != n.ID || s.Session != n.SessionID || s.Turn != n.TurnIndex || b.app.focus != PaneScores {
		t.Errorf("a notice went to %+v, pane %s", s, b.app.focus)
	}
	if err := b.store.Update(t.Context(), func(tx *store.Tx) error {
		return tx.PutVerdict(evidence.Verdict{ID: "v-9", RuleID: b.app.panes[PaneRules].(*rulesPane).list.Key(), At: noon, Outcome: evidence.Inconclusive})
	}); err != nil {
		t.Fatal(err)
	}
	b.run(b.app.openLink("vise://verdict/v-9"))
	if s := b.app.ctx.Scope; s.Verdict != "v-9" || s.Rule == "" || b.app.focus != PaneValidation {
		t.Errorf("a verdict went to %+v, pane %s", s, b.app.focus)
	}
	b.view(func(tx *store.Tx) error {
		found, command, err := FindLink(tx, Link{Kind: "verdict", ID: "v-9", Turn: NoTurn})
		if !found || command != "vise rules show "+b.app.ctx.Scope.Rule {
			t.Errorf("found %v, %q", found, command)
		}
		return err
	})
	b.run(b.app.openLink("vise://run/none"))
	if !strings.Contains(b.app.toast.text, "this project has no run/none") {
		t.Errorf("said %q", b.app.toast.text)
	}
}

// Ids on the screen are hyperlinks where the terminal takes them, and nowhere else.
func TestHyperlinks(t *testing.T) {
	for _, x := range []struct {
		env  []string
		want bool
	}{
		{nil, false},
		{[]string{"TERM=xterm-kitty"}, true},
		{[]string{"TERM=xterm-kitty", "NO_COLOR=1"}, false},
		{[]string{"TERM=xterm-256color", "TERM_PROGRAM=WezTerm"}, true},
		{[]string{"TERM=xterm-256color", "VTE_VERSION=4803"}, false},
		{[]string{"TERM=xterm-256color", "VTE_VERSION=6203"}, true},
		{[]string{"TERM=linux"}, false},
		{[]string{"TERM=dumb", "KITTY_WINDOW_ID=1"}, false},
		{[]string{"TERM=tmux-256color", "TMUX=/x", "TERM_PROGRAM=tmux", "TERM_PROGRAM_VERSION=3.4"}, true},
		{[]string{"TERM=tmux-256color", "TMUX=/x", "TERM_PROGRAM=tmux", "TERM_PROGRAM_VERSION=3.3a"}, false},
		{[]string{"TERM=screen", "STY=1.x", "KITTY_WINDOW_ID=1"}, false},
	} {
		if got := (Config{Env: x.env}).Hyperlinks(); got != x.want {
			t.Errorf("%v: %v", x.env, got)
		}
	}
	b := newBench(t, worked(t), 160, 50)
	b.app.ctx.Scope.Session, b.app.ctx.Scope.Turn = "s-0001", 2
	b.send(nil)
	plain := b.screen()
	if strings.Contains(strings.Join(b.frame(), ""), "\x1b]8;") {
		t.Error("a terminal that is not known gets hyperlinks")
	}
	b.app.look.options.Links = true
	b.run(b.app.restyled())
	frame := strings.Join(b.frame(), "\n") // which checks that rows have the same cells
	if got := b.screen(); got != plain {
		t.Errorf("hyperlinks change what is seen:\n%s", cmp.Diff(plain, got))
	}
	for _, want := range []string{"vise://session/s-0001", "vise://session/s-0001/turn/2", "vise://notice/"} {
		if !strings.Contains(frame, "\x1b]8;;"+want) {
			t.Errorf("no hyperlink to %s", want)
		}
	}
	if a, z := strings.Count(frame, "\x1b]8;;vise"), strings.Count(frame, "\x1b]8;;\x1b"); a != z {
		t.Errorf("%d hyperlinks begin, %d end", a, z)
	}
	b.step("?")
	b.frame()
	b.step("esc", "E")
	for _, want := range []string{"vise://rule/", "vise://episode/"} {
		if !strings.Contains(strings.Join(b.frame(), ""), "\x1b]8;;"+want) {
			t.Errorf("no hyperlink to %s", want)
		}
	}
}
