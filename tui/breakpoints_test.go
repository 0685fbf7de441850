package tui

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"

	"vise/engine/repair"
)

func (b *bench) screen() string { return ansi.Strip(strings.Join(b.frame(), "\n")) }

// screenHas fails unless the screen has all of the texts.
func (b *bench) screenHas(texts ...string) {
	b.t.Helper()
	screen := b.screen()
	for _, x := range texts {
		if !strings.Contains(screen, x) {
			b.t.Fatalf("the screen does not show %q:\n%s", x, screen)
		}
	}
}

// next waits for a checkpoint at which the app has not been yet.
func (b *bench) next() *Held {
	b.t.Helper()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(2 * time.Millisecond) {
		if h := b.hold.Waiting(); h != nil && h != b.app.ctx.Held {
			b.feed()
			return h
		}
	}
	b.t.Fatal("no checkpoint within a minute")
	return nil
}

// feed hands the app what has happened.
func (b *bench) feed() {
	b.t.Helper()
	for {
		batch, ok := b.sub.TryNext()
		if !ok {
			return
		}
		b.send(feedMsg{events: batch.Events, lost: batch.Lost > 0})
	}
}

// A person holds a repair at its first checkpoint, sets a breakpoint on what it will do,
// and lets it go on: it is held there, and every way to remove the breakpoint works.
func TestBreakpoints(t *testing.T) {
	d := newDesk(t, true)
	b := newBench(t, d, 120, 40)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- d.live(ctx, "s-live") }()
	if h := b.next(); h.Point != repair.BeforeModel || h.Break != "" {
		t.Fatalf("held at %s by %q first", h.Point, h.Break)
	}
	b.press("5", "b")
	b.screenHas("breakpoints", "none is set yet")
	b.typed("tool:nothing")
	b.press("enter")
	b.screenHas("there is no tool nothing; the repair agent has")
	b.press("esc")
	b.press(":")
	b.typed("break tool:rule_add")
	b.press("enter")
	b.screenHas("breakpoint tool:rule_add; c runs to it")
	b.press("c")
	h := b.next()
	if h.Call == nil || h.Call.Name != "harness_rule_add" || h.Break != "tool:rule_add" {
		t.Fatalf("held at %+v", h)
	}
	b.screenHas("held before tool at breakpoint tool:rule_add", "●+ 4 add", "+4 new")

	b.press("b") // the held call proposes itself
	b.screenHas("b tool:harness_rule_add", "● tool:rule_add", "down goes to those that are set")
	b.press("enter")
	b.screenHas("2 breakpoints: tool:rule_add, tool:harness_rule_add")
	if got := b.app.place().Breaks; len(got) != 2 {
		t.Errorf("the place keeps %q", got)
	}
	b.press("b", "down", "enter")
	b.screenHas("tool:harness_rule_add", "enter removes it")
	b.press("esc", "u")
	b.screenHas("undone: 2 breakpoints")
	b.press("u", "u")
	if len(d.hold.Breakpoints()) != 0 {
		t.Errorf("left are %v", d.hold.Breakpoints())
	}
	b.press("c")
	if err := <-ended; err != nil {
		t.Fatal(err)
	}

	again := newBench(t, d, 120, 40)
	again.app.settlePlace(Place{Breaks: []string{"cost>0.5", "of another version"}})
	if got := breakTexts(d.hold.Breakpoints()); len(got) != 1 || got[0] != "cost>0.5" {
		t.Errorf("taken over from the last time: %q", got)
	}
}
