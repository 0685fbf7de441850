package tui

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
)

// The log in the workbench: it follows what is written while the cursor is at the end,
// stays where a person reads, shows a level and above, and what a filter lets through.
func TestLogCard(t *testing.T) {
	file := filepath.Join(t.TempDir(), "workbench.log")
	write := func(level, msg string, n int) {
		t.Helper()
		f, err := os.OpenFile(file, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		for i := range n {
			fmt.Fprintf(f, `{"time":"2026-03-16T09:00:00Z","level":%q,"msg":"%s %03d"}`+"\n", level, msg, i)
		}
	}
	write("DEBUG", "act", 60)
	write("WARN", "late", 1)
	write("INFO", "done", 60)
	b := newBench(t, newDesk(t, false), 100, 30)
	b.app.cfg.LogFile = file
	b.press("~")
	card := b.app.overlays[0].(*logCard)
	sees := func(want string) {
		t.Helper()
		if text := ansi.Strip(strings.Join(b.frame(), "\n")); !strings.Contains(text, want) {
			t.Fatalf("it does not show %q:\n%s", want, text)
		}
	}
	look := func() { b.send(logLook{card}) }
	sees("done 059")
	sees("following")
	write("INFO", "more", 1)
	look()
	sees("more 000")
	b.press("N")
	sees("late 000")
	write("INFO", "again", 3)
	look()
	sees("late 000")
	sees("64 below, end follows")
	b.press("end")
	sees("again 002")
	b.press("l", "l")
	sees("from warn")
	if n := card.list.Len(); n != 1 {
		t.Errorf("%d records of warn and above, want 1", n)
	}
	b.press("l", "l", "/", "a", "c", "t", "~")
	sees("none of 125 records is shown")
	b.press("esc")
	if n := card.list.Len(); n != 125 || card.typed {
		t.Errorf("after the filter %d records, want 125", n)
	}
	b.press("Y", "esc")
	if len(b.app.overlays) > 0 {
		t.Error("the card did not close")
	}
	look() // of a card that is closed: nothing is read any more
	if card.asked {
		t.Error("a closed card reads on")
	}
}
