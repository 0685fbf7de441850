package tui

import (
	"context"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"vise/store"
	"vise/tui/action"
)

// A workbench that only reads shows everything and refuses what would write, with the
// reason.
func TestReadOnly(t *testing.T) {
	d := worked(t)
	b := newBench(t, d, 160, 50)
	b.app.cfg.Harness, b.app.ctx.Harness = nil, nil
	b.app.cfg.ReadOnly = "this workbench only reads"
	before := lastSeqOf(t, d)
	for _, pane := range paneOrder {
		b.run(b.app.goTo(pane))
		for _, act := range action.Default().All() {
			if !act.For(string(pane)) {
				continue
			}
			if writing[act.ID] {
				if why := b.app.disabled(act.ID); why != "this workbench only reads" {
					t.Errorf("%s in %s: %q", act.ID, pane, why)
				}
				b.app.do(act.ID, "")
			}
		}
		b.run(b.app.do(action.Down, ""))
		b.frame()
	}
	if head := b.screen(); !strings.Contains(head, "read-only") || !strings.Contains(head, "torn-blanket") {
		t.Errorf("it shows\n%s", head)
	}
	if after := lastSeqOf(t, d); after != before {
		t.Errorf("the journal went on from %d to %d", before, after)
	}
}

func lastSeqOf(t *testing.T, d *desk) (seq uint64) {
	t.Helper()
	if err := d.store.View(func(tx *store.Tx) error {
		list, err := tx.LastEvents(1)
		if len(list) > 0 {
			seq = list[0].Seq
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return seq
}

// What another process writes reaches a workbench that only reads.
func TestLookAgain(t *testing.T) {
	d := worked(t)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	told, ended := make(chan tea.Msg, 64), make(chan struct{})
	go func() {
		defer close(ended)
		lookAgain(ctx, d.store, time.Millisecond, func(m tea.Msg) { told <- m })
	}()
	time.Sleep(5 * time.Millisecond)
	if len(told) > 0 {
		t.Error("told of a change while nothing was written")
	}
	if _, err := d.harness.RenameSession(t.Context(), "torn-blanket", "mine"); err != nil {
		t.Fatal(err)
	}
	select {
	case m := <-told:
		if f, ok := m.(feedMsg); !ok || !f.lost {
			t.Errorf("told %#v", m)
		}
	case <-time.After(time.Minute):
		t.Fatal("a rename was not told")
	}
	stop()
	<-ended
}
