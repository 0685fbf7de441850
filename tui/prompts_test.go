package tui

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"vise/tui/action"
)

// Enter on a filter that cannot be read leaves the prompt open with what is wrong: what
// one types next mends it and runs nothing.
func TestFilterPromptStaysUntilItCanBeRead(t *testing.T) {
	b := newBench(t, worked(t), 80, 24)
	b.press("1", "f")
	b.typed("score<")
	b.press("enter")
	if b.app.filtering == nil {
		t.Fatal("the prompt is gone")
	}
	if text := ansi.Strip(strings.Join(b.frame()[20:], " ")); !strings.Contains(text, "a number follows: score<0.5") || !strings.Contains(text, "filter score<") {
		t.Errorf("the mistake is not told: %s", text)
	}
	b.typed("0.9")
	b.press("enter")
	if got := b.app.panes[PaneSessions].(Filterer).Filtered(); got != "score<0.9" || b.app.filtering != nil {
		t.Errorf("the filter in force is %q", got)
	}
	b.press("f", "esc", "esc")
	if said := b.app.toast.text; !strings.Contains(said, "the filter score<0.9 has ended; u brings it back") {
		t.Errorf("esc removes a filter and says %q", said)
	}
	b.press("f")
	b.typed("@nope")
	b.press("enter")
	if b.app.filtering == nil || !strings.Contains(b.app.filtering.wrong, "kept are none: F keeps") {
		t.Errorf("a name that is not kept: %+v", b.app.filtering)
	}
}

// Up brings the filters that were in force before, in the prompt and in the palette.
func TestFilterHistory(t *testing.T) {
	b := newBench(t, worked(t), 120, 40)
	for _, text := range []string{"turns>1", "status:fail"} {
		b.press("1", "f")
		b.typed(text)
		b.press("enter", "esc")
	}
	b.press("f", "x", "up", "up")
	if got := b.app.filtering.input.Value(); got != "turns>1" {
		t.Errorf("the second earlier filter is %q", got)
	}
	b.press("up", "down", "down")
	if got := b.app.filtering.input.Value(); got != "x" {
		t.Errorf("what was typed is %q", got)
	}
	b.press("esc", ":")
	b.typed("filter ")
	p := b.app.overlays[0].(*palette)
	if !slices.ContainsFunc(p.shown, func(c choice) bool { return c.ID == action.Filter && c.arg == "turns>1" }) {
		t.Errorf("the palette does not offer it: %+v", p.shown)
	}
}

// Tab makes the last word one of the keys, of the values of a key, or of the kept filters.
func TestFilterOffers(t *testing.T) {
	b := newBench(t, worked(t), 120, 40)
	b.app.saved["bad"] = "status:fail"
	for _, c := range []struct{ typed, keys, want string }{
		{"sc", "tab", "score<"},
		{"turns>1 st", "tab", "turns>1 status:"},
		{"status:", "tab", "status:fail"},
		{"status:", "tab tab", "status:ok"},
		{"!status:fail|", "tab tab tab", "!status:fail|alert"},
		{"@", "tab", "@bad"},
		{"nothing", "tab", "nothing"},
	} {
		b.press("1", "f")
		b.typed(c.typed)
		b.press(strings.Fields(c.keys)...)
		if got := b.app.filtering.input.Value(); got != c.want {
			t.Errorf("%q, %s: %q, want %q", c.typed, c.keys, got, c.want)
		}
		b.press("esc")
	}
	b.app.ctx.Scope.Session, b.app.ctx.Scope.Turn = "s-0001", 2
	b.send(nil)
	b.press("3", "f")
	b.typed("tool:iss")
	if b.press("tab"); b.app.filtering.input.Value() != "tool:issue_refund" {
		t.Errorf("the tools of the turn are not offered: %q", b.app.filtering.input.Value())
	}
}

// The session that was found stays selected when the filter ends.
func TestFilterEndKeepsTheRow(t *testing.T) {
	b := newBench(t, worked(t), 120, 40)
	b.press("1", "f")
	b.typed("origin:recorded")
	b.press("enter")
	found := b.app.ctx.Scope.Session
	b.press("esc")
	if p := b.app.panes[PaneSessions].(*sessionsPane); p.list.Len() < 2 || p.list.Key() != found || b.app.ctx.Scope.Session != found {
		t.Errorf("of %d sessions %q is selected, %q in scope, want %q", p.list.Len(), p.list.Key(), b.app.ctx.Scope.Session, found)
	}
	// A filter of turns that passes none says so.
	b.press("2", "f")
	b.typed("nowhere")
	b.press("enter")
	b.shows(PaneTurns, "nothing passes the filter nowhere", "!No turns yet")
}

// ctrl+z suspends while something is typed too.
func TestSuspendInAPrompt(t *testing.T) {
	if !stoppable() {
		t.Skip("there is no shell to go back to")
	}
	b := newBench(t, worked(t), 120, 40)
	for _, open := range []string{"f", "/", ":", "?"} {
		b.press("1", open)
		b.app.lastAct = ""
		if b.app.Update(tea.KeyPressMsg{Code: 'z', Mod: tea.ModCtrl}); b.app.lastAct != action.Suspend {
			t.Errorf("in %s ctrl+z runs %q", open, b.app.lastAct)
		}
		b.press("esc", "esc")
	}
}

// In tmux a text goes on the clipboard through tmux, and through the terminal only when
// that fails.
func TestCopyInTmux(t *testing.T) {
	dir := t.TempDir()
	got := filepath.Join(dir, "got")
	script := func(text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, "tmux"), []byte("#!/bin/sh\n"+text+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	b := newBench(t, worked(t), 120, 40)
	b.app.cfg.Env = append(os.Environ(), "TMUX=/tmp/tmux-0/default,1,0", "DISPLAY=")
	copied := func(text string) tea.Msg {
		t.Helper()
		cmd := b.app.clip(text)
		for { // a batch of one is the command itself
			switch m := cmd().(type) {
			case tea.BatchMsg:
				cmd = m[len(m)-1]
			default:
				return m
			}
		}
	}
	script(`[ "$*" = "load-buffer -w -" ] && cat > ` + got)
	if m, ok := copied("a text").(sayMsg); !ok || !strings.HasPrefix(m.text, "copied 6 bytes with tmux") {
		t.Errorf("said %+v", m)
	}
	if raw, err := os.ReadFile(got); err != nil || string(raw) != "a text" {
		t.Errorf("tmux got %q, %v", raw, err)
	}
	script("exit 1")
	m, ok := copied("a text").(notCopied)
	if !ok || m.text != "a text" || !strings.Contains(m.said.text, "where set-clipboard is on; tmux failed") {
		t.Errorf("when tmux fails: %+v", m)
	}
	if raw := b.app.osc52("x")().(tea.RawMsg).Msg.(string); !strings.HasPrefix(raw, "\x1b]52;") || !strings.Contains(raw, "\x1bPtmux;") {
		t.Errorf("both forms are to be sent, got %q", raw)
	}
}
