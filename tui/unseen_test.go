package tui

import (
	"context"
	"reflect"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"vise/engine/episode"
	"vise/engine/event"
	"vise/engine/notice"
	"vise/store"
	"vise/tui/action"
)

// What a filter hides is not acted on.
func TestActsNeedARowThatIsSeen(t *testing.T) {
	b := newBench(t, worked(t), 160, 50)
	before := b.cases()
	for _, c := range []struct {
		pane PaneID
		acts []action.ID
	}{{PaneSessions, []action.ID{action.Replay, action.Protect}}, {PaneTurns, []action.ID{action.Protect, action.Replay}}} {
		b.run(b.app.goTo(c.pane))
		b.run(b.app.filter(c.pane, "zzzz", ""))
		for _, id := range c.acts {
			b.run(b.app.do(id, ""))
			if got := b.app.toast.text; !strings.Contains(got, "nothing is selected") {
				t.Errorf("%s in %s under a filter that passes nothing: %q", id, c.pane, got)
			}
		}
		b.run(b.app.filter(c.pane, "", ""))
		for _, id := range c.acts {
			if why := b.app.disabled(id); strings.Contains(why, "nothing is selected") {
				t.Errorf("%s in %s without a filter: %s", id, c.pane, why)
			}
		}
	}
	if got := b.cases(); len(got) != len(before) {
		t.Errorf("%d cases, %d before", len(got), len(before))
	}
}

func (b *bench) cases() (ids []string) {
	b.t.Helper()
	b.view(func(tx *store.Tx) error {
		list, err := tx.Cases("")
		for _, c := range list {
			ids = append(ids, c.ID)
		}
		return err
	})
	return ids
}

// q asks once while something would be cut off, and once only.
func TestQuitAsksWhileARepairIsHeld(t *testing.T) {
	d := newDesk(t, true)
	b := newBench(t, d, 120, 40)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- d.live(ctx, "s-live") }()
	b.next()
	quits := func(key string) bool {
		_, cmd := b.app.Update(press(key))
		return cmd != nil && strings.Contains(reflect.TypeOf(firstOf(cmd)).String(), "QuitMsg")
	}
	if quits("q") {
		t.Fatal("it ended without a word")
	}
	if !strings.Contains(b.app.toast.text, "a repair is held; q again ends it") {
		t.Errorf("it says %q", b.app.toast.text)
	}
	b.press("j") // another key: it was not meant
	if quits("q") {
		t.Error("the question was not asked again")
	}
	if !quits("q") {
		t.Error("the second q does not end it")
	}
	cancel()
	<-ended
}

// Where the workbench was left may be gone: then it says so and begins at the newest.
func TestResumeAtASessionThatIsGone(t *testing.T) {
	b := newBench(t, worked(t), 120, 40)
	p := b.app.place()
	p.Scope.Session, p.Scope.Turn = "s-none", 2
	b.run(b.app.goBack(p))
	b.pumpApp()
	if got := b.app.ctx.Scope.Session; got == "s-none" || got == "" {
		t.Errorf("it looks at %q", got)
	}
	if !strings.Contains(b.app.toast.text, "s-none was removed since") {
		t.Errorf("it says %q", b.app.toast.text)
	}
}

// Leaving a pane ends its search: marks that no key ends would stay.
func TestSearchEndsWithTheFocus(t *testing.T) {
	b := newBench(t, worked(t), 160, 50)
	b.run(b.app.goTo(PaneSessions))
	b.press("/")
	b.typed("blanket")
	b.press("enter")
	p := b.sessionsPane(PaneSessions)
	if p.find == "" {
		t.Fatal("nothing is searched")
	}
	b.press("tab")
	if p.find != "" {
		t.Errorf("it still marks %q", p.find)
	}
}

func (b *bench) sessionsPane(id PaneID) *sessionsPane { return b.app.panes[id].(*sessionsPane) }

// A notice that no repair has dealt with is shown, and A acknowledges it there.
func TestPendingNoticesWait(t *testing.T) {
	d := newDesk(t, false)
	d.size(PaneAttention, 100, 30)
	d.put(func(tx *store.Tx) error {
		for _, id := range []string{"n-1", "n-2", "n-3"} {
			if err := tx.PutNotice(notice.Notice{ID: id, SessionID: "s-1", CreatedAt: "2026-03-16T11:58:00Z", Severity: notice.Breach, Status: notice.Pending,
				Summary: "coherence=0.20 [breach, threshold 0.50]; tool_correctness=0.10 [breach, threshold 0.50] · traces s-1.0"}); err != nil {
				return err
			}
		}
		if err := tx.PutEpisode(episode.Episode{ID: "e-1", SessionID: "s-1", NoticeIDs: []string{"n-1", "n-2"}, CreatedAt: "2026-03-16T11:59:00Z", Status: episode.Cancelled, Attempts: 1}); err != nil {
			return err
		}
		return tx.Emit(event.Event{Type: event.Notice, NoticeID: "n-1", SessionID: "s-1"})
	})
	d.sees(PaneAttention, "repair cancelled, e-1", "A lets it be", "breach waits for a repair: coherence=0.20 [breach, threshold 0.50] and 1 more; n-3")
	p := d.panes[PaneAttention].(*attentionPane)
	for range 2 { // first the cancelled repair with its two notices, then the third
		p.cursor = 0
		cmd, ok := p.Do(d.ctx, action.Acknowledge)
		if !ok {
			t.Fatal("A means nothing here")
		}
		d.run(cmd)
		d.pump()
	}
	if len(p.items) != 0 {
		t.Errorf("left: %+v", p.items)
	}
	if err := d.store.View(func(tx *store.Tx) error {
		for _, id := range []string{"n-1", "n-2", "n-3"} {
			if n, _, err := tx.Notice(id); err != nil || n.Status != notice.Acknowledged {
				t.Errorf("%s is %s, %v", id, n.Status, err)
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}

// What is saved is a copy: it is written beside the keys that go on changing the state.
func TestPlaceIsACopy(t *testing.T) {
	b := newBench(t, worked(t), 120, 40)
	b.run(b.app.do(action.Wider, ""))
	b.app.saved["a"] = "status:fail"
	b.app.recent = []string{"view.zoom ", "run.replay "}
	p := b.app.place()
	again := b.app.place()
	b.app.saved["b"] = "x"
	b.app.remember(choice{Action: b.mustAction(action.Replay)})
	for _, w := range b.app.shape {
		for k := range w {
			delete(w, k)
		}
	}
	if !reflect.DeepEqual(p, again) {
		t.Errorf("the place changed after it was taken:\n%+v\n%+v", p, again)
	}
	if reflect.DeepEqual(p, b.app.place()) {
		t.Error("the change is not seen")
	}
}

func (b *bench) mustAction(id action.ID) action.Action {
	act, ok := b.app.reg.Action(id)
	if !ok {
		b.t.Fatalf("no action %s", id)
	}
	return act
}

// firstOf runs a command and unpacks what Update batched.
func firstOf(cmd tea.Cmd) tea.Msg {
	m := cmd()
	for {
		batch, ok := m.(tea.BatchMsg)
		if !ok || len(batch) == 0 || batch[0] == nil {
			return m
		}
		m = batch[0]()
	}
}
