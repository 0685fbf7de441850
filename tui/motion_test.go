package tui

import (
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Only motion.go lets something move: no spinner or animation is used, and nothing but
// it, the end of a message and what waits for an answer is drawn by a timer.
func TestNothingElseMoves(t *testing.T) {
	timers := map[string]string{
		"logcard.go": "the next look at the log while its card is open",
		"motion.go":  "the clock in the header", "app.go": "first paint and the end of a message", "sheet.go": "panes that look again for what no event tells",
		"notify.go": "the next notification", "uistate.go": "saving where one is", "filterbar.go": "a pause in typing",
	}
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	more, err := filepath.Glob("*/*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range append(files, more...) {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, raw, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range f.Imports {
			for _, moving := range []string{"bubbles/v2/spinner", "bubbles/v2/progress", "bubbles/v2/stopwatch", "bubbles/v2/timer", "harmonica"} {
				if strings.Contains(i.Path.Value, moving) {
					t.Errorf("%s imports %s: what moves belongs into motion.go", file, i.Path.Value)
				}
			}
		}
		for _, timer := range []string{"tea.Tick(", "tea.Every("} {
			if strings.Contains(string(raw), timer) && timers[file] == "" {
				t.Errorf("%s uses %s: what moves belongs into motion.go", file, timer)
			}
		}
		if strings.ContainsAny(string(raw), "⠋⠙⠹⠸⣾⣽⣻") {
			t.Errorf("%s draws a spinner", file)
		}
	}
}

// Without motion what runs is a word, and no clock runs.
func TestStill(t *testing.T) {
	for _, c := range []struct {
		cfg  Config
		want bool
	}{{Config{}, false}, {Config{NoMotion: true}, true}, {Config{Env: []string{"VISE_MOTION=0"}}, true}, {Config{NoMotion: true, Env: []string{"VISE_MOTION=1"}}, false}} {
		if got := c.cfg.still(); got != c.want {
			t.Errorf("%+v: %v", c.cfg, got)
		}
	}
	b := newBench(t, worked(t), 120, 40)
	b.app.still = true
	b.app.conductor.running = Activity{Kind: Validating, Since: noon}
	b.send(activityMsg{now: b.app.conductor.running})
	if b.app.tick() != nil {
		t.Error("a clock runs")
	}
	if !strings.Contains(b.frame()[0], "[busy]") {
		t.Errorf("the header does not say [busy]: %q", b.frame()[0])
	}
}
