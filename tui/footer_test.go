package tui

import (
	"regexp"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"vise/engine/patch"
	"vise/engine/patch/run"
	"vise/themes"
	"vise/tui/action"
	"vise/tui/style"
)

// A message that is longer than the screen is wrapped, not cut.
func TestLongMessages(t *testing.T) {
	b := newBench(t, worked(t), 80, 24)
	long := "first " + strings.Repeat("word ", 30) + "last"
	b.app.say(style.Warn, long)
	rows := b.frame()
	if text := ansi.Strip(strings.Join(rows[20:], " ")); !strings.Contains(text, "first") || !strings.Contains(text, "last") {
		t.Errorf("the message is not all there: %s", text)
	}
	b.app.say(style.Warn, strings.Repeat("word ", 500))
	if rows = b.frame(); !strings.Contains(rows[23], "…") || strings.Contains(rows[19], "word word") {
		t.Errorf("a message of any length takes more than %d rows, or does not say that there is more", maxFoot)
	}
	if b.press("j"); strings.Contains(strings.Join(b.frame(), ""), "word word") {
		t.Error("a key does not end it")
	}
}

// The footer begins with what the pane is about.
func TestFooterOfPanes(t *testing.T) {
	b := newBench(t, worked(t), 80, 24)
	for key, want := range map[string][]string{
		"1": {"enter open", "r replay", ": commands"},
		"2": {"enter open", "p protect"},
		"3": {"enter open", "[ ] time"},
		"6": {"X retire", "V validate it", "e edit", "!U restore"},
		"8": {"!a resume", ": commands"},
		"0": {"C run an agent", "!r replay"}, // r means another thing there
	} {
		b.press(key, "home")
		row := ansi.Strip(b.frame()[23])
		for _, w := range want {
			if not := strings.HasPrefix(w, "!"); strings.Contains(row, strings.TrimPrefix(w, "!")) == not {
				t.Errorf("in pane %s: %q in the footer: %s", key, w, row)
			}
		}
	}
}

// The names of the panes stand in the order of their numbers, which tab follows, and the
// one in focus is always among them.
func TestStripHasTheFocus(t *testing.T) {
	b := newBench(t, worked(t), 40, 12)
	last := 0
	b.press("1")
	for range len(b.app.inOrder()) {
		rows := b.frame()
		if n := number1(b.app.focus); n <= last {
			t.Errorf("tab leads from %d to %d", last, n)
		} else {
			last = n
		}
		if name := "▸" + digit(last) + " "; !strings.Contains(ansi.Strip(rows[1]), name) {
			t.Errorf("%q is not in the strip %q", name, ansi.Strip(rows[1]))
		}
		if !strings.Contains(ansi.Strip(rows[0]), "idle") {
			t.Errorf("the head does not say what is going on: %q", ansi.Strip(rows[0]))
		}
		b.press("tab")
	}
	if strip := ansi.Strip(b.app.strip()); b.app.focus != PaneSessions || !strings.Contains(strip, "…") {
		t.Errorf("the strip does not say that there are more: %q", strip)
	}
}

// A theme that a person chose by name is painted with its ground where the terminal does
// not tell its own; one that follows the terminal is not.
func TestChosenThemeIsPainted(t *testing.T) {
	list, err := themes.Builtin()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		theme, fgbg string
		reply       tea.Msg
		fill        bool
	}{
		{"light", "", nil, true},
		{"dark", "", nil, true},
		{"dark", "15;0", nil, false},
		{"light", "15;0", nil, true},
		{"auto", "", nil, false},
		{"auto:contrast-dark", "", nil, false},
		{"ansi", "", nil, false},
		{"light", "", tea.BackgroundColorMsg{Color: ansi.White}, false},
		{"light", "", tea.BackgroundColorMsg{Color: ansi.Black}, true},
	} {
		b := newBench(t, newDesk(t, false), 80, 24)
		a := newApp(t.Context(), Config{Theme: c.theme, Now: b.cfg.Now, themes: list, Env: []string{"COLORFGBG=" + c.fgbg}}, b.app.reg, &Conductor{})
		if c.reply != nil {
			a.Update(c.reply)
		}
		if got := a.look.options.Fill; got != c.fill {
			t.Errorf("%+v: painted %v", c, got)
		}
	}
}

// A painted ground has no hole, whatever is drawn on it: blanks, Markdown, lines, overlays.
func TestPaintedGroundHasNoHole(t *testing.T) {
	b := newBench(t, worked(t), 160, 45)
	b.app.look.chosen = "light"
	b.app.restyle()
	if !b.app.ctx.Style.Options().Fill {
		t.Fatal("the light theme is not painted on a dark terminal")
	}
	for _, keys := range [][]string{{"D"}, {"D", "3", "/"}, {"R"}, {"E"}, {"E", "6", "z"}, {"P"}, {"?"}, {":"}, {"T"}} {
		b.press("esc", "esc")
		b.press(keys...)
		for y, row := range b.frame() {
			ground := false
			for _, part := range regexp.MustCompile(`\x1b\[[0-9;]*m|[^\x1b]+|\x1b`).FindAllString(row, -1) {
				switch {
				case part == "\x1b[m" || part == "\x1b[0m":
					ground = false
				case strings.HasPrefix(part, "\x1b["):
					ground = ground || strings.Contains(part, "48;")
				case !ground:
					t.Fatalf("%q: row %d has a hole at %q: %q", keys, y, part, row)
				}
			}
		}
	}
}

// What is typed as a rule is wrapped at words with the cursor in its place, counted, and a
// paste that does not fit is told before it can become a rule.
func TestRuleEditTells(t *testing.T) {
	b := newBench(t, worked(t), 80, 24)
	b.press("6", "e")
	e := b.app.overlays[0].(*ruleEdit)
	e.input.SetValue("")
	b.typed("always check the order of the reports before a refund is issued and wait for its end")
	_, rows, x, y := e.Card(b.app, 40, 12)
	for _, want := range []string{"always check the order of the reports", "before a refund is issued and wait for"} {
		if text := ansi.Strip(strings.Join(rows, "\n")); !strings.Contains(text, want) {
			t.Errorf("%q is broken within a word:\n%s", want, text)
		}
	}
	if y != 2 || x != len("its end") {
		t.Errorf("the cursor stands at %d,%d", x, y)
	}
	b.send(tea.PasteMsg{Content: strings.Repeat("check it ", 400)})
	text := func() string { return ansi.Strip(strings.Join(b.frame(), "\n")) }
	if !strings.Contains(text(), "characters of the paste did not fit") || !strings.Contains(text(), "2,000 of 2,000 characters") {
		t.Errorf("a paste that was cut is not told:\n%s", text())
	}
	if b.press("enter"); len(b.app.overlays) == 0 {
		t.Error("enter makes a rule of what was cut at once")
	}
	b.press("esc")
}

// A proposed breakpoint gives way to the first letter; the one that was set is named first.
func TestBreakpointOffer(t *testing.T) {
	b := newBench(t, worked(t), 80, 24)
	c := &breakCard{input: newInput("tool:harness_rule_add"), offer: true}
	b.app.open(c)
	b.typed("cost>0.01")
	if got := c.input.Value(); got != "cost>0.01" {
		t.Errorf("the input holds %q", got)
	}
	_, rows, _, _ := c.Card(b.app, 44, 20)
	if text := ansi.Strip(strings.Join(rows, " ")); !strings.Contains(text, "verdict:unactionable") || !strings.Contains(text, "turn>3") {
		t.Errorf("the help is cut: %s", text)
	}
	if b.press("enter"); !strings.HasPrefix(b.app.toast.text, "breakpoint cost>0.01; c runs to it") {
		t.Errorf("said %q", b.app.toast.text)
	}
}

// A title never runs over the corner of its pane.
func TestTitleIsCut(t *testing.T) {
	b := newBench(t, worked(t), 120, 40)
	p := b.app.panes[PaneTurns].(*turnsPane)
	p.title = strings.Repeat("a long name ", 20)
	rows := boxed(&box{}, b.app.ctx.Style, p, 2, 30, 8, false)
	if top := ansi.Strip(rows[0]); !strings.HasSuffix(top, "─╮") || b.app.ctx.Style.Width(top) != 30 {
		t.Errorf("%q", top)
	}
}

// What an attempt does not allow has its reason, and what a row of Attention has nothing
// for is not offered.
func TestFooterOffersWhatIsPossible(t *testing.T) {
	b := newBench(t, worked(t), 80, 24)
	p := b.app.panes[PaneAttempts].(*attemptsPane)
	applied := &run.Applied{At: noon}
	for _, c := range []struct {
		r    run.Run
		id   action.ID
		want string
	}{
		{run.Run{ID: "p"}, action.PatchApply, "not proven"},
		{run.Run{ID: "p", Proof: &run.Proof{Verdict: run.NotProven}}, action.PatchApply, "not proven"},
		{run.Run{ID: "p", Proof: &run.Proof{Verdict: run.Proven}}, action.PatchApply, ""},
		{run.Run{ID: "p", Proof: &run.Proof{Verdict: run.Proven}, Applied: applied}, action.PatchApply, "applied already; "},
		{run.Run{ID: "p"}, action.PatchUndo, "not applied"},
		{run.Run{ID: "p", Applied: applied}, action.PatchUndo, ""},
	} {
		p.list.Set([]attemptRow{{run: c.r}}, false, false)
		ctx := *b.app.ctx
		ctx.Patch = &patch.Bench{}
		if got := p.Disabled(&ctx, c.id); got != c.want && (c.want == "" || !strings.Contains(got, c.want)) {
			t.Errorf("%s of %+v: %q, want %q", c.id, c.r, got, c.want)
		}
	}
	q := b.app.panes[PaneAttention].(*attentionPane)
	q.items, q.cursor = nil, 0
	b.press("8")
	for _, id := range []action.ID{action.Resume, action.Acknowledge, action.Into} {
		if b.app.live(id) {
			t.Errorf("%s is offered where nothing waits", id)
		}
	}
	if q.items = []AttentionItem{{Kind: "paused"}}; !b.app.live(action.Resume) {
		t.Error("a paused repair cannot be resumed")
	}
}
