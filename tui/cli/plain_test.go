package cli

import (
	"bytes"
	"testing"
	"time"

	"vise/engine/event"
)

// A format for eyes becomes columns with tabs: no padding, no signs, what is nested behind
// a tab; what a person wrote over several lines stays as it is.
func TestPlainText(t *testing.T) {
	for _, c := range []struct {
		format string
		args   []any
		want   string
	}{
		{"%s  %s  scope %s", []any{"r-1", "active", "refunds"}, "r-1\tactive\tscope refunds\n"},
		{"  %-16s %-6s %6d ms  %s", []any{"unit tests", "ok", 12, "go test"}, "\tunit tests\tok\t12 ms\tgo test\n"},
		{"           → %s", []any{"done"}, "\tresult\tdone\n"},
		{"  %-22s %s  threshold %.2f", []any{"coherence", "–", 0.5}, "\tcoherence\tnone\tthreshold 0.50\n"},
		{"agent %s · %d turns", []any{"a", 3}, "agent a\t3 turns\n"},
		{"    %s", []any{lines("two\n  lines  apart")}, "\ttwo\n  lines  apart\n"},
		{"text %s", []any{"no\nblock \x1b[2J"}, "text no block \\x1b[2J\n"},
		{"", nil, "\n"},
	} {
		var b bytes.Buffer
		o := output{w: &b, plain: true}
		o.printf(c.format, c.args...)
		if b.String() != c.want {
			t.Errorf("%q is %q, want %q", c.format, b.String(), c.want)
		}
	}
}

// An event has the same columns whatever it is about.
func TestPlainEvent(t *testing.T) {
	at := time.Date(2026, 3, 16, 12, 0, 0, 0, time.Local)
	e := event.Event{Type: event.ImportFinished, At: at, Data: map[string]any{"files": 3}}
	turn := 2
	f := event.Event{Type: event.Notice, At: at, SessionID: "s", TurnIndex: &turn, NoticeID: "n", Data: map[string]any{"summary": "worse  by far"}}
	for _, x := range []event.Event{e, f} {
		if n := bytes.Count([]byte(plainEvent(x, "15:04")), []byte("\t")); n != 9 {
			t.Errorf("%s has %d tabs, want 9: %q", x.Type, n, plainEvent(x, "15:04"))
		}
	}
}
