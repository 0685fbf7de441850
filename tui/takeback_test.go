package tui

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"vise/engine/event"
	"vise/engine/notice"
	"vise/engine/rule"
	"vise/store"
	"vise/tui/action"
)

// How every action is taken back. A new action has to be added here, with one of: it only
// looks; u takes it back; it asks before; the action that is its opposite; it starts or
// steers a run, which adds to what is there and replaces nothing.
const (
	looks = "looks"
	byU   = "u"
	asks  = "asks"
	runs  = "runs"
)

var takenBack = func() map[action.ID]string {
	m := map[action.ID]string{
		action.Quit: asks, action.Resume: asks, action.Discard: asks,
		action.PatchApply: string(action.PatchUndo), action.PatchUndo: string(action.PatchApply),
		action.Undo: string(action.Redo), action.Redo: string(action.Undo),
	}
	for how, ids := range map[string][]action.ID{
		looks: {action.Up, action.Down, action.Left, action.Right, action.PageUp, action.PageDown, action.Home, action.End, action.Into, action.Out,
			action.Escape, action.Toggle, action.FocusNext, action.FocusPrev, action.Focus1, action.Focus2, action.Focus3, action.Focus4, action.Focus5,
			action.Focus6, action.Focus7, action.Focus8, action.Focus9, action.Focus0, action.ViewDebug, action.ViewRepair, action.ViewEvidence,
			action.ViewPatch, action.Zoom, action.Half, action.Mouse, action.Redraw, action.Log, action.Back, action.Forward, action.NextProblem,
			action.PrevProblem, action.Diff, action.Search, action.Turn, action.Open, action.Pick, action.Copy, action.CopyCommand, action.CopyLink,
			action.Audit, action.Palette, action.Help, action.Suspend},
		runs: {action.Replay, action.Import, action.Score, action.Agent, action.Step, action.Continue, action.Cancel, action.Validate, action.ValidateOne,
			action.Fork, action.PatchRepair},
		byU: {action.Wider, action.Narrower, action.Taller, action.Lower, action.Level, action.Themes, action.Breakpoint, action.Filter, action.KeepFilter,
			action.Acknowledge, action.Retire, action.Restore, action.Edit, action.Retest, action.Protect, action.Rename, action.Pin, action.Remove,
			action.Accept}, // Breakpoint: TestBreakpoints; Accept: TestForkInThePane
	} {
		for _, id := range ids {
			m[id] = how
		}
	}
	return m
}()

// No act is without a way back or a question before it; what u takes back is done here and
// taken back.
func TestEveryActCanBeTakenBackOrAsks(t *testing.T) {
	all := map[action.ID]bool{}
	for _, x := range action.Default().All() {
		all[x.ID] = true
		if takenBack[x.ID] == "" {
			t.Errorf("nobody knows how %s is taken back", x.ID)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(takenBack)) {
		if how := takenBack[id]; !all[id] || how != looks && how != byU && how != asks && how != runs && !all[action.ID(how)] {
			t.Errorf("%s is taken back by %q: one of them is no action", id, how)
		}
	}
	b := newBench(t, worked(t), 160, 50)
	b.put(func(tx *store.Tx) error {
		if err := tx.PutNotice(notice.Notice{ID: "n-left", CreatedAt: "2026-03-16T11:58:00Z", SessionID: "s-0001", TurnIndex: 1, Severity: notice.NeedsHuman,
			Summary: "look at it", Status: notice.Pending}); err != nil {
			return err
		}
		return tx.Emit(event.Event{Type: event.Notice, NoticeID: "n-left", SessionID: "s-0001"})
	})
	b.pumpApp()
	id := b.app.panes[PaneRules].(*rulesPane).list.Key()
	session := func() { b.app.ctx.Scope.Session = "s-0001"; b.send(nil); b.step("1") }
	for _, x := range []struct {
		id action.ID
		do func()
	}{
		{action.Wider, func() { b.step(">") }}, {action.Narrower, func() { b.step("<") }}, {action.Taller, func() { b.step("3", "+") }},
		{action.Lower, func() { b.step("3", "-") }}, {action.Level, func() { b.step(">", "=") }},
		{action.Themes, func() { b.send(doMsg{action.Themes, "light"}) }},
		{action.Filter, func() { b.step("1"); b.send(doMsg{action.Filter, "status:alert"}) }},
		{action.KeepFilter, func() {
			b.step("1")
			b.send(doMsg{action.Filter, "status:alert"})
			b.send(doMsg{action.KeepFilter, "bad"})
		}},
		{action.Retire, func() { b.step("6", "X") }},
		{action.Edit, func() { b.step("6"); b.send(doMsg{action.Edit, "Ask for the reason code first."}) }},
		{action.Protect, func() { session(); b.app.ctx.Scope.Turn = 1; b.send(nil); b.step("2", "p") }},
		{action.Rename, func() { session(); b.send(doMsg{action.Rename, "Blanket"}) }},
		{action.Pin, func() { session(); b.step("*") }},
		{action.Remove, func() { session(); b.step("X") }},
		{action.Acknowledge, func() { b.step("8", "g"); b.seek("n-left"); b.step("A") }},
		{action.Retest, func() {
			b.put(func(tx *store.Tx) error {
				r, _, err := tx.Rule(id)
				r.Status = rule.Active
				if err != nil {
					return err
				}
				if err := tx.PutRule(r); err != nil {
					return err
				}
				return tx.Emit(event.Event{Type: event.RulePromote, RuleID: id})
			})
			b.app.ctx.Scope.Rule = id
			b.pumpApp()
			b.step("6", "t")
		}},
		{action.Restore, func() {
			b.app.ctx.Scope.Rule = id
			b.send(nil)
			b.step("6", "X")
			b.app.acts = acts{}
			b.step("U")
		}},
	} {
		if takenBack[x.id] != byU {
			t.Errorf("%s is taken back by %q", x.id, takenBack[x.id])
		}
		n := b.app.acts.next
		b.app.toast.text = ""
		x.do()
		if x.id == action.Restore {
			n = 0
		}
		if b.app.acts.next <= n {
			t.Errorf("%s is no act for u; said %q", x.id, b.app.toast.text)
			continue
		}
		for b.app.acts.next > n {
			b.step("u")
			if !strings.HasPrefix(b.app.toast.text, "undone: ") {
				t.Fatalf("u after %s said %q", x.id, b.app.toast.text)
			}
		}
	}
}

// seek puts the cursor of Attention on the row of a notice.
func (b *bench) seek(id string) {
	b.t.Helper()
	p := b.app.panes[PaneAttention].(*attentionPane)
	p.cursor = slices.IndexFunc(p.items, func(x AttentionItem) bool { return x.NoticeID == id })
	if p.cursor < 0 {
		b.t.Fatalf("no row of %s in %+v", id, p.items)
	}
}

// What was acknowledged waits again after u, in the store and in the pane, and is
// acknowledged after ctrl+r; an error that was dismissed comes back to its place. Neither
// is done to errors of another start.
func TestUndoAcknowledge(t *testing.T) {
	b := newBench(t, worked(t), 160, 50)
	b.put(func(tx *store.Tx) error {
		if err := tx.PutNotice(notice.Notice{ID: "n-left", CreatedAt: "2026-03-16T11:58:00Z", SessionID: "s-0001", TurnIndex: 1, Severity: notice.NeedsHuman,
			Summary: "look at it", Status: notice.Pending}); err != nil {
			return err
		}
		return tx.Emit(event.Event{Type: event.Notice, NoticeID: "n-left", SessionID: "s-0001"})
	})
	b.app.incident("replay of x", errors.New("older zebra"))
	b.app.incident("replay of y", errors.New("newer zebra"))
	b.run(b.app.apply(Change{Incidents: true}))
	b.pumpApp()
	status := func() (s notice.Status) {
		b.view(func(tx *store.Tx) error {
			n, _, err := tx.Notice("n-left")
			s = n.Status
			return err
		})
		return s
	}
	b.step("8")
	b.seek("n-left")
	b.step("A")
	if status() != notice.Acknowledged || strings.Contains(b.screen(), "needs_human") {
		t.Fatalf("A left it %s:\n%s", status(), b.screen())
	}
	b.screenHas("notice n-left is acknowledged; u takes it back")
	b.step("u")
	b.screenHas("undone: notice n-left waits again", "needs_human: look at it")
	if b.redo(); status() != notice.Acknowledged {
		t.Errorf("ctrl+r left it %s", status())
	}
	b.step("g", "j", "A")
	b.screenHas("the error is dismissed; u brings it back", "newer zebra", "1 error")
	if strings.Contains(b.screen(), "older zebra") {
		t.Error("the dismissed one is there")
	}
	if p := b.app.place(); len(p.Acts) != 1 || p.Undone != 0 {
		t.Errorf("kept for the next start: %+v", p.Acts)
	}
	b.step("u")
	b.screenHas("undone: the error is back", "2 errors", "older zebra")
	if x := b.app.ctx.Incidents; x[0].Err.Error() != "older zebra" {
		t.Errorf("it came back to another place: %v", x)
	}
	if b.redo(); len(b.app.ctx.Incidents) != 1 {
		t.Errorf("ctrl+r left %v", b.app.ctx.Incidents)
	}
}

// Repair goes on at the second press: the first says what it does.
func TestResumeAsks(t *testing.T) {
	b := newBench(t, worked(t), 160, 50)
	b.put(func(tx *store.Tx) error {
		if err := tx.PutState("repair/paused", map[string]string{"notice_id": "n-1", "at": "2026-03-16T11:58:00Z"}); err != nil {
			return err
		}
		return tx.Emit(event.Event{Type: event.Notice, NoticeID: "n-1", SessionID: "s-1"})
	})
	b.pumpApp()
	paused := func() (is bool) {
		b.view(func(tx *store.Tx) (err error) {
			var x any
			is, err = tx.State("repair/paused", &x)
			return err
		})
		return is
	}
	b.step("8", "a")
	b.screenHas("a again lets repair go on for all that comes; it cannot be taken back")
	b.step("j", "a")
	if !paused() {
		t.Fatal("a key in between was no answer")
	}
	b.step("a")
	if paused() {
		t.Errorf("it is paused:\n%s", b.screen())
	}
	b.screenHas("repair goes on")
}
