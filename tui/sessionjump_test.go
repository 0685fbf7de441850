package tui

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"vise/engine/rule"
	"vise/engine/trace"
	"vise/store"
)

// many is a bench over more sessions than a page holds; s-0000 is the oldest.
func many(t *testing.T, n int) *bench {
	d := newDesk(t, false)
	if err := d.store.Update(t.Context(), func(tx *store.Tx) error {
		for i := range n {
			s := trace.Session{ID: fmt.Sprintf("s-%04d", i), Origin: trace.Recorded, Started: noon.Add(time.Duration(i) * time.Minute)}
			if err := tx.PutSession(s); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return newReader(t, d)
}

// newReader is a bench that waits for long readings.
func newReader(t *testing.T, d *desk) *bench {
	b := newBench(t, d, 140, 40)
	b.run(b.app.apply(Change{Reload: true, Scope: true, Old: *b.app.ctx.Scope}))
	b.run(b.app.settleScope())
	return b
}

// The ends of the list are those of the store, and a search finds what is not loaded.
func TestSessionsBeyondThePage(t *testing.T) {
	b := many(t, 700)
	at := func(want string) {
		t.Helper()
		if got := b.app.ctx.Scope.Session; got != want {
			t.Fatalf("session %s is selected, want %s", got, want)
		}
	}
	all := func() {
		t.Helper()
		if got := b.app.panes[PaneSessions].Badge(); got != "700" {
			t.Errorf("the title counts %s sessions, there are 700", got)
		}
	}
	at("s-0699")
	all()
	b.press("G")
	at("s-0000")
	all()
	b.press("g")
	at("s-0699")
	b.press("/", "s", "-", "0", "0", "1")
	at("s-0019")
	if bar := strings.Join(b.frame(), "\n"); !strings.Contains(bar, "10 matches") {
		t.Errorf("the search does not say how many there are:\n%s", bar)
	}
	b.press("enter", "n")
	at("s-0018")
	b.press("esc", "/", "n", "o", "n", "e")
	if bar := strings.Join(b.frame(), "\n"); !strings.Contains(bar, "0 matches") {
		t.Errorf("a search without a match:\n%s", bar)
	}
	b.press("esc", "G", "/", "0", "6", "9", "9")
	at("s-0699")
	// What comes into scope from elsewhere is shown, wherever it lies.
	b.app.ctx.Scope.Session = "s-0100"
	b.run(b.app.settleScope())
	if got := b.app.panes[PaneSessions].(*sessionsPane).list.Key(); got != "s-0100" {
		t.Errorf("the cursor is on %s, want the session in scope", got)
	}
}

// Only the run that is going on is marked as running, whatever is selected.
func TestRunningIsTheRun(t *testing.T) {
	b := newBench(t, newDesk(t, false), 140, 40)
	p := b.app.panes[PaneSessions].(*sessionsPane)
	p.ctx.Running = Activity{Kind: Replaying, Session: "torn-blanket", Since: noon}
	run := trace.Session{ID: "run-1", Origin: trace.Live, ReplayOf: "torn-blanket", Started: noon.Add(time.Second)}
	old := run
	old.ID, old.Started = "run-0", noon.Add(-time.Hour)
	for _, x := range []struct {
		s    trace.Session
		want bool
	}{{run, true}, {old, false}, {trace.Session{ID: "torn-blanket", Origin: trace.Recorded}, false}} {
		p.ctx.Scope.Session = x.s.ID
		if got := p.running(sessionRow{Session: x.s}); got != x.want {
			t.Errorf("%s runs: %v, want %v", x.s.ID, got, x.want)
		}
	}
}

// A long session is searched and ended beyond the turns that are held.
func TestTurnsBeyondTheWindow(t *testing.T) {
	d := newDesk(t, false)
	if err := d.store.Update(t.Context(), func(tx *store.Tx) error {
		return tx.PutSession(trace.Session{ID: "long", Origin: trace.Recorded, Started: noon})
	}); err != nil {
		t.Fatal(err)
	}
	for i := range 900 {
		staged, err := d.store.StageTurn(t.Context(), trace.Turn{SessionID: "long", Index: i, TraceID: fmt.Sprintf("long.%d", i), Input: fmt.Sprintf("input %d", i)})
		if err != nil {
			t.Fatal(err)
		}
		if err := d.store.Update(t.Context(), func(tx *store.Tx) error { return tx.PutTurn(staged) }); err != nil {
			t.Fatal(err)
		}
	}
	b := newReader(t, d)
	at := func(want int) {
		t.Helper()
		if got := b.app.ctx.Scope.Turn; got != want {
			t.Fatalf("turn %d is selected, want %d", got, want)
		}
	}
	b.press("2", "G")
	at(899)
	b.press("g")
	at(0)
	b.press("/", "t", " ", "7", "5", "5")
	at(755)
	b.press("enter", "esc", "g", "/", "t", " ", "0")
	at(0)
}

func TestRulesBeyondThePage(t *testing.T) {
	d := newDesk(t, false)
	if err := d.store.Update(t.Context(), func(tx *store.Tx) error {
		for i := range 500 {
			if err := tx.PutRule(rule.Rule{ID: fmt.Sprintf("r-%04d", i), CreatedAt: fmt.Sprintf("%04d", i), Text: fmt.Sprintf("rule %d", i), Scope: "global", Status: rule.Active}); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	b := newReader(t, d)
	b.press("6", "/", " ", "7", "7")
	if got := b.app.ctx.Scope.Rule; got != "r-0077" {
		t.Errorf("rule %s is selected, want r-0077", got)
	}
	b = newReader(t, d)
	b.press("6", "G")
	if got := b.app.ctx.Scope.Rule; got != "r-0000" {
		t.Errorf("rule %s is selected, want the oldest", got)
	}
}
