package tui

import (
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"

	"vise/engine/trace"
	"vise/tui/style"
)

// Runs of one session are told apart at every width, long names by both their ends.
func TestSessionName(t *testing.T) {
	d := newDesk(t, false)
	st := d.ctx.Style
	at := time.Date(2026, 3, 16, 15, 4, 5, 0, time.Local)
	run := sessionRow{Session: trace.Session{ID: "run-1", Origin: trace.Live, ReplayOf: "torn-blanket", Title: "A torn blanket", Started: at}}
	check := run
	check.Origin = trace.Replay
	recorded := sessionRow{Session: trace.Session{ID: "tau-airline-trial-0012", Origin: trace.Recorded, Title: "Change a flight"}}
	byHand := sessionRow{Session: trace.Session{ID: "s-01", Origin: trace.Live, Title: "Where is it?", Started: at}}
	damaged := recorded
	damaged.ID, damaged.Damaged = "cut", 1
	for _, x := range []struct {
		it   sessionRow
		w    int
		want string
	}{
		{damaged, 20, "cut        1 damaged"},
		{damaged, 8, "cut   1!"},
		{run, 30, "torn-blanket        ↻ 15:04:05"},
		{run, 15, "tor…ket ↻ 15:04"},
		{run, 10, "torn…ket ↻"},
		{check, 36, "torn-blanket     validation 15:04:05"},
		{check, 18, "torn…ket val 15:04"},
		{byHand, 30, "Where is it?        ↻ 15:04:05"},
		{recorded, 12, "tau-ai…-0012"},
		{recorded, 40, "tau-airline-trial-0012 Change a flight  "},
	} {
		row := st.Row(x.w, style.Plain)
		sessionName(row, st, nil, x.it, style.Text, x.w)
		if got := ansi.Strip(row.String()); got != x.want {
			t.Errorf("%s %s in %d cells is %q, want %q", x.it.Origin, x.it.ID, x.w, got, x.want)
		}
	}
}

// A turn that was cut short is no success.
func TestCutOffIsMarked(t *testing.T) {
	d := newDesk(t, false)
	d.turns[len(d.turns)-1].StopReason = "idle_timeout"
	if err := d.live(t.Context(), "s-0001"); err != nil {
		t.Fatal(err)
	}
	b := newBench(t, d, 140, 40)
	b.press("D", "2", "G")
	screen := ansi.Strip(strings.Join(b.frame(), "\n"))
	if strings.Count(screen, "cut off") < 2 || !strings.Contains(screen, "idle timeout") {
		t.Errorf("Sessions and Turns must both say that it was cut off:\n%s", screen)
	}
	b.press("p")
	if got := b.app.toast.text; !strings.Contains(got, "idle") {
		t.Errorf("protecting it says %q, want why not", got)
	}
}

// A session without a turn has no mark of failure: nothing was done that could have failed.
func TestSessionWithoutTurns(t *testing.T) {
	d := newDesk(t, false)
	p := d.panes[PaneSessions].(*sessionsPane)
	p.SetSize(40, 5)
	it := sessionRow{Session: trace.Session{ID: "nothing", Origin: trace.Recorded}, Alerted: true}
	if row := ansi.Strip(p.row(d.ctx.Style, it, false)); !strings.HasSuffix(row, "   0 –    –") {
		t.Errorf("the row is %q", row)
	}
	it.Counts.Turns = 1
	if row := ansi.Strip(p.row(d.ctx.Style, it, false)); !strings.HasSuffix(row, "   1 ✕    –") {
		t.Errorf("the row is %q", row)
	}
	it.Session = it.Kill()
	if row := ansi.Strip(p.row(d.ctx.Style, it, false)); !strings.HasSuffix(row, "   1  killed") {
		t.Errorf("the row of a killed one is %q", row)
	}
}
