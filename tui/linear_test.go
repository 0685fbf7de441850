package tui

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"vise/engine/event"
	"vise/engine/patch/run"
	"vise/engine/rule"
	"vise/store"
	"vise/tui/style"
)

// lines is a linear workbench over a bench and what it has written.
func lines(b *bench) (*linear, *strings.Builder) {
	out := &strings.Builder{}
	b.app.cfg.Linear = true
	b.app.look.options = style.Options{NoColor: true, ASCII: true, Words: true}
	b.app.restyled()
	return &linear{app: b.app, out: out, msgs: make(chan tea.Msg), ctx: b.t.Context(), crash: func(any, []byte) {}}, out
}

// A number means the row that was read under it, wherever it is by now.
func TestLinearRowIsTheOneThatWasRead(t *testing.T) {
	b := newBench(t, worked(t), linearW, linearH)
	l, out := lines(b)
	b.app.goTo(PaneTurns)
	b.app.ctx.Scope.Session, b.app.ctx.Scope.Turn = "s-0001", 0
	b.send(nil)
	l.pane()
	text := l.rows[2].text
	l.rows[2].y = l.rows[0].y // the rows have moved under it
	l.selectRow(3)
	if got := b.app.ctx.Scope.Turn; got != 2 {
		t.Errorf("row 3, %q, selects turn %d", text, got)
	}
	l.rows[2].text = "what is not there any more"
	out.Reset()
	if l.selectRow(3); !strings.Contains(out.String(), "Row 3 has changed since it was read") {
		t.Errorf("a row that is gone: %s", out)
	}
}

// A rule is read with its status alone: only one that is flagged or quarantined alerts.
func TestLinearRulesAlertOnlyWhereSomethingIsWrong(t *testing.T) {
	b := newBench(t, newDesk(t, false), linearW, linearH)
	b.write(func(tx *store.Tx) error {
		for _, st := range []rule.Status{rule.Active, rule.Candidate, rule.Retired, rule.Quarantined} {
			if err := tx.PutRule(rule.Rule{ID: "r-" + string(st), Scope: "global", Text: "text of " + string(st), Metric: "argument_correctness", Status: st}); err != nil {
				return err
			}
		}
		return tx.Emit(event.Event{Type: event.RuleAdd, RuleID: "r-active"})
	})
	b.pumpApp()
	l, out := lines(b)
	b.app.goTo(PaneRules)
	l.pane()
	for _, want := range []string{" active; ", " candidate; ", " retired; ", "alert quarantined"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not said", want)
		}
	}
	if n := strings.Count(out.String(), "alert "); n != 1 || strings.Contains(out.String(), "argument_correct...") {
		t.Errorf("%d rules alert:\n%s", n, out)
	}
}

// wait ends when a patch loop is held: it goes on by a command, which must be read.
func TestLinearWaitEndsAtAHeldPatchLoop(t *testing.T) {
	b := newBench(t, worked(t), linearW, linearH)
	l, _ := lines(b)
	b.app.conductor.running = Activity{Kind: Mending, Run: "p-1"}
	b.app.ctx.PatchHeld = &run.Loop{}
	done := make(chan bool, 1)
	go func() { done <- l.wait() }()
	select {
	case quit := <-done:
		if quit {
			t.Error("wait ends the program")
		}
	case <-time.After(time.Minute):
		t.Fatal("wait never comes back")
	}
}

// A line that is too long is told, and the next one is read.
func TestLinearLongLine(t *testing.T) {
	b := newBench(t, worked(t), linearW, linearH)
	l, out := lines(b)
	in := strings.NewReader(strings.Repeat("x", maxInput+10) + "\nturns\n")
	if err := l.run(t.Context(), in); err != nil {
		t.Fatal(err)
	}
	if text := out.String(); !strings.Contains(text, "more than 65,536 bytes is not taken") || !strings.Contains(text, "Pane Turns") {
		t.Errorf("said:\n%s", text)
	}
}

// A crash report never goes through a link that stands under its name.
func TestCrashReportIsANewFile(t *testing.T) {
	b := newBench(t, worked(t), 80, 24)
	dir := t.TempDir()
	other := filepath.Join(dir, "other")
	if err := os.WriteFile(other, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(dir, "crash-"+noon.UTC().Format("20060102-150405")+".txt")
	if err := os.Symlink(other, link); err != nil {
		t.Skip(err)
	}
	r := &runner{cfg: Config{ReportDir: dir, Now: b.cfg.Now}}
	file := r.report(&Crash{Cause: "x"}, b.app)
	if raw, err := os.ReadFile(other); err != nil || string(raw) != "mine" || file == "" || file == link {
		t.Errorf("the report is in %q, the other file holds %q, %v", file, raw, err)
	}
}

// A pane is read out when what was asked for is there, however long that takes: an answer
// of the store, and events on their way.
func TestLinearWaitsForAnswers(t *testing.T) {
	b := newBench(t, worked(t), linearW, linearH)
	l, _ := lines(b)
	bus := event.NewBus()
	sub := bus.Subscribe(16)
	l.behind = sub.Behind
	l.do(func() tea.Msg { time.Sleep(5 * linearRest); return sayMsg{"the answer", style.Good} })
	if l.settle(); b.app.toast.text != "the answer" {
		t.Errorf("not waited for a slow answer; the message is %q", b.app.toast.text)
	}
	bus.Publish(event.Event{Type: event.AgentIdle})
	go func() {
		batch, _ := sub.Next(t.Context())
		time.Sleep(5 * linearRest)
		l.send(feedMsg{events: batch.Events})
		l.send(sayMsg{"after the events", style.Good})
		_, _ = sub.TryNext()
	}()
	if l.settle(); b.app.toast.text != "after the events" {
		t.Errorf("not waited for the events; the message is %q", b.app.toast.text)
	}
	// A clock that goes on for ever is nothing to wait for.
	begun := time.Now()
	l.do(tea.Tick(time.Hour, func(time.Time) tea.Msg { return nil }))
	if l.settle(); time.Since(begun) > linearLimit/2 {
		t.Error("a timer was waited for")
	}
}
