package tui

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"vise/engine/episode"
	"vise/engine/event"
	"vise/engine/notice"
	"vise/engine/trace"
	"vise/store"
)

// pending puts sessions s-a and s-b, each with a notice of turn 2 that waits, and the
// episodes for them: that of s-a open, that of s-b cancelled.
func (b *bench) pending() {
	b.t.Helper()
	b.write(func(tx *store.Tx) error {
		for _, x := range []struct {
			of string
			st episode.Status
		}{{"a", episode.Open}, {"b", episode.Cancelled}} {
			if err := tx.PutSession(trace.Session{ID: "s-" + x.of, Origin: trace.Live, Started: noon}); err != nil {
				return err
			}
			if err := tx.PutNotice(notice.Notice{ID: "n-" + x.of, CreatedAt: "2026-03-16T11:58:00Z", SessionID: "s-" + x.of, TurnIndex: 2, Severity: notice.Breach,
				Summary: "tool_correctness 0.20 < 0.50", Status: notice.Pending}); err != nil {
				return err
			}
			e := episode.Episode{ID: "e-" + x.of, SessionID: "s-" + x.of, TurnIndex: 2, NoticeIDs: []string{"n-" + x.of}, CreatedAt: "2026-03-16T11:58:00Z", Status: x.st}
			if x.st != episode.Open {
				e.Attempts, e.Result = 1, &episode.Result{Status: x.st}
			}
			if err := tx.PutEpisode(e); err != nil {
				return err
			}
			if err := tx.Emit(event.Event{Type: event.Notice, NoticeID: "n-" + x.of, SessionID: "s-" + x.of}); err != nil {
				return err
			}
		}
		return nil
	})
	b.pumpApp()
}

// row is the row of Attention about an episode.
func (b *bench) row(episode string) AttentionItem {
	p := b.app.panes[PaneAttention].(*attentionPane)
	i := slices.IndexFunc(p.items, func(x AttentionItem) bool { return x.EpisodeID == episode })
	if i < 0 {
		return AttentionItem{}
	}
	p.cursor = i
	return p.items[i]
}

// A notice whose repair has not begun waits in a row of its own: a key repairs it, a key
// lets it be.
func TestANoticeWhoseRepairHasNotBegunWaits(t *testing.T) {
	b := newBench(t, newDesk(t, false), 160, 50)
	b.pending()
	b.step("8")
	x := b.row("e-a")
	if x.Kind != "notice" || !strings.Contains(x.Text, "breach waits for a repair: tool_correctness") || !strings.Contains(x.Do, "s repairs it") {
		t.Fatalf("the row says %+v", x)
	}
	if b.row("e-a"); !b.app.again() {
		t.Error("the footer does not offer its repair")
	}
	b.step("A")
	if got := b.row("e-a"); got.Kind != "" {
		t.Errorf("acknowledged, there is still %+v", got)
	}
	if b.row("e-b").Kind != "failed" {
		t.Error("the other one is gone as well")
	}
}

// More of them than are listed are counted.
func TestRepairsThatWaitAreCounted(t *testing.T) {
	b := newBench(t, newDesk(t, false), 160, 50)
	b.write(func(tx *store.Tx) error {
		for i := range attentionEach + 5 {
			id := fmt.Sprintf("%02d", i)
			if err := tx.PutNotice(notice.Notice{ID: "n-" + id, CreatedAt: "2026-03-16T11:58:00Z", SessionID: "s-a", TurnIndex: i, Severity: notice.Breach, Status: notice.Pending}); err != nil {
				return err
			}
			if err := tx.PutEpisode(episode.Episode{ID: "e-" + id, SessionID: "s-a", TurnIndex: i, NoticeIDs: []string{"n-" + id}, CreatedAt: "2026-03-16T11:58:00Z", Status: episode.Open}); err != nil {
				return err
			}
		}
		return tx.Emit(event.Event{Type: event.Notice, NoticeID: "n-00", SessionID: "s-a"})
	})
	b.pumpApp()
	items := b.app.panes[PaneAttention].(*attentionPane).items
	if n := len(items); n != attentionEach+1 || items[n-1].Text != "5 more repairs wait" {
		t.Errorf("%d rows, the last %+v", n, items[n-1])
	}
}

// A repair whose notice was acknowledged cannot be started again, and nothing says that it can.
func TestASettledRepairIsNotOfferedAgain(t *testing.T) {
	b := newBench(t, newDesk(t, false), 160, 50)
	b.pending()
	b.app.ctx.Scope.Session, b.app.ctx.Scope.Episode = "s-b", "e-b"
	b.send(nil)
	b.step("R", "5")
	b.screenHas("s starts it again", "s try again")
	b.step("8")
	b.row("e-b")
	b.step("A", "R", "5")
	b.screenHas("its notice waits no longer; r replays the session")
	if b.app.again() {
		t.Error("the footer offers it")
	}
	b.step("s")
	b.pumpApp()
	if n := len(b.app.ctx.Incidents); n != 0 || b.app.toast.text != "its notice waits no longer; r replays the session" {
		t.Errorf("%d errors, and it says %q", n, b.app.toast.text)
	}
	b.step("8", "u", "R", "5")
	b.screenHas("s starts it again")
}

// What stands beside a repair is about its session: back and forward take it along.
func TestTheScopeFollowsTheRepair(t *testing.T) {
	b := newBench(t, newDesk(t, false), 160, 50)
	b.pending()
	b.app.ctx.Scope.Session, b.app.ctx.Scope.Episode, b.app.ctx.Scope.Turn = "s-b", "e-b", 0
	b.send(nil)
	b.step("R", "5")
	s := b.app.ctx.Scope
	for _, x := range []struct{ key, episode, session string }{{"[", "e-a", "s-a"}, {"]", "e-b", "s-b"}} {
		b.step(x.key)
		b.pumpApp()
		if s.Episode != x.episode || s.Session != x.session || s.Turn != 2 {
			t.Errorf("after %s: %+v, want %s of %s", x.key, *s, x.episode, x.session)
		}
	}
	b.run(b.app.openLink("vise://episode/e-a"))
	b.pumpApp()
	if s.Episode != "e-a" || s.Session != "s-a" {
		t.Errorf("the link goes to %+v", *s)
	}
	// Who chooses a session meanwhile keeps it.
	s.Session = "s-b"
	b.send(nil)
	b.pumpApp()
	if s.Session != "s-b" || s.Episode != "e-b" {
		t.Errorf("after another session was chosen: %+v", *s)
	}
}
