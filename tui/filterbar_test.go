package tui

import (
	"fmt"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"vise/engine/event"
	"vise/engine/trace"
	"vise/store"
)

// typed presses keys and lets the pause pass.
func (b *bench) typed(text string) {
	b.t.Helper()
	for _, r := range text {
		b.press(string(r))
	}
	if b.app.filtering != nil {
		b.send(filterMsg{b.app.filtering.typed})
	}
}

func (b *bench) shows(id PaneID, want ...string) {
	b.t.Helper()
	text := strings.Join(b.app.panes[id].Rows(), "\n") + b.app.panes[id].Badge()
	for _, w := range want {
		not := strings.HasPrefix(w, "!")
		if strings.Contains(text, strings.TrimPrefix(w, "!")) == not {
			b.t.Errorf("pane %s: %q\n%s", id, w, text)
		}
	}
}

// f filters while it is typed; enter keeps, esc brings back, u undoes; counts are shown.
func TestFilterSessions(t *testing.T) {
	b := newBench(t, worked(t), 160, 50)
	b.press("1", "f")
	b.typed("origin:recorded")
	b.shows(PaneSessions, "torn-blanket", "!↻", "filter 1 of 2")
	if row := b.frame()[49]; !strings.Contains(row, "1 of 2") {
		t.Errorf("the bar does not count: %q", row)
	}
	b.press("esc")
	b.shows(PaneSessions, "↻", "!filter")
	b.press("f")
	b.typed("tool:issue_refund status:fail")
	b.shows(PaneSessions, "filter 2 of 2")
	b.typed(" speed<3")
	if row := strings.Join(b.frame()[48:], ""); !strings.Contains(row, "there is no speed here") {
		t.Errorf("a mistake is not told: %q", row)
	}
	b.press("esc", "f")
	b.typed("nowhere")
	b.press("enter")
	b.shows(PaneSessions, "nothing passes the filter nowhere", "filter 0 of 2")
	b.press("u")
	b.shows(PaneSessions, "torn-blanket", "!filter")
	b.press("f")
	b.typed("status:fail")
	b.press("enter")
	b.app.do("find.keep", "bad")
	b.press("esc")
	b.shows(PaneSessions, "!filter")
	b.press("f")
	b.typed("@bad")
	b.press("enter")
	b.shows(PaneSessions, "filter 2 of 2")
	if b.app.panes[PaneSessions].(Filterer).Filtered() != "status:fail" {
		t.Error("@bad is not what was kept")
	}
	// A session that is removed, and one that comes, are known to the filter.
	if err := b.store.Update(t.Context(), func(tx *store.Tx) error {
		return tx.PutSession(trace.Session{ID: "s-new", Origin: trace.Live, Started: noon})
	}); err != nil {
		t.Fatal(err)
	}
	b.app.filter(PaneSessions, "", "")
	b.press("f")
	b.typed("s-new")
	b.press("enter")
	b.shows(PaneSessions, "filter 1 of 3")
	b.send(feedMsg{events: []event.Event{{Type: event.AgentExited, SessionID: "s-new"}}})
	b.send(wake{PaneSessions, "sift"})
	b.shows(PaneSessions, "filter 1 of 3")
}

func TestFilterTurnsAndTrace(t *testing.T) {
	b := newBench(t, worked(t), 160, 50)
	b.app.ctx.Scope.Session, b.app.ctx.Scope.Turn = "s-0001", 2
	b.send(nil)
	b.press("2", "f")
	b.typed("status:fail")
	b.press("enter")
	b.shows(PaneTurns, "filter 1 of 3", "garden hose", "!wool blanket")
	b.press("esc")
	b.shows(PaneTurns, "wool blanket", "!filter")
	b.press("f")
	b.typed("tool:issue turn<2")
	b.press("enter")
	b.shows(PaneTurns, "filter 1 of 3", "wool blanket", "!garden hose")
	b.press("esc", "end", "3", "f")
	b.typed("kind:tool status:fail")
	b.press("enter")
	b.shows(PaneTrace, "filter 2 of", "issue_refund", "!look_up_order")
	b.press("7")
	if b.app.do("find.filter", ""); !strings.Contains(b.app.toast.text, "this pane has no filter") {
		t.Errorf("in a pane without one: %q", b.app.toast.text)
	}
}

// 100,000 sessions in the index: the rows are filtered off the update goroutine, and a
// newer filter ends the older one. The budget is 50 ms for the filtering.
func BenchmarkFilterSessions(b *testing.B) {
	b.ReportAllocs()
	d := newDesk(b, false)
	p := newSessions()
	p.see(d.ctx, Change{})
	p.sieve.whole = true
	for i := range sessionsIndexed {
		p.sieve.index = append(p.sieve.index, sessionFacts{id: fmt.Sprint("s-", i), text: fmt.Sprint("s-", i, " torn blanket and a cracked hose"), agent: "vise-sample-agent", origin: "recorded",
			score: float64(i%100) / 100, turns: i % 40})
	}
	for b.Loop() {
		cmd := p.Filter(d.ctx, `status:fail score<0.4 "cracked hose" !turns>30`)
		var m tea.Msg = cmd()
		p.Take(d.ctx, m)
	}
	b.ReportMetric(float64(p.sieve.pass), "matches")
}
