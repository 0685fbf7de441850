package tui

import (
	"slices"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"vise/engine/event"
)

// One notification in ten seconds; what comes in between is counted by the next.
func TestNotifierIsRateLimited(t *testing.T) {
	var n notifier
	at := func(s int) time.Time { return noon.Add(time.Duration(s) * time.Second) }
	if tell, _ := n.add(at(0), "a"); tell != "a" {
		t.Errorf("the first: %q", tell)
	}
	if tell, wait := n.add(at(1), "b"); tell != "" || wait != 9*time.Second {
		t.Errorf("a second later: %q, wait %v", tell, wait)
	}
	if tell, wait := n.add(at(2), "c"); tell != "" || wait != 0 {
		t.Errorf("while one waits: %q, wait %v", tell, wait)
	}
	if tell := n.flush(at(10)); tell != "c (1 more)" {
		t.Errorf("after the wait: %q", tell)
	}
	n.add(at(11), "d")
	n.drop()
	if tell := n.flush(at(20)); tell != "" {
		t.Errorf("the person has come back, told %q", tell)
	}
}

// Each terminal gets the sequence that it has, and nothing that it would print.
func TestNotification(t *testing.T) {
	for _, c := range []struct{ env, want string }{
		{"TERM=xterm-kitty", "\x1b]99;i=vise:d=0;vise p"},
		{"TERM_PROGRAM=ghostty", "\x1b]777;notify;vise p;rule r,x promoted\a"},
		{"TERM_PROGRAM=iTerm.app", "\x1b]9;vise p: rule r;x promoted"},
		{"WT_SESSION=1", "\x1b]9;vise p: rule r;x promoted"},
		{"TERM=xterm-256color", "\a"},
		{"TMUX=/tmp/x", "\a"},
	} {
		if got := notification(Config{Env: []string{c.env}}, "vise p", "rule r;x promoted"); !strings.HasPrefix(got, c.want) {
			t.Errorf("%s: %q, want %q", c.env, got, c.want)
		}
	}
}

// Nothing is sent while the terminal is in front, or when ui.notify is off.
func TestNotifyOnlyWhenAway(t *testing.T) {
	b := newBench(t, worked(t), 120, 40)
	var sent []string
	ring := func(types ...event.Type) {
		sent = nil
		var events []event.Event
		for _, x := range types {
			events = append(events, event.Event{Type: x, RuleID: "r-1", SessionID: "s-0001"})
		}
		_, cmd := b.app.Update(feedMsg{events: events})
		collect(t, cmd, func(m tea.Msg) {
			if raw, ok := m.(tea.RawMsg); ok {
				sent = append(sent, raw.Msg.(string))
			}
		})
	}
	ring(event.RulePromote)
	if len(sent) > 0 {
		t.Errorf("in front: sent %q", sent)
	}
	b.send(tea.BlurMsg{})
	if ring(event.TurnScored); len(sent) > 0 {
		t.Errorf("for nothing: sent %q", sent)
	}
	if ring(event.RulePromote); !slices.Equal(sent, []string{"\a"}) {
		t.Errorf("away: sent %q", sent)
	}
	b.app.notifier, b.app.cfg.NoNotify = notifier{}, true
	if ring(event.BudgetStopped); len(sent) > 0 {
		t.Errorf("switched off: sent %q", sent)
	}
}

// collect runs a command and what it brings, ticks left out.
func collect(t testing.TB, cmd tea.Cmd, take func(tea.Msg)) {
	switch m := answer(t, cmd).(type) {
	case nil:
	case tea.BatchMsg:
		for _, c := range m {
			collect(t, c, take)
		}
	default:
		take(m)
	}
}

func TestAtLeast(t *testing.T) {
	for version, want := range map[string]bool{"3.6.6": true, "3.6.10": true, "3.7": true, "4": true, "3.6": false, "3.5.14": false, "": false, "3.6.6beta1": true} {
		if got := atLeast(version, 3, 6, 6); got != want {
			t.Errorf("atLeast(%q) = %v", version, got)
		}
	}
}

// A notification names the place that it is about, and is one safe line.
func TestNotificationHasALink(t *testing.T) {
	e := event.Event{Type: event.Notice, SessionID: "s/1\x1b]0;x\a", TurnIndex: event.Turn(2), NoticeID: "n-1"}
	got := told{worthTelling(&Context{}, e), placeOf(e)}.text()
	if !strings.HasSuffix(got, "turn 2  vise://notice/n-1") || strings.ContainsAny(got, "\x1b\a") {
		t.Errorf("%q", got)
	}
	e.NoticeID = ""
	if got := (told{"x", placeOf(e)}).text(); got != "x  vise://session/s%2F1%1B%5D0%3Bx%07/turn/2" {
		t.Errorf("%q", got)
	}
}
