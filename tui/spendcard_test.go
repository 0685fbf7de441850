package tui

import (
	"context"
	"errors"
	"testing"
)

// A replay that may cost money is asked about first; one that does not just starts.
func TestReplayThatCostsIsAskedAbout(t *testing.T) {
	b := newBench(t, worked(t), 100, 30)
	started := make(chan string, 4)
	b.app.conductor.replay = func(_ context.Context, session string) error { started <- session; return nil }
	b.app.ctx.Scope.Session = "s-0001"
	ahead := Ahead{Lines: []string{"the agent's model calls go out to toy; about $0.1234 for 1 run"}, Spends: true}
	var fails error
	b.app.cfg.Ahead = func(context.Context, string) (Ahead, error) { return ahead, fails }

	b.press("r")
	b.screenHas("This replay asks models", "about $0.1234", "enter runs it")
	b.press("esc")
	b.screenHas("nothing was started")
	if len(started) != 0 || len(b.app.overlays) != 0 {
		t.Fatalf("%d replays were started", len(started))
	}
	b.press("r", "enter")
	if got := <-started; got == "" {
		t.Error("no session was run")
	}
	b.app.conductor.work.Wait()

	ahead.Spends = false
	b.press("r")
	<-started
	b.app.conductor.work.Wait()

	fails = errors.New("the store is closed")
	b.press("r")
	b.screenHas("the store is closed")
	if len(started) != 0 {
		t.Error("a replay was started without its forecast")
	}
}
