package tui

import (
	"context"
	"errors"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"vise/tui/action"
)

// Import, scoring a recording and running a coding agent are done by the workbench itself:
// beside it no other process can write.
func TestErrands(t *testing.T) {
	b := newBench(t, worked(t), 120, 40)
	told := make(chan tea.Msg, 16)
	b.app.conductor.send = func(m tea.Msg) { told <- m }
	type call struct {
		id  action.ID
		arg string
	}
	var calls []call
	broken := errors.New("no such file")
	b.app.conductor.errands = map[action.ID]Errand{}
	for id := range errands {
		b.app.conductor.errands[id] = func(_ context.Context, arg string) (string, error) {
			calls = append(calls, call{id, arg})
			if arg == "nowhere" {
				return "", broken
			}
			return "did " + string(id), nil
		}
	}
	for _, c := range []struct {
		id  action.ID
		arg string
		is  string
	}{{action.Import, "~/my recordings", "~/my recordings"}, {action.Score, "", "torn-blanket"}, {action.Agent, "codex exec 'mend'", "codex exec 'mend'"}} {
		if c.id == action.Score {
			b.app.ctx.Scope.Session = "torn-blanket"
		}
		b.run(b.app.do(c.id, c.arg))
		if m := (<-told).(activityMsg); m.now.Kind != errands[c.id] || m.now.name() != string(m.now.Kind)+" of "+c.is {
			t.Errorf("%s began as %q", c.id, m.now.name())
		}
		if m := (<-told).(sayMsg); m.text != "did "+string(c.id) {
			t.Errorf("%s says %q", c.id, m.text)
		}
		<-told // it has ended
		if got := calls[len(calls)-1]; got != (call{c.id, c.is}) {
			t.Errorf("%s was done as %v", c.id, got)
		}
		b.app.conductor.work.Wait()
	}
	b.run(b.app.do(action.Import, "nowhere"))
	<-told
	if m := (<-told).(activityMsg); !errors.Is(m.err, broken) {
		t.Errorf("it ended with %v", m.err)
	}
	// Without what it is about it asks.
	b.press("I")
	if len(b.app.overlays) != 1 || !strings.Contains(b.screen(), "import") {
		t.Error("I does not ask for a path")
	}
}
